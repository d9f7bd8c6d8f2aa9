"""jacrev, jacfwd and hessian against each other and against the loop."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from tests.test_vmap import assert_equal, floats
from weft import Tensor, autograd
from weft.func import hessian, jacfwd, jacrev, vmap

BOTH = pytest.mark.parametrize("jacobian", [jacrev, jacfwd])


def layer(x: Tensor, w: Tensor) -> Tensor:
    return (x @ w).tanh()


@BOTH
def test_one_output(jacobian: Any) -> None:
    x, w = floats(3), floats(3, 2)
    expected = autograd.functional.jacobian(layer, (x, w))
    assert_equal(jacobian(layer)(x, w), expected[0])
    assert_equal(jacobian(layer, argnums=1)(x, w), expected[1])
    got = jacobian(layer, argnums=(0, 1))(x, w)
    assert_equal(got[0], expected[0])
    assert_equal(got[1], expected[1])


@BOTH
def test_nested_outputs_and_inputs(jacobian: Any) -> None:
    def function(tree: dict[str, Tensor], y: Tensor) -> dict[str, Any]:
        return {"p": tree["a"] * y, "q": [(tree["b"] ** 2).sum(), tree["a"][0]]}

    tree, y = {"a": floats(2), "b": floats(2, 2)}, floats(2)
    got = jacobian(function)(tree, y)
    assert_equal(got["p"]["a"], weft.diag(y))
    assert got["p"]["b"].shape == (2, 2, 2)
    assert_equal(got["q"][0]["b"], 2 * tree["b"])
    assert got["q"][1]["a"].tolist() == [1, 0]


@BOTH
def test_rest_and_keywords(jacobian: Any) -> None:
    x = floats(3)
    got, rest = jacobian(lambda x, scale: (x * scale, x), has_aux=True)(x, scale=3)
    assert_equal(got, 3 * weft.eye(3, dtype=x.dtype))
    assert_equal(rest, x)
    assert not rest.requires_grad


def test_rows_in_chunks() -> None:
    x, w = floats(3), floats(3, 5)
    assert_equal(jacrev(layer, chunk_size=2)(x, w), jacrev(layer)(x, w))


@BOTH
def test_of_examples_and_of_parameters_outside(jacobian: Any) -> None:
    x, w = floats(4, 3), floats(3, 2).requires_grad_()
    got = vmap(jacobian(layer), in_dims=(0, None))(x, w)
    expected = weft.stack([jacrev(layer)(row, w) for row in x])
    assert_equal(got, expected)
    ours, theirs = (autograd.grad(y.pow(2).sum(), w)[0] for y in (got, expected))
    assert_equal(ours, theirs)


def test_hessian() -> None:
    x, w = floats(3), floats(3, 3)
    function = lambda x: layer(x, w).pow(2).sum()  # noqa: E731
    expected = autograd.functional.hessian(function, x)
    assert_equal(hessian(function)(x), expected)
    for outer in (jacrev, jacfwd):
        for inner in (jacrev, jacfwd):
            assert_equal(outer(inner(function))(x), expected)
    rows = floats(2, 3)
    assert_equal(vmap(hessian(function))(rows), weft.stack([hessian(function)(r) for r in rows]))


def test_hessian_of_several() -> None:
    x, y = floats(2), floats(3)
    got = hessian(lambda x, y: (x**2).sum() * (y**2).sum(), argnums=(0, 1))(x, y)
    assert_equal(got[0][1], 4 * x[:, None] * y)
    assert_equal(got[1][1], 2 * (x**2).sum() * weft.eye(3, dtype=x.dtype))


@pytest.mark.parametrize("create_graph", [False, True])
def test_vectorized_jacobian_of_autograd(create_graph: bool) -> None:
    x, w = floats(3).requires_grad_(), floats(3, 2).requires_grad_()
    one, all_ = (
        autograd.functional.jacobian(layer, (x, w), create_graph=create_graph, vectorize=v)
        for v in (False, True)
    )
    for ours, theirs in zip(all_, one, strict=True):
        assert_equal(ours, theirs)
        assert ours.requires_grad == create_graph
    function = lambda x: layer(x, w).pow(2).sum()  # noqa: E731
    assert_equal(
        autograd.functional.hessian(function, x, vectorize=True),
        autograd.functional.hessian(function, x),
    )
    with pytest.raises(RuntimeError, match="do not go together"):
        autograd.functional.jacobian(layer, (x, w), strict=True, vectorize=True)


def test_batched_gradients_of_autograd() -> None:
    x, unused = floats(3).requires_grad_(), floats(2).requires_grad_()
    output = x**2
    got, none = autograd.grad(
        output, (x, unused), weft.eye(3, dtype=x.dtype), is_grads_batched=True, allow_unused=True
    )
    assert_equal(got, weft.diag(2 * x))
    assert none is None
