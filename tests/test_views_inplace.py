"""Random chains of views and in-place ops against NumPy, and PyTorch's error cases.

NumPy's views share memory as Weft's must, so the same chain runs on both sides step by step. Its
derivative comes from NumPy as well: the chain runs on complex numbers, and the imaginary part of a
result over a tiny imaginary step of one input is the exact derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft

# ---- One step of a chain, for both sides ---------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One thing done to the view number `which`; the two numbers choose the details."""

    kind: str
    which: int
    first: int
    second: int


STEPS = st.builds(
    Step,
    st.sampled_from(
        [
            *("select", "slice", "transpose", "unsqueeze", "flatten", "diagonal", "again"),
            *(
                "multiply",
                "add",
                "negate",
                "fill",
                "set",
                "set_number",
                "mask",
                "scale",
                "add_view",
            ),
            *("add", "set", "scale"),
            "read",
        ]
    ),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 9),
)
CHAINS = st.lists(STEPS, min_size=1, max_size=10)
SHAPES = st.sampled_from([(4,), (2, 3), (3, 3), (2, 1, 3), (2, 2, 2)])


def view_of(x: Any, step: Step) -> Any:
    """Return a view; the same code runs on arrays and tensors. None where it does not apply."""
    if step.kind == "again":
        return x[...]
    if step.kind == "unsqueeze":
        return x[(slice(None),) * (step.first % (x.ndim + 1)) + (None,)]
    if x.ndim == 0:
        return None
    dim = step.first % x.ndim
    before = (slice(None),) * dim
    size = x.shape[dim]
    if step.kind == "select":
        # With `...` NumPy gives a 0-d view of a vector, not a number.
        return x[(*before, step.second % size - size * (step.second % 2), ...)] if size else None
    if step.kind == "slice":
        start = step.second % (size + 1)
        return x[(*before, slice(start if start < size else None, None, 1 + step.second % 2))]
    if step.kind == "transpose":
        other = step.second % x.ndim
        return x.swapaxes(dim, other)
    if step.kind == "diagonal":
        return _diagonal(x, step) if x.ndim > 1 else None
    return None


def _diagonal(x: Any, step: Step) -> Any:
    if not isinstance(x, np.ndarray):
        return x.diagonal(step.first % 2, 0, 1)
    result = x.diagonal(step.first % 2, 0, 1)
    result.flags.writeable = True  # NumPy protects it by default
    return result


def amount(shape: tuple[int, ...], parameters: Any) -> Any:
    """Return numbers of `shape` out of the flat parameters, through a differentiable index."""
    count = int(np.prod(shape))
    numbers = np.arange(count) % parameters.shape[0]
    return parameters[
        numbers if isinstance(parameters, np.ndarray) else weft.tensor(numbers)
    ].reshape(shape)


def mask_of(shape: tuple[int, ...], step: Step) -> np.ndarray:
    return np.asarray((np.arange(int(np.prod(shape))) + step.first) % 2 == 0).reshape(shape)


class Numpy:
    """The reference side; `kind` is float64, or complex128 to carry a derivative."""

    def __init__(self, x: np.ndarray, parameters: np.ndarray) -> None:
        self.views = [x.copy()]
        self.parameters = parameters
        self.total = 0.0

    def run(self, step: Step) -> bool:
        x = self.views[step.which % len(self.views)]
        if step.kind in ("select", "slice", "transpose", "unsqueeze", "diagonal", "again"):
            view = view_of(x, step)
            if view is None:
                return False
            self.views.append(view)
        elif step.kind == "flatten":
            if not x.flags.c_contiguous:
                return False
            self.views.append(x.reshape(-1))
        elif step.kind == "multiply":
            x *= 1.5
        elif step.kind == "add":
            x += amount(x.shape, self.parameters)
        elif step.kind == "scale":
            x *= amount(x.shape, self.parameters)
        elif step.kind == "negate":
            x *= -1
        elif step.kind == "fill":
            x[...] = 0.25
        elif step.kind == "set":
            x[...] = amount(x.shape, self.parameters)
        elif step.kind == "set_number":
            x[mask_of(x.shape, step)] = 2.0
        elif step.kind == "mask":
            mask = mask_of(x.shape, step)
            x[mask] = amount((int(mask.sum()),), self.parameters)
        elif step.kind == "add_view":
            other = self.views[step.first % len(self.views)]
            x += other.sum()
        else:
            self.total = self.total + (x * x * 0.5).sum()
        return True

    def result(self) -> Any:
        weights = np.cos(np.arange(self.views[0].size)).reshape(self.views[0].shape)
        return self.total + (self.views[0] * weights).sum() + (self.views[-1] * 0.5).sum()


class Weft:
    """The side under test: the same steps by in-place methods, operators and writes."""

    def __init__(self, x: Any, parameters: Any) -> None:
        self.views = [x]
        self.parameters = parameters
        self.total = weft.zeros((), dtype=weft.float64)

    def run(self, step: Step) -> None:
        x = self.views[step.which % len(self.views)]
        shape = tuple(x.shape)
        if step.kind in ("select", "slice", "transpose", "unsqueeze", "diagonal", "again"):
            self.views.append(view_of(x, step))
        elif step.kind == "flatten":
            self.views.append(x.view(-1))
        elif step.kind == "multiply":
            x.mul_(1.5)
        elif step.kind == "add":
            x.add_(amount(shape, self.parameters))
        elif step.kind == "scale":
            x.mul_(amount(shape, self.parameters))
        elif step.kind == "negate":
            x.neg_()
        elif step.kind == "fill":
            x.fill_(0.25)
        elif step.kind == "set":
            x[...] = amount(shape, self.parameters)
        elif step.kind == "set_number":
            x.masked_fill_(weft.tensor(mask_of(shape, step)), 2.0)
        elif step.kind == "mask":
            mask = mask_of(shape, step)
            x[weft.tensor(mask)] = amount((int(mask.sum()),), self.parameters)
        elif step.kind == "add_view":
            x += self.views[step.first % len(self.views)].sum()
        else:
            # A copy: a later write must not reach what the square's gradient reads.
            copy = x.clone()
            self.total = self.total + (copy * copy * 0.5).sum()


def start(shape: tuple[int, ...]) -> np.ndarray:
    return np.sin(np.arange(int(np.prod(shape)), dtype=float)).reshape(shape)


PARAMETERS = np.array([0.5, -1.25, 2.0, 0.75])


def weft_result(side: Weft) -> Any:
    base, last = side.views[0], side.views[-1]
    weights = np.cos(np.arange(base.numel())).reshape(tuple(base.shape))
    return side.total + (base * weft.tensor(weights)).sum() + (last * 0.5).sum()


def numpy_derivative(
    steps: list[Step], x: np.ndarray, parameters: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of the chain's result for x and for the parameters."""
    tiny = 1e-40
    gradients = []
    for target in (0, 1):
        inputs = [x, parameters]
        gradient = np.zeros(inputs[target].shape)
        for place in np.ndindex(gradient.shape):
            moved = [array.astype(complex) for array in inputs]
            moved[target][place] += 1j * tiny
            side = Numpy(*moved)
            for step in steps:
                side.run(step)
            gradient[place] = side.result().imag / tiny
        gradients.append(gradient)
    return gradients[0], gradients[1]


@settings(max_examples=300)
@given(SHAPES, CHAINS)
def test_chain(shape: tuple[int, ...], steps: list[Step]) -> None:
    x, parameters = start(shape), PARAMETERS
    expected = Numpy(x, parameters)
    leaf = weft.tensor(x, requires_grad=True)
    weights = weft.tensor(parameters, requires_grad=True)
    actual = Weft(leaf * 1.0, weights)
    done = []
    for step in steps:
        if not expected.run(step):
            continue
        actual.run(step)
        done.append(step)
        for got, want in zip(actual.views, expected.views, strict=True):
            assert tuple(got.shape) == want.shape, step
            np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-12, err_msg=str(step))
    for_x, for_weights = weft.autograd.grad(weft_result(actual), [leaf, weights], allow_unused=True)
    want_x, want_weights = numpy_derivative(done, x, parameters)
    zero = weft.zeros((), dtype=weft.float64)
    np.testing.assert_allclose(
        (zero if for_x is None else for_x).numpy() + 0 * want_x, want_x, atol=1e-9
    )
    got_weights = (zero if for_weights is None else for_weights).numpy() + 0 * want_weights
    np.testing.assert_allclose(got_weights, want_weights, rtol=1e-9, atol=1e-9)


@given(SHAPES, CHAINS)
def test_chain_without_gradients(shape: tuple[int, ...], steps: list[Step]) -> None:
    expected = Numpy(start(shape), PARAMETERS)
    actual = Weft(weft.tensor(start(shape)), weft.tensor(PARAMETERS))
    for step in steps:
        if expected.run(step):
            actual.run(step)
    for got, want in zip(actual.views, expected.views, strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)


@given(SHAPES, CHAINS)
def test_second_gradient_of_a_chain(shape: tuple[int, ...], steps: list[Step]) -> None:
    """The gradient's own gradient, along one direction, by a complex step through the first."""
    x, parameters = start(shape), PARAMETERS
    leaf = weft.tensor(x, requires_grad=True)
    weights = weft.tensor(parameters, requires_grad=True)
    side, expected, done = Weft(leaf * 1.0, weights), Numpy(x, parameters), []
    for step in steps:
        if expected.run(step):
            side.run(step)
            done.append(step)
    total = weft_result(side)
    first = weft.autograd.grad(total * total, [leaf, weights], create_graph=True, allow_unused=True)
    u = [np.cos(np.arange(array.size) + 1).reshape(array.shape) for array in (x, parameters)]
    slope = sum(
        ((g * weft.tensor(v)).sum() for g, v in zip(first, u, strict=True) if g is not None),
        weft.zeros((), dtype=weft.float64),
    )
    (second,) = (
        weft.autograd.grad(slope, weights, allow_unused=True) if slope.requires_grad else (None,)
    )
    got = np.zeros(parameters.shape) if second is None else second.numpy()

    def slope_at(p: np.ndarray) -> float:
        there = Numpy(x, p)
        for step in done:
            there.run(step)
        for_x, for_p = numpy_derivative(done, x, p)
        return float(2 * there.result() * ((for_x * u[0]).sum() + (for_p * u[1]).sum()))

    numeric = np.zeros(parameters.shape)
    for place in range(parameters.size):
        ahead, behind = parameters.copy(), parameters.copy()
        ahead[place] += 1e-6
        behind[place] -= 1e-6
        numeric[place] = (slope_at(ahead) - slope_at(behind)) / 2e-6
    np.testing.assert_allclose(got, numeric, rtol=1e-5, atol=1e-4 * (1 + np.abs(numeric).max()))


# ---- What views share, and what in-place ops refuse ----------------------------------------------


def test_versions_are_shared_by_all_views() -> None:
    x = weft.zeros(2, 3)
    row, column = x[0], x.t()
    assert (x._version, row._version, column._version) == (0, 0, 0)
    row.add_(1)
    column[0, 1] = 5.0
    assert x._version == row._version == column._version == 2
    assert x.detach()._version == 2


def test_view_knows_its_base() -> None:
    x = weft.zeros(2, 3)
    assert x._base is None
    assert not x._is_view()
    row = x[0][1:]
    assert row._base is x
    assert row._is_view()
    assert row.data_ptr() == x.data_ptr() + x.element_size()
    assert weft.zeros(2)._base is None


def test_grad_fn_follows_a_write_through_a_view() -> None:
    x = weft.ones(3, requires_grad=True)
    y = x * 2
    view = y[1:]
    y.mul_(3)
    assert view.tolist() == [6, 6]
    view.sum().backward()
    assert x.grad.tolist() == [0, 6, 6]


def test_leaf_that_requires_grad_is_not_written() -> None:
    x = weft.ones(3, requires_grad=True)
    for write in (
        lambda: x.add_(1),
        lambda: x.__setitem__(0, 1.0),
        lambda: x[0].mul_(2),
        lambda: x.view(3).zero_(),
    ):
        with pytest.raises(RuntimeError, match="leaf"):
            write()
    assert x.tolist() == [1, 1, 1]
    assert x.is_leaf
    with weft.no_grad():
        x.add_(1)
        x[0] = 5
    assert x.tolist() == [5, 2, 2]
    assert x.is_leaf
    assert x.requires_grad


@pytest.mark.parametrize(
    "spoil",
    [
        lambda y: y.add_(1),
        lambda y: y[0].add_(1),
        lambda y: y.view(-1).zero_(),
        lambda y: y.__setitem__(0, 1.0),
        lambda y: y.detach().mul_(2),
        lambda y: y.copy_(weft.zeros(3)),
    ],
)
def test_write_to_a_saved_tensor(spoil: Callable[[Any], Any]) -> None:
    x = weft.ones(3, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    spoil(y)
    with pytest.raises(RuntimeError, match=r"in-?place"):
        z.backward()


def test_write_to_a_saved_result() -> None:
    x = weft.ones(3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"in-?place"):
        y.sum().backward()


def test_write_that_no_gradient_reads() -> None:
    x = weft.ones(3, requires_grad=True)
    y = x + 1
    z = y + 1
    y.mul_(5)
    (z + y).sum().backward()
    assert x.grad.tolist() == [6, 6, 6]


def test_product_with_itself_in_place() -> None:
    x = weft.full((3,), 3.0, requires_grad=True)
    y = x * 1
    y.mul_(x)
    y.sum().backward()
    assert x.grad.tolist() == [6, 6, 6]


@pytest.mark.parametrize("cut", [slice(None), slice(1, None), slice(3, None)])
def test_product_in_place_keeps_what_its_gradient_reads(cut: slice) -> None:
    """`mul_` by a tensor with a gradient reads the value it overwrites, be it empty."""
    x = weft.full((3,), 3.0, requires_grad=True)
    p = weft.tensor(2.0, requires_grad=True)
    y = x * 1
    y[cut].mul_(p)
    y.sum().backward()
    count = len(range(3)[cut])
    assert p.grad.item() == 3 * count
    assert x.grad.tolist() == [1] * (3 - count) + [2] * count


def test_a_leaf_becomes_part_of_a_graph_by_a_write() -> None:
    x = weft.zeros(3)
    p = weft.tensor([2.0], requires_grad=True)
    x[1:2] = p * 3
    assert x.requires_grad
    assert not x.is_leaf
    x.sum().backward()
    assert p.grad.tolist() == [3]


def test_write_through_a_view_of_a_tensor_without_grad() -> None:
    x = weft.zeros(2, 2)
    row = x[0]
    p = weft.tensor(2.0, requires_grad=True)
    row.add_(p)
    assert x.requires_grad
    assert row.requires_grad
    (x * weft.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert p.grad.item() == 3


def test_masked_write_with_gradients() -> None:
    x = weft.tensor([1.0, -2.0, 3.0], requires_grad=True)
    v = weft.tensor([10.0, 20.0], requires_grad=True)
    y = x * 2
    y[x > 0] = v
    (y * weft.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [0, 20, 0]
    assert v.grad.tolist() == [1, 100]


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("chosen", [True, False])
def test_0d_mask_with_gradients(shape: tuple[int, ...], chosen: bool) -> None:
    """A 0-d mask chooses everything or nothing."""
    x = weft.ones(shape, requires_grad=True)
    v = weft.tensor(5.0, requires_grad=True)
    y = x * 2
    y[weft.tensor(chosen)] = v
    assert (y.detach() == (5 if chosen else 2)).all()
    for_x, for_v = weft.autograd.grad(y.sum(), [x, v], allow_unused=True)
    assert for_x is None or (for_x == (0 if chosen else 2)).all()
    assert (0 if for_v is None else for_v.item()) == (y.numel() if chosen else 0)
    assert for_x is not None or chosen


def test_repeated_memory_is_not_written() -> None:
    x = weft.zeros(1).expand(3)
    with pytest.raises(RuntimeError):
        x.add_(weft.tensor([1.0, 2.0, 3.0]))


def test_several_views_at_once_are_not_written() -> None:
    x = weft.ones(2, 2, requires_grad=True) * 1
    first, _ = x.unbind(0)
    with pytest.raises(RuntimeError):
        first.add_(1)


def test_a_view_made_without_gradients_is_not_written_with_them() -> None:
    x = weft.ones(3, requires_grad=True) * 1
    with weft.no_grad():
        view = x[1:]
    with pytest.raises(RuntimeError):
        view.mul_(weft.ones(2, requires_grad=True))


def test_overlapping_copy_within_one_tensor() -> None:
    x = weft.arange(6)
    x[1:] = x[:-1].clone()
    assert x.tolist() == [0, 0, 1, 2, 3, 4]


def test_hook_of_a_tensor_written_later() -> None:
    """A hook sees the gradient of the value the tensor had when the hook was made."""
    x = weft.ones(2, requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda gradient: seen.append(gradient.tolist()))
    y.mul_(10)
    y.sum().backward()
    assert seen == [[10, 10]]
    assert x.grad.tolist() == [20, 20]


def test_numpy_shares_memory_with_a_tensor() -> None:
    x = weft.zeros(2, 2)
    array = x.numpy()
    x[0] = 1.0
    assert array.tolist() == [[1, 1], [0, 0]]
    array[1, 1] = 7
    assert x[1, 1].item() == 7
    other = weft.from_numpy(array)
    other += 1
    assert x.tolist() == [[2, 2], [1, 8]]


# ---- Writes through views by strides -------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_gradients_of_a_written_diagonal(order: Literal["C", "F"]) -> None:
    old = weft.ones(3, 3, dtype=weft.float64, requires_grad=True)
    new = weft.ones(2, dtype=weft.float64, requires_grad=True)
    base = weft.from_numpy(np.zeros((3, 3), order=order))
    base.copy_(old)
    base.diagonal(1).copy_(new)
    # A part of a larger tensor: its memory does not begin with it.
    given = weft.arange(18.0, dtype=weft.float64).reshape(2, 3, 3)[1]
    to_old, to_new = weft.autograd.grad(base, [old, new], given)
    expected = given.clone()
    expected.diagonal(1).zero_()
    assert to_old.tolist() == expected.tolist()
    assert to_new.tolist() == given.diagonal(1).tolist()


def test_a_tensor_becomes_a_view_of_itself() -> None:
    x = weft.arange(6.0).view(2, 3)
    row = x[0]
    assert x.unsqueeze_(0).squeeze_().t_().shape == (3, 2)
    x.transpose_(0, 1).add_(1)
    assert row.tolist() == [1.0, 2.0, 3.0]
    row.mul_(2)
    assert x.tolist() == [[2.0, 4.0, 6.0], [4.0, 5.0, 6.0]]


def test_becoming_a_view_keeps_the_history() -> None:
    w = weft.ones(2, 3, requires_grad=True)
    y = w * 2
    y.t_().mul_(3)
    (y * weft.arange(6.0).view(3, 2)).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [[0.0, 12.0, 24.0], [6.0, 18.0, 30.0]]
    with pytest.raises(RuntimeError, match=r"t_.*a leaf Variable that requires grad"):
        w.t_()
    with weft.no_grad():
        assert w.t_().shape == (3, 2)
    assert w.is_leaf
    assert w.requires_grad


def test_views_of_what_would_become_another_shape() -> None:
    y = weft.ones(3, requires_grad=True) * 1
    part = y[1:]
    with pytest.raises(RuntimeError, match="that has views cannot change its shape in place"):
        y.unsqueeze_(0)
    del part
    assert y.unsqueeze_(0).shape == (1, 3)


def test_a_view_of_a_base_becomes_another_view() -> None:
    base = weft.ones(2, 3, requires_grad=True) * 1
    view = base[0]
    view.unsqueeze_(1)
    view.mul_(5)
    assert base.tolist() == [[5.0, 5.0, 5.0], [1.0, 1.0, 1.0]]


def test_resizing() -> None:
    x = weft.arange(4.0)
    assert x.resize_(2, 3).tolist() == [[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]]
    assert x.resize_as_(weft.zeros(1, 2)).tolist() == [[0.0, 1.0]]
    with pytest.raises(RuntimeError, match="require grad"):
        weft.ones(2, requires_grad=True).resize_(1)


def test_functions_of_elements() -> None:
    x = weft.tensor([1.0, 2.0])
    assert x.apply_(lambda value: value * 2).tolist() == [2.0, 4.0]
    assert x.map_(weft.tensor(1.0), lambda a, b: a + b).tolist() == [3.0, 5.0]
    assert weft.tensor(3).is_nonzero()


def test_bytes_seen_as_another_dtype() -> None:
    x = weft.tensor([[1.0, -2.0], [0.5, 3.0]])
    for dtype in (weft.int32, weft.int16, weft.uint8, weft.float64, weft.int64, weft.float16):
        seen = x.view(dtype)
        expected = x.numpy().view(seen.numpy().dtype)
        assert seen.numpy().tobytes() == expected.tobytes()
        assert seen.shape == expected.shape
        assert seen.data_ptr() == x.data_ptr()
    assert x.view(dtype=weft.int32)[0].tolist() == [0x3F800000, -0x40000000]
    x.view(weft.int32).add_(1 << 23)  # twice as much
    assert x.tolist() == [[2, -4], [1, 6]]
    x[1].view(weft.uint8).zero_()
    assert x.tolist() == [[2, -4], [0, 0]]
    assert x[1:].view(weft.float64).storage_offset() == 1
    assert weft.zeros(0).view(weft.uint8).shape == (0,)
    assert weft.zeros(2, 0, 3).view(weft.int16).shape == (2, 0, 6)


def test_bytes_that_are_no_elements() -> None:
    for refused in (
        lambda: weft.tensor(1.0).view(weft.float64),
        lambda: weft.tensor(1.0).view(weft.uint8),
        lambda: weft.ones(3).view(weft.float64),
        lambda: weft.ones(2, 3)[:, :2].view(weft.float64),
        lambda: weft.ones(4)[1:3].view(weft.float64),
        lambda: weft.ones(2, 2).t().view(weft.float64),
        lambda: weft.ones(2, 2).t().view(weft.int16),
    ):
        with pytest.raises(ValueError, match="seen as"):
            refused()
    assert weft.ones(2, 2).t().view(weft.int32).stride() == (1, 2)


def test_bytes_have_no_gradient() -> None:
    x = weft.ones(2, requires_grad=True)
    assert not x.view(weft.int32).requires_grad
    assert not x.view(weft.float16).requires_grad
    x.view(weft.float32).sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_bytes_of_rows() -> None:
    x = weft.arange(6.0).reshape(3, 2)
    expected = x.view(weft.int16)
    assert weft.vmap(lambda row: row.view(weft.int16))(x).tolist() == expected.tolist()
    rows = weft.map(lambda row: (row * 1).view(weft.int16), list(x.repeat(3, 1)))
    assert [row.tolist() for row in rows] == expected.tolist() * 3
    with weft.lazy():
        y = x + 1
        bits = y.view(weft.int32)
    assert bits.tolist() == (x + 1).view(weft.int32).tolist()
