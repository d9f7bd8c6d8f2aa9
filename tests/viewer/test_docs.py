"""docs/viewer.md says what the tests show and what the page's help says."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.viewer import pages, samples, screenshots
from tests.viewer.pages import Shown

README = (pages.ROOT / "README.md").read_text(encoding="utf-8")
DOC = (pages.ROOT / "docs" / "viewer.md").read_text(encoding="utf-8")


def test_every_yes_names_a_test_that_exists() -> None:
    table = DOC[DOC.index("## Beside other tools") : DOC.index("## How fast")]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) > 30
    for row in rows:
        weft = row[-1].strip()
        for link, name in re.findall(r'\[yes\]\(\.\./(\S+) "(\w+)"\)', weft):
            assert f"def {name}(" in (pages.ROOT / link).read_text(encoding="utf-8")
        assert not weft.startswith("yes"), f"{row[0]}: a yes without a test"


def test_pictures_are_there_and_small() -> None:
    pictures = re.findall(r"\(images/([\w-]+\.png)\)", DOC)
    assert len(pictures) >= 10
    for picture in pictures:
        assert (pages.ROOT / "docs" / "images" / picture).stat().st_size < 200_000


def test_program_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    page = screenshots.readme()
    printed = capsys.readouterr().out
    assert "`if x.sum() > 0` at line 4 was True on the left and False on the right" in printed
    kinds = [node.get("kind") for node in page["graphs"][0]["trace"]["nodes"]]
    assert kinds.count("decision") == 1
    picture = re.search(r"\(docs/images/([\w-]+)\.png\)", README)
    assert picture is not None
    assert picture[1] in screenshots.PICTURES


def test_keys_are_those_of_the_help(show: Callable[..., Shown]) -> None:
    shown = show(samples.branch())
    shown.press("?")
    help_list = shown.page.get_by_role("dialog").locator("dl").first
    keys = [term.locator("kbd").all_inner_texts() for term in help_list.locator("dt").all()]
    texts = help_list.locator("dd").all_inner_texts()
    table = DOC[DOC.index("## Keyboard") : DOC.index("## Beside other tools")]
    rows = re.findall(r"^\| (`.*`) \| (.*) \|$", table, re.MULTILINE)
    written = [(re.findall(r"`(\S+)`", left), right) for left, right in rows]
    assert written == list(zip(keys, texts, strict=True))
    shown.press("Escape")
