"""The reference pages say what the op table and the docstrings say."""

from __future__ import annotations

from pathlib import Path

import pytest

import weft
from scripts import generate_docs
from weft import _core

PAGES = generate_docs.reference()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_is_up_to_date(path: Path) -> None:
    assert path.exists(), "run `make docs`"
    assert path.read_text(encoding="utf-8") == PAGES[path], "run `make docs`"


def test_no_page_is_left_over() -> None:
    assert sorted(set(generate_docs.FOLDER.glob("*.md")) - set(PAGES)) == []


def test_every_op_has_an_entry() -> None:
    text = "".join(PAGES.values())
    missing = [op["name"] for op in _core.describe_ops() if f"\n{op['signature']}\n" not in text]
    assert missing == []


def test_every_function_has_an_entry() -> None:
    page = PAGES[generate_docs.FOLDER / "functional.md"]
    functions = [
        name
        for name in weft.__all__
        if isinstance(getattr(weft, name), type(test_no_page_is_left_over))
    ]
    assert [name for name in functions if f"### {name}\n" not in page] == []
