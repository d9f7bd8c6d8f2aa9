"""Routines that no front end wrote: refused by the grammar, or run without harm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.compiling.mutants import parts_of, sample
from weft import _core


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"code": [10_000]}, "each place has one offset"),
        ({"code": [], "offsets": []}, "there is no code"),
        ({"registers": 2}, "cells do not fit the registers"),
        ({"free_count": 2}, "its cells are not those of the code"),
        ({"positional": 1}, "its parameters are not those of the code"),
        ({"has_rest": False}, "its parameters are not those of the code"),
        ({"names": (1,)}, "a name is no text"),
        ({"constants": ()}, "there is no constant"),
        ({"source": 1}, "a routine has a code of Python's"),
        ({"handlers": [[0, 1, 0, 0]]}, "a handler is not where instructions begin"),
    ],
    ids=lambda item: item if isinstance(item, str) else next(iter(item)),
)
def test_an_ill_formed_routine_is_refused_with_a_sentence(
    change: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValueError, match=rf"make_routine\(\): .*{text}"):
        _core.make_routine(**(parts_of(sample) | change))


def test_an_offset_is_in_the_code() -> None:
    parts = parts_of(sample)
    parts["offsets"][0] = 10_000
    with pytest.raises(ValueError, match="an offset is not in the code"):
        _core.make_routine(**parts)


@pytest.mark.parametrize("seed", range(8))
def test_mutated_routines_are_refused_or_run(seed: int) -> None:
    command = [sys.executable, "-m", "tests.compiling.mutants", str(seed)]
    root = Path(__file__).parents[2]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "refused" in result.stdout
