"""Random programs: compiled, they do what CPython does, also after what they read has changed."""

from __future__ import annotations

import pytest

from tests.compiling.oracle import difference
from weft import _core

PROGRAMS = 300
A_TEST = 30


@pytest.mark.parametrize("first", range(0, PROGRAMS, A_TEST))
def test_compiled_programs_do_what_python_does(first: int) -> None:
    found = (difference(seed, _core.CompiledCall) for seed in range(first, first + A_TEST))
    assert [text for text in found if text is not None] == []


def test_the_oracle_notices_a_difference() -> None:
    def shifted(function: object) -> object:
        return lambda *given: (function(*given), 0)  # type: ignore[operator]

    assert any(difference(seed, shifted) is not None for seed in range(3))
