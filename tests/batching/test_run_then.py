"""What is undone at the end of a map is undone, and no exception is lost on the way."""

from __future__ import annotations

import traceback

import pytest

from weft import _core


def test_an_end_that_is_interrupted_is_called_again() -> None:
    ends: list[int] = []

    def run() -> None:
        raise ValueError("of run")

    def end() -> None:
        ends.append(len(ends))
        if len(ends) < 3:
            raise KeyboardInterrupt(str(len(ends)))

    with pytest.raises(KeyboardInterrupt, match="2") as caught:
        _core.run_then(run, end)
    assert ends == [0, 1, 2]
    first = caught.value.__context__
    assert isinstance(first, KeyboardInterrupt)
    assert isinstance(first.__context__, ValueError)
    lines = traceback.format_exception(first.__context__)
    assert 'raise ValueError("of run")' in "".join(lines)


def test_an_end_that_is_interrupted_takes_the_result_with_it() -> None:
    ends: list[int] = []

    def end() -> None:
        ends.append(0)
        if len(ends) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        _core.run_then(object, end)
    assert caught.value.__context__ is None
    assert _core.run_then(lambda: 3, end) == 3
