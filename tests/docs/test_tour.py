"""The pages of the tour show what their programs print and draw, and lead to each other."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from scripts import run_tour
from tests.viewer.pages import PAGE

PAGES = run_tour.pages()
LINK = re.compile(r"\]\(([^)#\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.stem)
def test_page_shows_what_its_program_does(page: run_tour.Page) -> None:
    if any(name.endswith(".png") for name in page.pictures) and not PAGE.exists():
        reason = "The viewer's page is not built: run `make viewer`."
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    found = run_tour.problems(page, run_tour.run_page(page))
    assert not found, "\n\n".join([*found, "If this is right, run `make tour`."])


def test_the_pages_are_in_order() -> None:
    assert [page.path.name[:2] for page in PAGES] == [f"{n:02}" for n in range(1, 14)]
    for page in PAGES:
        assert page.text.startswith(f"# {int(page.path.name[:2])}. "), page.path.name


def test_every_page_has_a_picture_and_every_picture_a_page() -> None:
    shown = [name for page in PAGES for name in page.pictures]
    assert all(page.pictures for page in PAGES)
    assert sorted(shown) == sorted(path.name for path in run_tour.IMAGES.iterdir())


@pytest.mark.parametrize("path", sorted(run_tour.FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    links = [one for one in LINK.findall(path.read_text(encoding="utf-8")) if ":" not in one]
    assert links
    assert [one for one in links if not (path.parent / one).exists()] == []


def test_pages_lead_to_the_next_and_the_index_to_all() -> None:
    index = (run_tour.FOLDER / "README.md").read_text(encoding="utf-8")
    for number, page in enumerate(PAGES):
        assert f"]({page.path.name})" in index
        title = page.text.partition("\n")[0].partition(". ")[2]
        assert f"[{title}]" in index
        for neighbour in PAGES[max(number - 1, 0) : number + 2]:
            assert neighbour is page or f"]({neighbour.path.name})" in page.text


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\nb\n", "a\nb\n"),
        ("at ...\n", "at 0x7f10\n"),
        ("a\n...\nd\n", "a\nb\nc\nd\n"),
        ("...\n", ""),
        ("it took ~1.5 ms\n", "it took 1200.25 ms\n"),
        ("mul     ~1.5  x.py\n", "mul    12.7  x.py\n"),
        ("[a] (b)+\n", "[a] (b)+\n"),
    ],
)
def test_what_a_shown_text_stands_for(shown: str, printed: str) -> None:
    assert run_tour.matches(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("", "a\n"),
        ("a\n", "a\nb\n"),
        ("a1b\n", "a2b\n"),
        ("it took ~1.5 ms\n", "it took long ms\n"),
        ("at ...\n", "at\nhome\n"),
        ("a\n...\nd\n", "a\nb\nc\n"),
    ],
)
def test_what_it_does_not_stand_for(shown: str, printed: str) -> None:
    assert not run_tour.matches(shown, printed)


@pytest.fixture
def page(tmp_path: Path) -> run_tour.Page:
    path = tmp_path / "01-sums.md"
    path.write_text(
        "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\nand\n\n"
        "```python\nimport time\n\nprint('took', time.time())\nprint(4)\n```\n\n"
        "```text\ntook ~1.5\n5\n```\n\n```python\nprint(6)\n```\n"
    )
    return run_tour.read_page(path)


def test_a_wrong_page_is_found_and_rewritten(page: run_tour.Page) -> None:
    result = run_tour.run_page(page)
    assert [block.first_line for block in page.blocks] == [1, 3, 8]
    assert len(run_tour.problems(page, result)) == 3
    page.path.write_text(run_tour.rewritten(page, result))
    text = page.path.read_text()
    assert "```text\n2\n```" in text
    assert "took ~1.5\n4\n" in text
    assert text.endswith("print(6)\n```\n\n```text\n6\n```\n")
    again = run_tour.read_page(page.path)
    assert run_tour.problems(again, run_tour.run_page(again)) == []


def test_a_failing_page_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "01-wrong.md"
    path.write_text("```python\nx = 1\n```\n\n```python\nx / 0\n```\n")
    with pytest.raises(RuntimeError, match=r"(?s)01-wrong.md fails.*wrong.py\", line 3"):
        run_tour.run_page(run_tour.read_page(path))
