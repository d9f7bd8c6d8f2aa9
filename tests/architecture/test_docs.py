"""The reference pages say what the op table and the docstrings say."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

import weft
from scripts import generate_docs
from weft import _core


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    return generate_docs.reference()


def test_pages_are_up_to_date(pages: dict[Path, str]) -> None:
    committed = {
        path: path.read_text(encoding="utf-8") for path in generate_docs.FOLDER.glob("*.md")
    }
    stale = [path.name for path, text in pages.items() if committed.get(path) != text]
    left_over = [path.name for path in set(committed) - set(pages)]
    assert (stale, left_over) == ([], []), "run `make docs`"


def test_every_op_has_an_entry(pages: dict[Path, str]) -> None:
    text = "".join(pages.values())
    missing = [op["name"] for op in _core.describe_ops() if f"\n{op['signature']}\n" not in text]
    assert missing == []


def test_every_function_has_an_entry(pages: dict[Path, str]) -> None:
    page = pages[generate_docs.FOLDER / "functional.md"]
    functions = [
        name for name in weft.__all__ if isinstance(getattr(weft, name), types.FunctionType)
    ]
    assert [name for name in functions if f"### {name}\n" not in page] == []
