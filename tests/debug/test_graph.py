"""Graphs as text."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

import weft
from weft.debug import graph_text, keep_values, print_graph


def make() -> tuple[weft.Tensor, weft.Tensor, weft.Tensor]:
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    with keep_values():
        y = x * 2
        loss = (y * y).sum()
    return x, y, loss


def test_a_tree() -> None:
    x, y, loss = make()
    lines = graph_text(loss, names={"x": x, "y": y}).splitlines()
    shapes = [line.split(", value")[0].split(" at ")[0] for line in lines]
    assert shapes == [
        "SumBackward0 () float32",
        "└─ MulBackward0 (2,) float32",
        "   ├─ y = MulBackward0 (2,) float32",
        "   │  └─ x (2,) float32",
        "   └─ y = MulBackward0 (shown above)",
    ]
    assert ", value 20 at " in lines[0]
    assert lines[0].endswith("loss = (y * y).sum()")
    assert ", value [4, 16] at " in lines[1]
    assert "test_graph.py:" in lines[2]
    assert "x = weft.tensor([1.0, 2.0], requires_grad=True)" in lines[3]


def test_gradients() -> None:
    x, y, loss = make()
    y.retain_grad()
    loss.backward()
    lines = graph_text(loss, names={"x": x}).splitlines()
    assert "value 20, grad 1 " in lines[0]
    assert "value [4, 16], grad [1, 1] " in lines[1]
    assert "value [2, 4], grad [4, 8] " in lines[2]
    assert "value [1, 2], grad [8, 16] " in lines[3]


def test_without_kept_values() -> None:
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    text = graph_text((x * 2).exp().sum())
    assert "MulBackward0 (2,) float32 at " in text
    assert "AccumulateGrad (2,) float32, value [1, 2] at " in text


def test_values_are_kept_only_inside() -> None:
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    with keep_values():
        with keep_values():
            pass
        first = x * 2
    second = x * 2
    assert first.grad_fn._values[0].tolist() == [2, 4]
    assert second.grad_fn._values == ()
    weft.autograd.grad(first.sum() + second.sum(), x)
    assert first.grad_fn._gradients[0].tolist() == [1, 1]
    assert second.grad_fn._gradients == ()


def test_kept_values_make_no_cycle() -> None:
    before = weft._core.live_nodes()
    x, y, loss = make()
    (first,) = weft.autograd.grad(loss, x, create_graph=True)
    first.sum().backward()
    x.grad = None
    del x, y, loss, first
    assert weft._core.live_nodes() == before


def test_large_values_are_shortened() -> None:
    x = weft.arange(100.0).requires_grad_()
    assert "value [0, 1, 2, ... 100 in all]" in graph_text(x.exp(), names={"x": x})


def test_a_long_graph_is_cut() -> None:
    x = weft.ones(1, requires_grad=True)
    y = x
    for _ in range(1000):
        y = y * 1
    lines = graph_text(y, max_nodes=10).splitlines()
    assert len(lines) == 11
    assert lines[-1].endswith("... more than 10 nodes")


def test_no_graph() -> None:
    text = graph_text(weft.tensor([1, 2]))
    assert text == "a tensor without a graph (2,) int64, value [1, 2]"


@pytest.mark.parametrize("has_rich", [False, True])
def test_printing(
    has_rich: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_rich:
        pytest.importorskip("rich")
    else:
        real = builtins.__import__

        def without_rich(name: str, *args: Any, **kwargs: Any) -> Any:
            if name.startswith("rich"):
                raise ImportError(name)
            return real(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", without_rich)
    _, _, loss = make()
    print_graph(loss)
    assert capsys.readouterr().out.rstrip() == graph_text(loss)
