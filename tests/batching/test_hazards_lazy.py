"""What could go wrong while ops are pending: writes, reads, copies, errors, modes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import weft
from weft import _core, nn
from weft.utils.checkpoint import checkpoint

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Every test leaves the library as it was."""
    yield
    assert not _core.is_lazy()


def survives(program: str) -> None:
    """Run a program that could crash in a process of its own."""
    text = "import weft\nfrom weft import _core\n" + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def pending(factor: float = 2.0, requires_grad: bool = False) -> tuple[weft.Tensor, weft.Tensor]:
    """Return a leaf and what was recorded from it."""
    x = weft.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)
    with weft.lazy():
        y = x * factor
    assert _core.is_pending(y)
    return x, y


# ---- Reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda y: y.tolist(), [2.0, 4.0, 6.0]),
        (lambda y: y.numpy().tolist(), [2.0, 4.0, 6.0]),
        (lambda y: np.asarray(y).tolist(), [2.0, 4.0, 6.0]),
        (lambda y: [part.item() for part in y], [2.0, 4.0, 6.0]),
        (lambda y: y[1].item(), 4.0),
        (lambda y: float(y[0]), 2.0),
        (lambda y: int(y[2]), 6),
        (lambda y: bool(y[0]), True),
        (lambda y: bool((y > 5).any()), True),
        (lambda y: list(range(10))[y[0].long()], 2),
        (lambda y: f"{y[1]:.2f}", "4.00"),
        (lambda y: int(y.argmax()), 2),
        (lambda y: 4.0 in y, True),
        (len, 3),
        (repr, "tensor([2., 4., 6.])"),
        (str, "tensor([2., 4., 6.])"),
        (lambda y: copy.deepcopy(y).tolist(), [2.0, 4.0, 6.0]),
        (lambda y: copy.copy(y).tolist(), [2.0, 4.0, 6.0]),
        (lambda y: pickle.loads(pickle.dumps(y)).tolist(), [2.0, 4.0, 6.0]),
        (lambda y: y.nonzero().tolist(), [[0], [1], [2]]),
        (lambda y: y[y > 3].tolist(), [4.0, 6.0]),
        (lambda y: (y + 1).tolist(), [3.0, 5.0, 7.0]),
        (lambda y: y.detach().tolist(), [2.0, 4.0, 6.0]),
        (lambda y: y.data.tolist(), [2.0, 4.0, 6.0]),
        (lambda y: weft.equal(y, weft.tensor([2.0, 4.0, 6.0])), True),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_reading_what_is_pending(
    read: Callable[[weft.Tensor], object], expected: object, inside: bool
) -> None:
    _, y = pending()
    with weft.lazy(inside):
        found = read(y)
    assert found == expected


def test_what_is_known_without_running() -> None:
    x, y = pending(requires_grad=True)
    assert (y.shape, y.dtype, y.ndim, y.numel(), len(y)) == ((3,), weft.float32, 1, 3, 3)
    assert y.requires_grad
    assert not y.is_leaf
    assert y.grad is None
    assert _core.is_pending(y)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_freed_without_being_run() -> None:
    before = _core.dropped_count()
    _, y = pending()
    _, z = pending(3.0)
    del y
    assert _core.dropped_count() == before + 1
    assert z.tolist() == [3.0, 6.0, 9.0]
    assert _core.dropped_count() == before + 1


def test_eager_ops_after_the_scope() -> None:
    x, y = pending(requires_grad=True)
    z = (y * y).sum()
    assert not _core.is_pending(z)
    z.backward()
    assert x.grad.tolist() == [8.0, 16.0, 24.0]


def test_requires_grad_of_what_is_pending() -> None:
    _, y = pending()
    y.requires_grad_()
    assert y.is_leaf
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0, 8.0, 12.0]
    _, y = pending()
    with weft.lazy():
        y.requires_grad_()
        loss = (y * 3).sum()
    loss.backward()
    assert y.grad.tolist() == [3.0, 3.0, 3.0]


# ---- Writing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [False, True])
def test_setting_parts_of_what_is_pending(inside: bool) -> None:
    x, y = pending(requires_grad=True)
    with weft.lazy(inside):
        y[0] = 10.0
        y[1:] += x[:2]
        y[weft.tensor([False, False, True])] = x[0]
        loss = (y * y).sum()
    assert y.tolist() == [10.0, 5.0, 1.0]
    loss.backward()
    assert x.grad.tolist() == [12.0, 20.0, 0.0]


def test_in_place_under_no_grad_keeps_the_history() -> None:
    x = weft.ones(3, requires_grad=True)
    with weft.lazy():
        y = x * 2
        with weft.no_grad():
            y.mul_(3)
    assert y.requires_grad
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([6.0] * 3, [2.0] * 3)


def write_in_place(p: nn.Parameter) -> None:
    with weft.no_grad():
        p.add_(1)


def write_by_step(p: nn.Parameter, kind: Any = weft.optim.SGD) -> None:
    p.grad = weft.ones(2)
    kind([p], lr=0.5).step()


def write_data(p: nn.Parameter) -> None:
    p.data = weft.zeros(2)


def write_into_data(p: nn.Parameter) -> None:
    p.data.add_(1)


def write_element(p: nn.Parameter) -> None:
    with weft.no_grad():
        p[0] = 5.0


def write_state(p: nn.Parameter) -> None:
    module = nn.ParameterList([p])
    module.load_state_dict({"0": weft.zeros(2)})


def write_init(p: nn.Parameter) -> None:
    nn.init.zeros_(p)


def write_by_adam(p: nn.Parameter) -> None:
    write_by_step(p, weft.optim.Adam)


WRITES = [
    *(write_in_place, write_data, write_into_data, write_element, write_state, write_init),
    *(write_by_step, write_by_adam),
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("inside", [False, True])
def test_a_parameter_written_while_ops_wait(
    write: Callable[[nn.Parameter], None], inside: bool
) -> None:
    p = nn.Parameter(weft.ones(2))
    with weft.lazy():
        y = p * 3
    with weft.lazy(inside):
        write(p)
    assert y.tolist() == [3.0, 3.0]
    assert p.tolist() != [1.0, 1.0]


def test_a_parameter_written_while_views_of_it_wait() -> None:
    p = nn.Parameter(weft.ones(4))
    with weft.lazy():
        y = p[1:] * 3
        z = p.view(2, 2).t().sum(0)
    write_in_place(p)
    assert y.tolist() == [3.0, 3.0, 3.0]
    assert z.tolist() == [2.0, 2.0]


def test_a_gradient_read_while_backward_adds_to_it() -> None:
    w = weft.ones(2, requires_grad=True)
    (w * 2).sum().backward()
    with weft.lazy():
        kept = w.grad * 1
    (w * 2).sum().backward()
    assert kept.tolist() == [2.0, 2.0]
    assert w.grad.tolist() == [4.0, 4.0]


def test_a_pending_gradient_is_added_to() -> None:
    survives("""
        w = weft.ones(2, requires_grad=True)
        with weft.lazy():
            w.grad = weft.ones(2) * 5
        (w * 2).sum().backward()
        assert w.grad.tolist() == [7.0, 7.0]
    """)


def test_a_step_with_a_pending_gradient() -> None:
    survives("""
        for kind in (weft.optim.SGD, weft.optim.Adam):
            w = weft.ones(2, requires_grad=True)
            with weft.lazy():
                w.grad = weft.ones(2)
            kind([w], lr=1.0).step()
            assert w.tolist() == [0.0, 0.0], w
    """)


def test_a_step_for_a_parameter_that_was_pending() -> None:
    survives("""
        for kind in (weft.optim.SGD, weft.optim.Adam):
            with weft.lazy():
                w = weft.nn.Parameter(weft.ones(2) * 2)
            (w * 1).sum().backward()
            kind([w], lr=1.0).step()
            assert w.tolist() == [1.0, 1.0], w
    """)


def test_a_hook_that_returns_what_is_pending() -> None:
    survives("""
        x = weft.ones(3, requires_grad=True)

        def double(gradient):
            with weft.lazy():
                return gradient * 2

        h = x * 1
        h.register_hook(double)
        h.sum().backward()
        assert x.grad.tolist() == [2.0] * 3, x.grad
    """)


def test_a_function_whose_backward_returns_what_is_pending() -> None:
    survives("""
        with weft.lazy():
            later = weft.ones(3) * 2

        class Constant(weft.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, gradient):
                return later

        x = weft.ones(3, requires_grad=True)
        Constant.apply(x).sum().backward()
        assert x.grad.tolist() == [2.0] * 3, x.grad
    """)


def test_a_view_that_was_pending_is_a_view_of_its_base() -> None:
    x = weft.ones(3)
    with weft.lazy():
        view = x[1:]
    x.add_(1)
    assert view.tolist() == [2.0, 2.0]
    view.add_(1)
    assert x.tolist() == [2.0, 3.0, 3.0]


def test_views_that_ran_as_a_batch_are_views_of_their_bases() -> None:
    bases = [weft.ones(3) * i for i in range(3)]
    with weft.lazy():
        views = [x[1:] for x in bases]
    _core.run_tensors(views)
    views[1].add_(10)
    bases[2].add_(100)
    assert bases[1].tolist() == [1.0, 11.0, 11.0]
    assert views[2].tolist() == [102.0, 102.0]


def test_numpy_memory_written_while_ops_wait() -> None:
    array = np.ones(3, dtype=np.float32)
    x = weft.from_numpy(array)
    with weft.lazy():
        y, view, total = x * 2, x[1:] * 3, weft.stack([x, x]).sum()
    array[:] = 7
    assert (y.tolist(), view.tolist(), total.item()) == ([2.0] * 3, [3.0] * 2, 6.0)
    with weft.lazy():
        z = x * 2
    assert z.tolist() == [14.0] * 3


def test_memory_given_to_numpy_written_while_ops_wait() -> None:
    x = weft.ones(3)
    array = x.numpy()
    with weft.lazy():
        y = x * 2
    array[:] = 7
    assert y.tolist() == [2.0, 2.0, 2.0]


def test_parts_of_numpy_memory_keep_their_gradients_apart() -> None:
    x = weft.from_numpy(np.ones(2, dtype=np.float32)).requires_grad_()
    a, b = x.unbind(0)
    with weft.lazy():
        loss = a * 2 + b * 3
    loss.backward()
    assert x.grad.tolist() == [2.0, 3.0]


# ---- Shared parts, long chains -------------------------------------------------------------------


def normed(weight: weft.Tensor, x: weft.Tensor) -> weft.Tensor:
    """Return what weight normalisation inside the example gives."""
    return (x @ (weight / weight.norm())).tanh().sum()


@pytest.mark.python
def test_weight_norm_inside_the_example_runs_once() -> None:
    w = weft.randn(3, 3, requires_grad=True)
    xs = [weft.randn(3) for _ in range(5)]
    weft.stack([normed(w, x) for x in xs]).sum().backward()
    expected = w.grad.clone()
    for way in ("lazy", "map"):
        w.grad = None
        _core.forget_plans()
        if way == "lazy":
            with weft.lazy():
                losses = [normed(w, x) for x in xs]
        else:
            losses = weft.map(lambda x: normed(w, x), xs)
        weft.stack(losses).sum().backward()
        assert weft.allclose(w.grad, expected, atol=1e-6)
        batches = [(b.op, b.rows) for plan in weft.explain(99).plans for b in plan.batches]
        assert batches.count(("div", 1)) == 1
        assert any(rows == 5 for _, rows in batches)


def test_losses_that_share_a_weight_norm_are_freed_apart() -> None:
    w = weft.randn(3, 3, requires_grad=True)
    xs = [weft.randn(3) for _ in range(2)]
    with weft.lazy():
        losses = [normed(w, x) for x in xs]
    _core.run_tensors(losses)
    losses[0].backward()
    losses[1].backward()
    assert w.grad is not None


def test_a_million_pending_ops() -> None:
    before = _core.pending_count()
    x = weft.ones(1, requires_grad=True)
    with weft.lazy():
        y = x
        for _ in range(1_000_000):
            y = y + 1
    assert _core.pending_count() == before + 1_000_000
    assert y.item() == 1_000_001.0
    y.backward()
    assert x.grad.tolist() == [1.0]
    with weft.lazy():
        z = y
        for _ in range(100_000):
            z = z + 1
    del z


def test_modules_made_inside_a_scope() -> None:
    with weft.lazy():
        layer = nn.Linear(3, 2)
        y = layer(weft.ones(3)).sum()
        assert copy.deepcopy(layer).weight.shape == (2, 3)
    y.backward()
    assert layer.weight.grad.tolist() == [[1.0] * 3] * 2


# ---- Modes, errors, other machinery --------------------------------------------------------------


def test_an_exception_in_the_middle_of_a_scope() -> None:
    x = weft.ones(3)
    with pytest.raises(ZeroDivisionError), weft.lazy():
        y = x * 2
        _ = 1 / 0
    assert not _core.is_lazy()
    assert y.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="do not broadcast"), weft.lazy():
        weft.ones(3) + weft.ones(4)
    assert (x + 1).tolist() == [2.0, 2.0, 2.0]


def test_after_an_error_of_a_value_the_others_can_run() -> None:
    table = nn.Embedding(3, 2)
    with weft.lazy():
        rows = [table(weft.tensor(i)) for i in (0, 7, 2)]
        sums = [row.sum() for row in rows]
    with pytest.raises(IndexError):
        _core.run_tensors(sums)
    assert sums[2].item() == pytest.approx(table.weight[2].sum().item())
    assert sums[0].item() == pytest.approx(table.weight[0].sum().item())
    with pytest.raises(IndexError):
        sums[1].item()


def test_backward_inside_a_scope() -> None:
    w = weft.ones(2, requires_grad=True)
    with weft.lazy():
        for i in range(3):
            (w * i).sum().backward()
        gradient = w.grad * 1
    assert gradient.tolist() == [3.0, 3.0]


def test_grad_of_grad_inside_a_scope() -> None:
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    with weft.lazy():
        (first,) = weft.autograd.grad((x**3).sum(), [x], create_graph=True)
        (second,) = weft.autograd.grad((first * first).sum(), [x])
    assert second.tolist() == [36.0, 288.0]


class Square(weft.autograd.Function):
    """A function whose derivative is written by hand."""

    @staticmethod
    def forward(ctx: Any, x: weft.Tensor) -> weft.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: weft.Tensor) -> weft.Tensor:
        (x,) = ctx.saved_tensors
        return gradient * 2 * x


def test_functions_inside_a_scope() -> None:
    w = weft.ones(2, requires_grad=True)
    with weft.lazy():
        loss = (Square.apply(w * 3) * 2).sum()
    loss.backward()
    assert w.grad.tolist() == [36.0, 36.0]


def test_checkpoint_inside_a_scope() -> None:
    w = weft.ones(2, requires_grad=True)
    with weft.lazy():
        y = checkpoint(lambda x: (x * w).exp(), w * 2, use_reentrant=False)
        loss = (y * 3).sum()
    loss.backward()
    assert w.grad.numpy() == pytest.approx(12 * np.exp(2.0))


def test_saved_tensors_hooks_inside_a_scope() -> None:
    w = weft.ones(2, requires_grad=True)
    packed: list[tuple[int, ...]] = []

    def pack(x: weft.Tensor) -> weft.Tensor:
        packed.append(tuple(x.shape))
        return x

    with weft.lazy():
        h = w * 2
        with weft.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            y = h.exp()
        loss = (y * 3).sum()
    assert packed == [(2,)]
    loss.backward()
    assert w.grad.numpy() == pytest.approx(6 * np.exp(2.0))


def test_gradient_modes_are_those_of_recording() -> None:
    w = weft.ones(2, requires_grad=True)
    with weft.lazy():
        with weft.no_grad():
            a = w * 2
        with weft.set_grad_enabled(False):
            b = w * 2
        with weft.inference_mode():
            c = w * 2
        d = w * 2
    flags = [t.requires_grad for t in (a, b, c, d)]
    with weft.no_grad():
        _core.run_tensors([a, b, c, d])
    assert flags == [t.requires_grad for t in (a, b, c, d)] == [False, False, False, True]
    assert c.is_inference()
    d.sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_dropout_is_that_of_eager() -> None:
    dropout = nn.Dropout(0.5)
    xs = [weft.ones(20) for _ in range(4)]
    weft.manual_seed(3)
    expected = [dropout(x * 2).tolist() for x in xs]
    weft.manual_seed(3)
    with weft.lazy():
        found = [dropout(x * 2) for x in xs]
    _core.run_tensors(list(reversed(found)))
    assert [y.tolist() for y in found] == expected


def test_batch_norm_is_that_of_eager() -> None:
    modules = [nn.BatchNorm1d(3), nn.BatchNorm1d(3)]
    xs = [weft.randn(4, 3) * (i + 1) for i in range(3)]
    expected = [modules[0](x) for x in xs]
    with weft.lazy():
        found = [modules[1](x) for x in xs]
    for a, b in zip(expected, found, strict=True):
        assert weft.allclose(a, b, atol=1e-6)
    for name, buffer in modules[0].named_buffers():
        assert weft.allclose(dict(modules[1].named_buffers())[name] * 1.0, buffer * 1.0), name


def test_a_cell_that_reads_a_tensor_whose_data_changes() -> None:
    w = weft.ones(2)

    @weft.cell
    def scale(x: weft.Tensor) -> weft.Tensor:
        return x * w

    assert scale(weft.ones(2)).tolist() == [1.0, 1.0]
    w.mul_(2)
    assert scale(weft.ones(2)).tolist() == [2.0, 2.0]
    w.data = weft.ones(2) * 7
    assert scale(weft.ones(2)).tolist() == [7.0, 7.0]


def test_many_writes_run_what_reads_the_written_first() -> None:
    """Who reads what is remembered while nothing runs; values that move are noticed."""

    def run(lazy: bool) -> list[list[float]]:
        rows = weft.map(lambda x: x * 2, [weft.ones(3), weft.ones(3) * 2, weft.ones(3) * 3])
        counters = [weft.zeros(2) for _ in range(3)]
        read: list[weft.Tensor] = []
        with weft.lazy(lazy):
            for i in range(60):
                if i % 7 == 0:
                    read.append(counters[i % 3] * 2 + i)
                if i % 11 == 3:
                    read.append(rows[i % 3] + 1)
                counters[(i + 1) % 3].add_(1)
                if i in (40, 41, 55):
                    rows[i % 3].mul_(10)
                if i == 30:
                    rows[0].numpy()[0] = -1
                if i == 50:
                    read[0].sum().item()
        return [x.tolist() for x in (*read, *rows, *counters)]

    assert run(lazy=True) == run(lazy=False)


def test_a_loss_that_is_added_up_in_place_waits_as_any_other() -> None:
    weight, xs = weft.randn(4, requires_grad=True), [weft.randn(4) for _ in range(8)]

    def run(lazy: bool) -> list[Any]:
        with weft.lazy(lazy):
            loss = weft.tensor(0.0)
            part, before = loss.view(1), loss * 1
            for x in xs:
                loss += (weight * x).tanh().sum()
            shown = weft.zeros(2)
            array = shown.numpy()
            shown += weight[:2]
            same = weft.zeros(2)
            apart = same.detach()
            same += weight[:2]
        (gradient,) = weft.autograd.grad(loss + shown.sum() + same.sum(), weight)
        results = (loss, part, before, shown, weft.tensor(array), apart, gradient)
        return [x.detach() for x in results]

    for found, expected in zip(run(lazy=True), run(lazy=False), strict=True):
        weft.testing.assert_close(found, expected)
    with weft.lazy():
        loss = weft.tensor(0.0)
        for x in xs:
            loss += (weight * x).sum()
        assert _core.is_pending(loss)
        with pytest.raises(weft.GradientError, match="leaf"):
            weight.add_(weight * 2)
        with pytest.raises(weft.DTypeError):
            weft.zeros(4, dtype=weft.int64).add_(weight * 2)
        with pytest.raises(weft.ShapeError):
            weft.zeros(1).add_(weight * 2)
