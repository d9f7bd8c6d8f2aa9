"""Windows: what the op table cannot say."""

from __future__ import annotations

import pytest

import weft
from weft.functional import windows


def test_a_window_may_ask_for_a_gradient():
    assert windows.hann(4, requires_grad=True, device="cpu").requires_grad
    assert windows.kaiser(4).dtype is weft.get_default_dtype()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: windows.hann(3, dtype=weft.int64), r"hann\(.*floating point"),
        (lambda: windows.gaussian(3, std=0), "std"),
        (lambda: windows.kaiser(3, beta=-1), "beta"),
        (lambda: windows.exponential(3, center=1.0), "center"),
    ],
)
def test_bad_arguments(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()
