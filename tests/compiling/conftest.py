"""All that is compiled here runs as routines, also where Python would be faster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from weft import _core


@pytest.fixture(autouse=True)
def _runs_routines() -> Iterator[None]:
    before = _core.let_step_aside(False)
    yield
    _core.let_step_aside(before)
