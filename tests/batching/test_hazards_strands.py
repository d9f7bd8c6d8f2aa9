"""Programs that strands and batches once computed wrongly, or took long to record."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

import weft
from weft import _core

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans in a row")


def check(fn: Callable[..., weft.Tensor], *arguments: Sequence[object]) -> None:
    """Compare what `fn` gives for each row of arguments, recorded together, with eager."""
    for _ in range(5):
        with weft.lazy():
            found = [fn(*row) for row in zip(*arguments, strict=True)]
        _core.run_tensors(found)
        for row, y in zip(zip(*arguments, strict=True), found, strict=True):
            expected = fn(*row)
            assert y.dtype == expected.dtype
            # In half precision, what all rows share is rounded later than what each has.
            assert weft.allclose(y, expected, rtol=2e-3 if y.dtype == weft.float16 else 0, atol=0)


def test_a_number_is_computed_in_the_dtype_of_each_op() -> None:
    xs = [weft.randn(3) for _ in range(5)]
    check(lambda x, by: (x * by).double() * by, xs, [0.1, 0.2, 0.3, 0.7, 0.9])
    check(lambda x, by: (x * by).long() * by, xs, [1, 2, 3, 4, 5])


def test_results_of_ops_with_many_results_are_told_apart() -> None:
    x, y = weft.randn(300), weft.randn(300)

    def parts(x: weft.Tensor) -> list[weft.Tensor]:
        return [part.neg() for part in x.exp().split(1)]

    with weft.lazy():
        found = parts(x) + parts(y)
    assert weft.equal(weft.cat(found), weft.cat(parts(x) + parts(y)))


@pytest.mark.parametrize(
    ("dtype", "scalar"),
    [
        (weft.float32, weft.float64),
        (weft.float16, weft.float32),
        (weft.int32, weft.int64),
        (weft.int64, weft.float64),
        (weft.float32, weft.bool),
    ],
)
def test_zero_dimensional_rows_give_way_in_promotion(dtype: weft.dtype, scalar: weft.dtype) -> None:
    xs = [(3 * weft.randn(3) + 5).to(dtype) for _ in range(4)]
    scalars = [weft.tensor(i + 0.7).to(scalar) for i in range(4)]
    numbers = [x[0] for x in xs]
    shared = weft.tensor(2.3).to(scalar)
    check(lambda x, s: x + x * s, xs, scalars)
    check(lambda s, x: x * s + x, scalars, xs)
    check(lambda x, s: x * s, numbers, scalars)
    check(lambda x: x * shared, numbers)
    check(lambda x, s: (x > s) & (s < x), xs, scalars)
    check(lambda x, s: weft.where(x > 5, x, s), xs, scalars)
    check(lambda x, s: x.masked_fill(x > 5, s.to(dtype)), numbers, scalars)


def test_zero_dimensional_rows_that_gave_way_have_gradients() -> None:
    xs = [weft.randn(3, requires_grad=True) for _ in range(4)]
    scalars = [weft.tensor(float(i), dtype=weft.float64, requires_grad=True) for i in range(4)]
    for _ in range(4):
        with weft.lazy():
            loss = sum((x.exp() * s).square().sum() for x, s in zip(xs, scalars, strict=True))
        gradients = weft.autograd.grad(loss, scalars)
        for x, s, g in zip(xs, scalars, gradients, strict=True):
            assert g.dtype == weft.float64
            assert g.item() == pytest.approx((2 * s.item() * x.exp().square()).sum().item())


@pytest.mark.parametrize("wanted", [True, False])
def test_requires_grad_set_while_an_op_waits(wanted: bool) -> None:
    for _ in range(4):
        x = weft.randn(3, requires_grad=not wanted)
        with weft.lazy():
            y = x.exp().neg()
            x.requires_grad_(wanted)
            z = x.exp().neg()
        assert y.requires_grad is not wanted
        weft.stack([y, z]).tolist()
        assert y.requires_grad is not wanted
        assert z.requires_grad is wanted


def test_memory_given_to_numpy_after_recording() -> None:
    for _ in range(4):
        x = weft.zeros(2, 3)
        with weft.lazy():
            y = (x + 1) * 2
            z = (x[0] + 1) * 2
            x.numpy()[:] = 7
            u = (x + 1) * 2
            x.detach().numpy()[:] = 8
        assert y.sum().item() == 12
        assert z.sum().item() == 6
        assert u.sum().item() == 96


@pytest.mark.strands
def test_a_line_with_very_many_shapes_stays_known() -> None:
    x = weft.randn(20000)

    def part(i: int) -> weft.Tensor:
        return (x[: i + 1] + 1).exp() * 2

    for i in range(18000):
        with weft.lazy():
            y = part(i)
        if i % 1000 == 0:
            assert weft.equal(y, part(i))
    for _ in range(6):
        with weft.lazy():
            y = (x[:3] + 1).neg().exp()
        y.tolist()
    assert [b.op for b in weft.explain().plans[-1].batches][-1] == "add..exp (3 ops)"


def test_memory_limit_runs_gradients_that_wait_to_be_multiplied() -> None:
    w = weft.randn(8, 8, requires_grad=True)
    xs = [weft.randn(1, 8) for _ in range(20)]
    loss = sum((x @ w).square().sum() for x in xs)
    (expected,) = weft.autograd.grad(loss, w, retain_graph=True)
    before = weft.batching.set_memory_limit(600)  # two of them
    try:
        (found,) = weft.autograd.grad(loss, w)
    finally:
        weft.batching.set_memory_limit(before)
    assert weft.allclose(found, expected, rtol=1e-4)


def test_an_op_without_results_is_recorded_once() -> None:
    x = weft.randn(0, 3)
    before = _core.set_strand_threshold(1)
    for _ in range(8):
        with weft.lazy():
            y = (x * 2).tanh()
            recorded = _core.pending_count()
            assert y.unbind() == ()
            assert _core.pending_count() == recorded
        assert y.tolist() == []
    _core.set_strand_threshold(before)
