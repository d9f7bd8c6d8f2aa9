"""docs/performance.md and the README's table are what `make bench` makes of its results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks import page


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return json.loads(page.RESULTS.read_text(encoding="utf-8"))


def test_the_page_is_written_from_the_results(document: dict[str, Any]) -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page_text(document)
    assert document["machine"]["cpu"] in page.PAGE.read_text(encoding="utf-8")


def test_the_readme_shows_three_figures_of_the_results(document: dict[str, Any]) -> None:
    text = page.README.read_text(encoding="utf-8")
    assert page.with_table(text, document) == text
    assert page.readme_table(document).count("x the speed ") == 3
