"""detect_anomaly: backward stops at the first NaN."""

from __future__ import annotations

import pytest

import weft
from weft.autograd import detect_anomaly, is_anomaly_enabled, set_detect_anomaly


def bad(x: weft.Tensor) -> weft.Tensor:
    return (x.sqrt() * 0).sum()


def test_it_names_the_rule_and_the_line() -> None:
    x = weft.tensor([0.0, 1.0], requires_grad=True)
    with (
        pytest.raises(
            RuntimeError, match="'SqrtBackward0' returned nan values in its 0th"
        ) as error,
        detect_anomaly(),
    ):
        bad(x).backward()
    assert "return (x.sqrt() * 0).sum()" in str(error.value)


def test_it_finds_it_in_rows_of_a_map() -> None:
    xs = [weft.tensor([float(i)], requires_grad=True) for i in range(4)]
    with pytest.raises(RuntimeError, match="SqrtBackward0"), detect_anomaly():
        weft.stack(weft.map(bad, xs)).sum().backward()


def test_what_is_finite_goes_on_and_leaves_nothing() -> None:
    x = weft.tensor([4.0], requires_grad=True)
    for _ in range(3):
        with detect_anomaly():
            bad(x).backward()
    with detect_anomaly(check_nan=False):
        bad(weft.tensor([0.0], requires_grad=True)).backward()
    assert x.grad.tolist() == [0.0]


def test_as_a_switch() -> None:
    x = weft.tensor([0.0], requires_grad=True)
    assert not is_anomaly_enabled()
    set_detect_anomaly(True)
    try:
        assert is_anomaly_enabled()
        with pytest.raises(RuntimeError, match="nan"):
            bad(x).backward()
        with set_detect_anomaly(False):
            bad(x).backward()
        assert is_anomaly_enabled()
    finally:
        set_detect_anomaly(False)
    bad(x).backward()
