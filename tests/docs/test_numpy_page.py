"""docs/numpy.md: its programs print what the page says."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_programs_print_what_the_page_says() -> None:
    page = Path(__file__).parents[2] / "docs" / "numpy.md"
    failed, run = doctest.testfile(str(page), module_relative=False)
    assert failed == 0
    assert run >= 10
