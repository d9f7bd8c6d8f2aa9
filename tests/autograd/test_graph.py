"""Walking graphs, and hooks on what they save."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import Tensor
from weft.autograd import Function, grad
from weft.autograd.graph import (
    Node,
    disable_saved_tensors_hooks,
    get_gradient_edge,
    increment_version,
    save_on_cpu,
    saved_tensors_hooks,
    walk,
)


def leaf(*numbers: float) -> Tensor:
    return weft.tensor(list(numbers), dtype=weft.float64, requires_grad=True)


def test_grad_fn_and_next_functions() -> None:
    x, y = leaf(1, 2), weft.ones(2, dtype=weft.float64)
    z = (x * y).sum()
    node = z.grad_fn
    assert isinstance(node, Node)
    assert node.name() == "SumBackward0"
    assert type(node).__name__ == "SumBackward0"
    assert repr(node).startswith("<SumBackward0 object at 0x")
    ((inner, output),) = node.next_functions
    assert (inner.name(), output) == ("MulBackward0", 0)
    (accumulate, _), (nothing, _) = inner.next_functions
    assert accumulate.name() == "AccumulateGrad"
    assert accumulate.variable is x
    assert nothing is None
    with pytest.raises(AttributeError):
        inner.variable
    assert x.grad_fn is None


def test_nodes_are_the_same_object_each_time() -> None:
    x = leaf(1)
    y = x * 2
    assert y.grad_fn is y.grad_fn
    z = y + y
    assert z.grad_fn.next_functions[0][0] is z.grad_fn.next_functions[1][0] is y.grad_fn
    assert len({y.grad_fn, z.grad_fn.next_functions[0][0]}) == 1


def test_outputs_are_numbered() -> None:
    parts = leaf(1, 2, 3).unbind()
    total = parts[2] * 2
    assert total.grad_fn.next_functions[0] == (parts[0].grad_fn, 2)


def test_nodes_outlive_their_tensors() -> None:
    node = (leaf(1) * 2).exp().grad_fn
    assert [n.name() for n in walk(node)] == ["ExpBackward0", "MulBackward0", "AccumulateGrad"]


def test_walk_meets_each_node_once() -> None:
    x = leaf(1)
    y = x * x
    for _ in range(50):
        y = y + y
    nodes = list(walk(y))
    assert len(nodes) == 52
    assert [node._sequence_nr() for node in nodes] == sorted(
        (node._sequence_nr() for node in nodes), reverse=True
    )
    assert list(walk(weft.ones(1))) == []
    assert list(walk(None)) == []


def test_a_node_knows_what_it_is() -> None:
    x = weft.ones(2, 3, requires_grad=True)
    node = x.sum(1).grad_fn
    assert node._op == "sum"
    assert node._outputs == [((2,), weft.float32)]
    assert "dim" in node._attributes
    file, line, function = weft._core.resolve_position(node._position)
    assert file == __file__
    assert line > 0
    assert function == "test_a_node_knows_what_it_is"


def test_a_gradient_edge() -> None:
    x = leaf(1, 2)
    assert get_gradient_edge(x).node.variable is x
    assert get_gradient_edge(x.unbind()[1]).output_nr == 1
    with pytest.raises(RuntimeError, match="require"):
        get_gradient_edge(weft.ones(1))


def test_hooks_take_what_is_saved() -> None:
    x = leaf(1, 2)
    packed: list[list[float]] = []

    def pack(tensor: Tensor) -> list[float]:
        packed.append(tensor.tolist())
        return tensor.tolist()

    def unpack(numbers: list[float]) -> Tensor:
        return weft.tensor(numbers, dtype=weft.float64)

    with saved_tensors_hooks(pack, unpack):
        y = (x * x).exp()
    z = y * x
    assert packed == [[1, 2], [1, 2], y.tolist()]
    z.sum().backward()
    wanted = weft.exp(x * x) * (1 + 2 * x * x)
    assert x.grad.tolist() == pytest.approx(wanted.tolist())


def test_hooks_and_higher_derivatives() -> None:
    """What comes back from a hook takes its old place in the graph."""
    x = leaf(1, 2)
    with saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = (x.exp() * x).sum()
    (first,) = grad(y, x, create_graph=True)
    (second,) = grad(first.sum(), x)
    assert second.tolist() == pytest.approx((x.exp() * (x + 2)).tolist())


def test_hooks_on_a_users_function() -> None:
    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return 3 * x * x * gradient

    x = leaf(2)
    counts = [0, 0]

    def pack(tensor: Tensor) -> Tensor:
        counts[0] += 1
        return tensor.detach()

    def unpack(tensor: Tensor) -> Tensor:
        counts[1] += 1
        return tensor

    with saved_tensors_hooks(pack, unpack):
        y = Cube.apply(x)
    (first,) = grad(y.sum(), x, create_graph=True)
    assert grad(first.sum(), x)[0].tolist() == [12]
    assert counts[0] == 1
    assert counts[1] >= 1


def test_the_inner_hooks_win() -> None:
    x = leaf(2)
    order: list[str] = []

    def pack(name: str) -> Any:
        return lambda tensor: order.append(name) or tensor

    with saved_tensors_hooks(pack("outer"), lambda t: t):
        with saved_tensors_hooks(pack("inner"), lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    assert order == ["inner", "outer"]


def test_no_hooks_inside_a_hook() -> None:
    x = leaf(2)
    with saved_tensors_hooks(lambda t: t * t, lambda t: t):
        y = x.exp()
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx((x.exp() ** 2).tolist())


def test_hooks_are_taken_away_by_an_exception() -> None:
    x = leaf(2)

    def pack(_: Tensor) -> None:
        raise KeyError("from pack")

    with pytest.raises(KeyError, match="from pack"), saved_tensors_hooks(pack, lambda t: t):
        x.exp()
    x.exp().sum().backward()
    assert x.grad is not None


def test_a_wrong_unpacked_tensor_is_refused() -> None:
    x = leaf(1, 2)
    with saved_tensors_hooks(lambda t: t, lambda _: weft.ones(5)):
        y = x.exp()
    with pytest.raises(RuntimeError, match=r"unpack_hook returned a tensor of shape \(5,?\).*\(2"):
        y.sum().backward()
    with saved_tensors_hooks(lambda t: t, lambda _: 3):
        y = x.exp()
    with pytest.raises(TypeError, match="must return a Tensor"):
        y.sum().backward()
    with pytest.raises(TypeError, match="must return a Tensor"):
        y.sum().backward()


def test_an_unpack_hook_that_runs_backward_itself() -> None:
    x = leaf(1, 2)
    total: list[Tensor] = []

    def unpack(tensor: Tensor) -> Tensor:
        total[0].backward()
        return tensor

    with saved_tensors_hooks(lambda t: t, unpack):
        total.append(x.exp().sum())
    with pytest.raises(RuntimeError, match="unpack_hook ran backward"):
        total[0].backward()


def test_save_on_cpu_and_disabling() -> None:
    x = leaf(1, 2)
    with save_on_cpu():
        y = x.exp()
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    with (
        pytest.raises(RuntimeError, match="not here"),
        disable_saved_tensors_hooks("not here"),
        saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass
    with (
        disable_saved_tensors_hooks("outer"),
        pytest.raises(RuntimeError, match="inner"),
        disable_saved_tensors_hooks("inner"),
        saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass
    with disable_saved_tensors_hooks("outer"), disable_saved_tensors_hooks("middle"):
        with disable_saved_tensors_hooks("inner"):
            pass
        with pytest.raises(RuntimeError, match="middle"):
            saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        x.exp()


def test_a_write_that_was_not_seen_can_be_counted() -> None:
    x = leaf(1, 2)
    y = x * 2
    z = (y * y).sum()
    assert y._version == 0
    increment_version([y])
    assert y._version == 1
    with pytest.raises(RuntimeError, match="an in-place write"):
        z.backward()
