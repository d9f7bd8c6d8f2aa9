"""Where memory runs out in ops that run at once, tensors are as they were, or as PyTorch leaves them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import weft
from weft import _core, nn

ALWAYS = 2**40


@contextmanager
def failing(after: int, count: int) -> Iterator[list[bool]]:
    """Let allocations fail; tell whether any did."""
    ran_out: list[bool] = []
    _core.fail_allocations(after, count)
    try:
        yield ran_out
    except MemoryError:
        pass
    finally:
        ran_out.append(_core.fail_allocations(0, 0) < count)


def places_to_fail(count: int, run: Callable[[], Any], prepare: Callable[[], Any]) -> Iterator[int]:
    """Run it, with another allocation failing each time, until none does."""
    for after in range(1000):
        prepare()
        with failing(after, count) as ran_out:
            run()
        if not ran_out[0]:
            assert after > 0, "nothing was allocated"
            return
        yield after


Write = Callable[[weft.Tensor, weft.Tensor], Any]


def written_in_part(x: weft.Tensor, y: weft.Tensor) -> None:
    x[1:, ::2] = y[1:, ::2]


def written_where(x: weft.Tensor, y: weft.Tensor) -> None:
    x[x > 0] = 2.0


def written_at(x: weft.Tensor, y: weft.Tensor) -> None:
    x[weft.tensor([0, 2]), 1] += y[0, :2]


WRITES: dict[str, Write] = {
    "add": lambda x, y: x.add_(y),
    "add a scaled number": lambda x, y: x.add_(y.to(weft.float32), alpha=2),
    "of another dtype": lambda x, y: x.mul_(y.to(weft.float32)),
    "a row": lambda x, y: x.sub_(y[0]),
    "its own transpose": lambda x, y: x.add_(x.t()),
    "its own sum": lambda x, y: x.div_(x.sum()),
    "itself": lambda x, y: x.mul_(x),
    "the other transposed": lambda x, y: x.copy_(y.t()),
    "tanh": lambda x, y: x.tanh_(),
    "clamp": lambda x, y: x.clamp_(-0.1, 0.1),
    "power": lambda x, y: x.pow_(3),
    "zero": lambda x, y: x.zero_(),
    "fill": lambda x, y: x.fill_(2.0),
    "addmm": lambda x, y: x.addmm_(x, y),
    "lerp": lambda x, y: x.lerp_(y, 0.3),
    "addcmul": lambda x, y: x.addcmul_(x, y),
    "masked": lambda x, y: x.masked_fill_(y > 0, 1.0),
    "where": written_where,
    "index": written_at,
    "index_add": lambda x, y: x.index_add_(0, weft.tensor([1, 1, 0]), y),
    "scatter": lambda x, y: x.scatter_(0, weft.tensor([[0, 1, 2]]), y),
    "part": written_in_part,
    "through a view": lambda x, y: x[0].exp_(),
    "through a transpose": lambda x, y: x.t().add_(y),
    "through a diagonal": lambda x, y: x.diagonal().mul_(y[0]),
    "cumulative": lambda x, y: x.cumsum_(0),
    "mish": lambda x, y: nn.functional.mish(x, inplace=True),
    "relu": lambda x, y: nn.functional.relu(x, inplace=True),
    "dropout": lambda x, y: nn.functional.dropout(x, 0.5, inplace=True),
    "uniform": lambda x, y: x.uniform_(),
    "normal": lambda x, y: x.normal_(),
}


@pytest.mark.parametrize("count", [1, ALWAYS], ids=["once", "from then on"])
@pytest.mark.parametrize("grad", ["none", "of it", "of the other", "of both"])
@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_fails_leaves_all_as_it_was(name: str, grad: str, count: int) -> None:
    write = WRITES[name]
    a = weft.randn(3, 3, dtype=weft.float64, requires_grad=grad in ("of it", "of both"))
    b = weft.randn(3, 3, dtype=weft.float64, requires_grad=grad in ("of the other", "of both"))
    leaves = [leaf for leaf in (a, b) if leaf.requires_grad]

    def made() -> tuple[weft.Tensor, weft.Tensor, weft.Tensor]:
        x = a * 2
        return x, b.sin(), x[1]

    def gradients(x: weft.Tensor) -> list[Any]:
        if not x.requires_grad:
            return []
        found = weft.autograd.grad((x * x).sum(), leaves, allow_unused=True)
        return [None if one is None else one.tolist() for one in found]

    x, y, row = made()
    untouched = x.tolist(), gradients(x)
    x, y, row = made()
    weft.manual_seed(1)
    write(x, y)
    expected = x.tolist(), row.tolist(), gradients(x), weft.rand(1).item()
    for after in range(1000):
        x, y, row = made()
        weft.manual_seed(1)
        before = x._version, x.grad_fn, x.requires_grad
        with failing(after, count) as ran_out:
            write(x, y)
            break
        assert ran_out == [True]
        assert x.tolist() == untouched[0], after
        assert row.tolist() == untouched[0][1], after
        assert (x._version, x.grad_fn, x.requires_grad) == before, after
        assert gradients(x) == untouched[1], after
        x, y, row = made()
        weft.manual_seed(1)
        write(x, y)
        assert (x.tolist(), row.tolist(), gradients(x), weft.rand(1).item()) == expected, after
