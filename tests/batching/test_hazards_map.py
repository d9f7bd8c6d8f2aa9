"""What could go wrong between fibers: errors, modes, generators, threads, parks in odd places."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from contextvars import ContextVar
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from greenlet import GreenletExit, getcurrent, greenlet

import weft
from weft import _core, nn
from weft.batching.mapping import Hub

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """After every test the library can be used as before."""
    yield
    assert not _core.is_lazy()
    assert weft.is_grad_enabled()
    assert [x.item() for x in weft.map(double, numbers(3))] == [0.0, 2.0, 4.0]


def numbers(count: int) -> list[weft.Tensor]:
    return [weft.tensor(float(i)) for i in range(count)]


def double(x: weft.Tensor) -> weft.Tensor:
    return x * 2 if (x + 1).item() > 0 else x


def park(times: int = 1) -> None:
    """Read a value that is not there yet."""
    for i in range(times):
        (weft.ones(2) * i).sum().item()


# ---- Errors --------------------------------------------------------------------------------------


def test_an_exception_ends_the_others() -> None:
    ended: list[int] = []

    def model(i: int) -> None:
        try:
            park(1 + i)
            if i == 2:
                raise ValueError("two")
            park(100)
        finally:
            ended.append(i)

    with pytest.raises(ValueError, match="two") as caught:
        weft.map(model, range(5))
    assert caught.value.__notes__ == ["in example 2 of weft.map"]
    assert sorted(ended) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("nested", [False, True])
def test_what_is_no_exception_ends_the_map(kind: type[BaseException], nested: bool) -> None:
    ended: list[int] = []

    def model(i: int) -> None:
        try:
            with weft.no_grad():
                park(1 + i)
                if i == 2:
                    raise kind
                park(100)
        finally:
            ended.append(i)

    def outer(_: int) -> list[Any]:
        with weft.no_grad():
            return weft.map(model, range(4))

    with pytest.raises(kind):
        weft.map(outer if nested else model, range(4))
    assert set(ended) == {0, 1, 2, 3}


def test_an_exception_in_a_nested_map_is_that_of_the_example_around() -> None:
    def inner(x: weft.Tensor) -> float:
        if x.sum().item() == 3:
            raise ValueError("three")
        return (x * 2).item()

    def outer(count: int) -> object:
        return weft.map(inner, numbers(count))

    with pytest.raises(ValueError, match="three") as caught:
        weft.map(outer, [2, 5])
    assert caught.value.__notes__ == ["in example 3 of weft.map", "in example 1 of weft.map"]

    def careful(count: int) -> object:
        try:
            return outer(count)
        except ValueError:
            park(2)
            return "caught"

    assert weft.map(careful, [2, 5, 1]) == [[0.0, 2.0], "caught", [0.0]]


def test_a_fiber_that_waits_for_a_nested_map_is_ended_in_order() -> None:
    ended: list[tuple[str, bool]] = []

    def inner(_: int) -> None:
        try:
            park(100)
        finally:
            ended.append(("inner", weft.is_grad_enabled()))

    def outer(i: int) -> None:
        if i == 1:
            park(3)
            raise RuntimeError("outer")
        try:
            with weft.no_grad():
                weft.map(inner, [0, 1])
        finally:
            ended.append(("outer", weft.is_grad_enabled()))

    with pytest.raises(RuntimeError, match="outer"):
        weft.map(outer, [0, 1])
    assert ended == [("inner", False), ("inner", False), ("outer", True)]
    gc.collect()
    assert weft.is_grad_enabled()


@pytest.mark.parametrize("read", [True, False])
def test_errors_of_values_are_those_of_their_example(read: bool) -> None:
    table = nn.Embedding(3, 2)

    def model(i: int) -> Any:
        total = table(weft.tensor(i)).sum()
        return total.item() if read else total

    with pytest.raises(IndexError, match=r"test_hazards_map\.py.*example 2") as caught:
        weft.map(model, [0, 1, 7, 2])
    assert caught.value.__notes__ == ["in example 2 of weft.map"]
    results = weft.map(model, [0, 1, 7, 2], return_exceptions=True)
    assert isinstance(results[2], IndexError)
    expected = weft.map(model, [0, 1, 2], batch=False)
    for a, b in zip([results[i] for i in (0, 1, 3)], expected, strict=True):
        assert float(a) == pytest.approx(float(b))


def test_a_fiber_may_catch_an_error_of_a_value() -> None:
    table = nn.Embedding(3, 2)

    def model(i: int) -> int:
        try:
            table(weft.tensor(i)).sum().item()
        except IndexError:
            return -i
        return i

    assert weft.map(model, [0, 1, 7, 2]) == [0, 1, -7, 2]


# ---- Examples ------------------------------------------------------------------------------------


@pytest.mark.parametrize("nested", [False, True])
def test_a_generator_that_reads_values(nested: bool) -> None:
    def source() -> Iterator[weft.Tensor]:
        x = weft.tensor(0.0)
        while (x * 1).item() < 10:
            yield x
            x = x + 1

    def model(x: weft.Tensor) -> float:
        park(int(x.item()) % 3)
        return (x * 2).item()

    expected = [2.0 * i for i in range(10)]
    if nested:
        assert weft.map(lambda _: weft.map(model, source(), width=3), range(3)) == [expected] * 3
    else:
        assert weft.map(model, source(), width=3) == expected


@pytest.mark.parametrize("nested", [False, True])
def test_a_generator_that_fails(nested: bool) -> None:
    def source() -> Iterator[int]:
        yield from range(5)
        raise KeyError("no more")

    def model(_: int) -> None:
        park(2)

    def outer(_: int) -> str:
        with pytest.raises(KeyError, match="no more"):
            weft.map(model, source(), width=2)
        return "caught"

    if nested:
        assert weft.map(outer, range(2)) == ["caught", "caught"]
    else:
        assert outer(0) == "caught"


def test_a_generator_that_maps() -> None:
    def source() -> Iterator[weft.Tensor]:
        for i in range(6):
            yield weft.stack(weft.map(double, numbers(i + 1))).sum()

    assert [x.item() for x in weft.map(double, source(), width=2)] == [
        2.0 * i * (i + 1) for i in range(6)
    ]


@pytest.mark.parametrize("width", [1, 2, 100])
def test_no_examples_and_any_results(width: int) -> None:
    assert weft.map(double, [], width=width) == []
    assert weft.map(lambda i: None if i else {"a": weft.ones(1)}, range(3), width=width)[1] is None
    with pytest.raises(ValueError, match="width"):
        weft.map(double, [], width=0)


# ---- Modes ---------------------------------------------------------------------------------------


def test_fibers_parked_in_different_modes() -> None:
    w = weft.ones(2, requires_grad=True)

    def model(i: int) -> list[bool]:
        seen: list[bool] = []
        mode: Any = (weft.no_grad, weft.enable_grad, weft.inference_mode)[i % 3]
        with mode():
            park(1 + i)
            seen.append((w * 2).requires_grad)
            with weft.set_grad_enabled(i % 2 == 0):
                park(2)
                seen.append(weft.is_grad_enabled())
        park(1)
        seen.append((w * 3).requires_grad)
        return seen

    expected = weft.map(model, range(6), batch=False)
    assert weft.map(model, range(6)) == expected
    with weft.no_grad():
        expected = weft.map(model, range(6), batch=False)
        assert weft.map(model, range(6)) == expected


def test_examples_see_the_context_around_the_map_and_have_one_of_their_own() -> None:
    user: ContextVar[int] = ContextVar("user")
    user.set(5)

    def model(i: int) -> list[int]:
        seen = [user.get()]
        token = user.set(i)
        park(1 + i)
        seen.append(user.get())
        user.reset(token)
        return [*seen, user.get()]

    expected = [[5, i, 5] for i in range(4)]
    assert weft.map(model, range(4), batch=False) == weft.map(model, range(4)) == expected

    def forgets(x: weft.Tensor) -> tuple[int, float]:
        seen = user.get()
        user.set(9)
        return seen, x.item()

    def examples() -> Iterator[weft.Tensor]:
        for x in numbers(3):
            token = user.set(int(x.item()))
            yield x * 2
            user.reset(token)

    for batch in (False, True):
        assert [seen for seen, _ in weft.map(forgets, numbers(3), batch=batch)] == [5, 5, 5]
        assert [seen for seen, _ in weft.map(forgets, examples(), batch=batch)] == [0, 1, 2]
    assert user.get() == 5
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide"):
        weft.map(lambda x: np.float64(1.0) / np.float64(x.item()), numbers(3))


def test_switches_of_one_example_do_not_reach_others() -> None:
    graph = weft.autograd.graph

    def model(i: int) -> list[bool]:
        seen: list[bool] = []
        for mode in (graph.disable_saved_tensors_hooks("no"), weft.autograd.set_detect_anomaly):
            with (mode(True) if callable(mode) else mode) if i % 2 else nullcontext():
                park(1 + i)
                seen.append(weft.autograd.is_anomaly_enabled())
                try:
                    with graph.saved_tensors_hooks(lambda x: x, lambda x: x):
                        seen.append(True)
                except RuntimeError:
                    seen.append(False)
        return seen

    expected = [[False, True] * 2, [False, False, True, True]] * 2
    assert weft.map(model, range(4), batch=False) == weft.map(model, range(4)) == expected


def test_the_default_dtype_of_one_example_is_not_the_others() -> None:
    def model(i: int) -> list[weft.dtype]:
        before = weft.get_default_dtype()
        if i % 2:
            weft.set_default_dtype(weft.float64)
        try:
            park(1 + i)
            made = [weft.zeros(1), weft.tensor([1, 2]) / 2, weft.eye(2) @ weft.ones(2)]
            park(1 + i)
            return [x.dtype for x in made] + [(x + 1).clone().dtype for x in made]
        finally:
            weft.set_default_dtype(before)

    expected = [[weft.float64 if i % 2 else weft.float32] * 6 for i in range(4)]
    assert weft.map(model, range(4), batch=False) == weft.map(model, range(4)) == expected
    assert weft.get_default_dtype() == weft.float32


def test_what_is_pending_keeps_the_default_dtype_that_it_was_recorded_with() -> None:
    with weft.lazy():
        for _ in range(3):
            narrow = [weft.zeros(2), weft.arange(3) / 2, weft.tensor([1, 2]).exp()]
            weft.set_default_dtype(weft.float64)
            try:
                wide = [weft.zeros(2), weft.arange(3) / 2, weft.tensor([1, 2]).exp()]
            finally:
                weft.set_default_dtype(weft.float32)
            assert [x.numpy().dtype for x in narrow] == ["float32"] * 3
            assert [x.numpy().dtype for x in wide] == ["float64"] * 3
            assert _core.is_pending(weft.zeros(2) + 1)


def test_looking_at_a_body_draws_no_numbers() -> None:
    def inner(x: weft.Tensor) -> weft.Tensor:
        return x + weft.rand(1)

    examples = [weft.zeros(1)] * 100
    runs: list[list[float]] = []
    for batch in (False, True, True):
        weft.manual_seed(0)
        inner_of = FunctionType(inner.__code__, inner.__globals__)  # never mapped before
        nested = weft.map(
            lambda _, b=batch, f=inner_of: weft.map(f, examples, batch=b), range(6), batch=batch
        )
        runs.append([x.item() for one in nested for x in one] + weft.rand(2).tolist())
    assert runs[0] == runs[1] == runs[2]

    total = weft.cell(lambda x: sum(weft.map(lambda v: v * 2, [x, x + 1])))
    after: list[float] = []
    for _ in range(3):
        weft.manual_seed(0)
        total(weft.ones(2))
        after.append(weft.rand(1).item())
    assert len(set(after)) == 1


def test_anomalies_are_looked_for_where_an_example_says_so() -> None:
    autograd = weft.autograd

    def switch_on(x: weft.Tensor) -> bool:
        before = autograd.is_anomaly_enabled()
        autograd.set_detect_anomaly(True)
        (x * 2).item()
        return before

    def switch_off(x: weft.Tensor) -> float:
        with autograd.set_detect_anomaly(False):
            return (x * 2).item()

    for batch in (False, True):
        assert weft.map(switch_on, numbers(3), batch=batch) == [False] * 3
        assert not autograd.is_anomaly_enabled()
    with autograd.set_detect_anomaly(True):
        assert weft.map(switch_off, numbers(3)) == [0.0, 2.0, 4.0]
        assert autograd.is_anomaly_enabled()


def test_a_seed_of_one_example_is_not_the_others() -> None:
    def model(i: int) -> list[float]:
        before = weft.rand(1).item()
        weft.manual_seed(i % 2)
        numbers = [weft.rand(1).item()]
        state = weft.get_rng_state()
        for _ in range(2):
            park(1 + i)
            numbers.append(weft.rand(1).item())
        weft.set_rng_state(state)
        park(1 + i)
        numbers += [weft.rand(1).item(), weft.rand(1).item()]
        return [before, *numbers, weft.initial_seed()]

    weft.manual_seed(7)
    expected, after = weft.map(model, range(4), batch=False), weft.rand(2).tolist()
    weft.manual_seed(7)
    assert weft.map(model, range(4)) == expected
    assert weft.rand(2).tolist() == after
    assert expected[0][1:4] == expected[2][1:4]
    assert expected[0][2:4] == expected[0][4:6]
    weft.manual_seed(1)
    assert [weft.rand(1).item() for _ in range(3)] == expected[1][1:4]


def test_map_inside_lazy_and_lazy_inside_map() -> None:
    def model(x: weft.Tensor) -> weft.Tensor:
        with weft.lazy():
            y = x * 2
            park()
        with weft.lazy(enabled=False):
            z = y + 1
            assert not _core.is_pending(z)
        assert _core.is_lazy()
        return z if z.item() > 2 else -z

    with weft.lazy():
        before = weft.ones(1) * 3
        results = weft.map(model, numbers(4))
        assert _core.is_lazy()
        after = weft.stack(results).sum() + before
        assert _core.is_pending(after)
    assert after.tolist() == [-1.0 + 3 + 5 + 7 + 3]


def test_one_by_one_inside_a_fiber() -> None:
    def outer(i: int) -> list[float]:
        results = weft.map(double, numbers(i), batch=False)
        assert not any(_core.is_pending(x) for x in results)
        return [x.item() for x in results]

    assert weft.map(outer, range(3)) == [[], [0.0], [0.0, 2.0]]


def test_deep_recursion_in_fibers() -> None:
    def descend(depth: int, x: weft.Tensor) -> float:
        if depth == 0:
            return (x * 2).item()
        below = descend(depth - 1, x)
        return below + (1 if depth % 50 == 0 and (x + depth).item() > 0 else 0)

    assert weft.map(lambda x: descend(500, x), numbers(4)) == [10.0, 12.0, 14.0, 16.0]


def test_two_threads_map_at_once() -> None:
    w = weft.randn(64, 64) / 8
    results: dict[int, object] = {}

    def model(x: weft.Tensor) -> int:
        steps = 0
        while x.abs().sum() > 1:
            x = (x @ w).tanh() / 2
            steps += 1
        return steps

    def run(k: int) -> None:
        for _ in range(3):
            results[k] = weft.map(model, [weft.ones(300, 64) * i for i in range(1, 6)])

    run(0)
    expected = results[0]
    threads = [threading.Thread(target=run, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: expected, 1: expected}


# ---- Gradients inside, randomness, state ---------------------------------------------------------


class Cube(weft.autograd.Function):
    """A function whose backward reads a value."""

    @staticmethod
    def forward(ctx: Any, x: weft.Tensor) -> weft.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, gradient: weft.Tensor) -> weft.Tensor:
        (x,) = ctx.saved_tensors
        factor = 3.0 if (x * 0).sum().item() == 0 else 0.0
        return gradient * factor * x * x


def test_functions_and_inner_gradients() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)

    def model(i: int) -> weft.Tensor:
        y = (Cube.apply(w * i) * 2).sum()
        (first,) = weft.autograd.grad((w**3).sum() * i, [w], create_graph=True)
        return y + first.sum() if y.item() > 50 else y

    weft.stack(weft.map(model, range(1, 4), batch=False)).sum().backward()
    expected = w.grad.tolist()
    w.grad = None
    weft.stack(weft.map(model, range(1, 4))).sum().backward()
    assert w.grad.tolist() == expected


def test_backward_that_parks() -> None:
    w = weft.ones(2, requires_grad=True)

    def model(i: int) -> weft.Tensor:
        later = weft.ones(2) * i
        h, v = w * i, w * (i + 1)
        h.register_hook(lambda gradient: gradient * (later + i).sum().item())
        loss = (h * h).sum() + (v * v * v).sum()
        (gradient,) = weft.autograd.grad(loss, [w])
        return gradient

    expected = [g.tolist() for g in weft.map(model, range(1, 5), batch=False)]
    assert [g.tolist() for g in weft.map(model, range(1, 5))] == expected


def test_dropout_belongs_to_the_seed() -> None:
    dropout = nn.Dropout(0.5)

    def model(x: weft.Tensor) -> weft.Tensor:
        y = dropout(x)
        park()
        return dropout(y + 1)

    def run(**options: Any) -> list[list[float]]:
        weft.manual_seed(5)
        return [y.tolist() for y in weft.map(model, [weft.ones(16)] * 6, **options)]

    first = run()
    assert run() == first
    assert len({tuple(row) for row in first}) == 6
    kept = sum(value != 0 for row in first for value in row) / (6 * 16)
    assert 0.25 < kept < 0.75


@pytest.mark.parametrize("options", [{"batch": False}, {"width": 1}, {"width": 2}])
def test_dropout_of_an_example_does_not_depend_on_how_it_runs(options: dict[str, Any]) -> None:
    """Example i of a map owns its own stream (DESIGN.md, section 7)."""
    dropout = nn.Dropout(0.5)

    def model(i: int) -> list[float]:
        y = dropout(weft.ones(16))
        park(i)
        return dropout(y + 1).tolist()

    weft.manual_seed(5)
    expected = weft.map(model, range(4))
    weft.manual_seed(5)
    assert weft.map(model, range(4), **options) == expected


@pytest.mark.parametrize("parks", [False, True])
def test_batch_norm_counts_every_example(parks: bool) -> None:
    modules = [nn.BatchNorm1d(3), nn.BatchNorm1d(3)]
    xs = [weft.randn(4, 3) * (i + 1) for i in range(3)]

    def model(module: nn.Module) -> Callable[[weft.Tensor], weft.Tensor]:
        def run(x: weft.Tensor) -> weft.Tensor:
            if parks:
                park(2)
            return module(x)

        return run

    expected = weft.map(model(modules[0]), xs, batch=False)
    found = weft.map(model(modules[1]), xs)
    for a, b in zip(expected, found, strict=True):
        assert weft.allclose(a, b, atol=1e-6)
    assert modules[1].num_batches_tracked.item() == 3
    assert weft.allclose(modules[1].running_mean, modules[0].running_mean, atol=1e-6)
    assert weft.allclose(modules[1].running_var, modules[0].running_var, atol=1e-6)


# ---- Writes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("parks", [False, True])
@pytest.mark.parametrize(
    "write",
    [
        lambda table, i, row: table.index_copy_(0, i, row),
        lambda table, i, row: table.index_add_(0, i, row),
        lambda table, i, _: table.index_fill_(0, i, 7.0),
        lambda table, i, row: table[:].index_add_(0, i, row),
        lambda table, i, row: table.view(2, 2, 2)[:, 0].index_copy_(0, i // 2, row),
        lambda table, i, row: table.index_put_((i,), row),
        lambda table, i, row: table.scatter_(0, i.expand(1, 2), row),
        lambda table, _, row: table.add_(row),
        lambda table, i, _: table.masked_fill_(weft.arange(4).eq(i)[:, None], 7.0),
        lambda table, _, row: weft.add(table, row, out=table),
        lambda table, _, row: weft.mul(table, row, out=table),
        lambda table, *_: table.apply_(lambda number: number + 2),
        lambda table, _, row: table.map_(row, lambda a, b: a + b),
    ],
    ids=[
        "index_copy_",
        "index_add_",
        "index_fill_",
        "of a view",
        "of a view of a view",
        "index_put_",
        "scatter_",
        "add_",
        "mask",
        "composite, out",
        "op, out",
        "apply_",
        "map_",
    ],
)
def test_no_write_to_a_shared_tensor_is_lost(write: Callable[..., object], parks: bool) -> None:
    def run(batch: bool) -> list[list[float]]:
        table = weft.ones(4, 2)

        def model(number: int) -> None:
            if parks:
                park()
            row = weft.full((1, 2), float(number)) * 2 + 1
            write(table, weft.tensor([number]), row)

        weft.map(model, range(4), batch=batch)
        return table.tolist()

    assert run(batch=True) == run(batch=False)


def test_a_written_tensor_knows_the_writes_of_all_examples() -> None:
    def run(batch: bool) -> tuple[list[float], list[float]]:
        weight, start = weft.tensor([1.0, 2.0]), weft.tensor([3.0, 4.0])
        weight.requires_grad_()
        start.requires_grad_()
        shared = start * 1.0
        weft.map(
            lambda x: shared.mul_(weight * x), [weft.tensor(i + 1.0) for i in range(3)], batch=batch
        )
        shared.sum().backward()
        return weight.grad.tolist(), start.grad.tolist()

    assert run(batch=True) == run(batch=False)


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "Rprop", "NAdam", "ASGD", "RMSprop", "Adagrad", "RAdam"]
)
def test_examples_step_one_after_the_other(name: str) -> None:
    def run(batch: bool) -> float:
        weight = nn.Parameter(weft.ones(1))
        optimizer = getattr(weft.optim, name)([weight], lr=0.1)

        def model(x: weft.Tensor) -> None:
            weight.grad = x * 2
            optimizer.step()

        weft.map(model, [weft.ones(1)] * 4, batch=batch)
        return weight.item()

    assert run(batch=True) == run(batch=False)


def test_examples_average_models_one_after_the_other() -> None:
    average = weft.optim.swa_utils.AveragedModel(nn.Linear(1, 1, bias=False))

    def take(number: float) -> None:
        model = nn.Linear(1, 1, bias=False)
        nn.init.constant_(model.weight, number)
        average.update_parameters(model)

    weft.map(take, [1.0, 2.0, 3.0, 4.0])
    assert average.module.weight.item() == 2.5


@pytest.mark.parametrize("make", [nn.utils.spectral_norm, nn.utils.parametrizations.spectral_norm])
def test_each_example_iterates_a_spectral_norm(make: Callable[..., nn.Module]) -> None:
    def run(batch: bool) -> list[weft.Tensor]:
        weft.manual_seed(0)
        layer = make(nn.Linear(8, 6))
        return weft.map(lambda x: layer(x).sum(), [weft.ones(8)] * 4, batch=batch)

    for a, b in zip(run(batch=True), run(batch=False), strict=True):
        assert weft.allclose(a, b, atol=1e-6)


def test_a_lazy_module_is_made_once() -> None:
    layer = nn.LazyLinear(2)
    results = weft.map(layer, [weft.ones(3) * i for i in range(4)])
    assert type(layer) is nn.Linear
    assert weft.allclose(results[2], layer(weft.ones(3) * 2))


class Parking(nn.Module):
    """A weight that is read after a park."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(weft.ones(2))

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        park()
        result = (self.weight * x).sum()
        park()
        return result * self.weight.sum()


def test_functional_calls_of_examples_do_not_meet() -> None:
    model = Parking()
    own = model.weight

    def call(i: int) -> weft.Tensor:
        if i == 2:
            return model(weft.ones(2))
        return weft.func.functional_call(model, {"weight": weft.full((2,), float(i))}, weft.ones(2))

    assert [result.item() for result in weft.map(call, range(4))] == [0.0, 4.0, 4.0, 36.0]
    assert model.weight is own
    with pytest.raises(ZeroDivisionError):  # the other is ended while it waits
        weft.map(lambda i: call(1) if i else 1 // 0, range(2))
    assert model.weight is own


def test_a_map_inside_a_functional_call_sees_its_parameters() -> None:
    class Nested(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(weft.ones(1))

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            def scaled(y: weft.Tensor) -> weft.Tensor:
                park()
                return (y * self.weight).sum()

            return weft.stack(weft.map(scaled, [x, x])).sum()

    model = Nested()
    own = model.weight

    def call(i: int) -> weft.Tensor:
        if i == 1:
            return model(weft.ones(1))
        return weft.func.functional_call(model, {"weight": weft.full((1,), float(i))}, weft.ones(1))

    assert [result.item() for result in weft.map(call, range(4))] == [0.0, 2.0, 4.0, 6.0]
    assert model.weight is own


@pytest.mark.parametrize(
    "write",
    [
        lambda table: table.apply_(lambda number: number + 10),
        lambda table: weft.add(table, 10, out=table),
        lambda table: weft.addcmul(table, weft.ones(3), weft.full((3,), 10.0), out=table),
        lambda table: table[:].index_add_(0, weft.arange(3), weft.full((3,), 10.0)),
    ],
    ids=["apply_", "composite, out", "op, out", "of a view"],
)
def test_no_write_to_what_is_still_pending_is_lost(write: Callable[..., object]) -> None:
    def run(batch: bool) -> list[float]:
        shared: list[weft.Tensor] = []

        def model(i: int) -> None:
            if i == 0:
                shared.append(weft.ones(3) * 1.0)
            for _ in range(3):
                if i % 2:
                    shared[0].add_(1)
                else:
                    write(shared[0])
                park()

        weft.map(model, range(4), batch=batch)
        return shared[0].tolist()

    assert run(batch=True) == run(batch=False)


def test_what_one_example_cached_is_not_seen_by_others() -> None:
    class Double(nn.Module):
        def forward(self, x: weft.Tensor) -> weft.Tensor:
            return x * 2

    parametrize = nn.utils.parametrize
    layer = parametrize.register_parametrization(nn.Linear(2, 1), "weight", Double())

    def model(i: int) -> weft.Tensor:
        if i == 1:
            with weft.no_grad():
                return layer(weft.ones(2))
        with parametrize.cached():
            park()
            return layer(weft.ones(2))

    results = weft.map(model, range(3))
    assert [result.requires_grad for result in results] == [True, False, True]
    assert parametrize._caches == []


def test_what_draws_before_the_first_example_draws_from_the_same_stream() -> None:
    def run(batch: bool) -> list[Any]:
        weft.manual_seed(0)
        data = weft.utils.data.TensorDataset(weft.arange(4.0))
        loader = weft.utils.data.DataLoader(data, batch_size=2, shuffle=True)
        return [x.tolist() for x in weft.map(lambda _: weft.rand(1), loader, batch=batch)]

    assert run(batch=True) == run(batch=False)


@pytest.mark.parametrize("name", ["diagonal", "trace", "diag"])
def test_a_view_lies_where_its_written_base_does(name: str) -> None:
    def model(x: weft.Tensor) -> weft.Tensor:
        whole = x * 2
        view = whole[0]
        view.sum().item()
        whole.add_(1)
        return getattr(view, name)()

    xs = [(weft.arange(4.0).view(1, 2, 2) + i).requires_grad_() for i in range(3)]
    for a, b in zip(weft.map(model, xs), weft.map(model, xs, batch=False), strict=True):
        assert weft.equal(a, b)


def test_writes_to_empty_tensors_of_examples_are_no_change() -> None:
    def model(x: weft.Tensor) -> weft.Tensor:
        y = x * 1
        y.sum().item()
        return y.exp_().sum()

    xs = [weft.zeros(0, 4, requires_grad=True) for _ in range(3)]
    weft.stack(weft.map(model, xs)).sum().backward()
    assert [x.grad.shape for x in xs] == [(0, 4)] * 3


def test_an_embedding_shortens_the_rows_that_all_examples_looked_up() -> None:
    def run(batch: bool) -> list[float]:
        weft.manual_seed(0)
        table = nn.Embedding(6, 4, max_norm=0.5)
        weft.map(lambda word: table(weft.tensor(word)).sum(), [0, 3, 3, 5], batch=batch)
        return table.weight.norm(dim=1).tolist()

    assert run(batch=True) == run(batch=False)


def write_slice(x: weft.Tensor) -> None:
    x[1:] += 10


def write_element(x: weft.Tensor) -> None:
    x[1] = 10.0


def write_view(x: weft.Tensor) -> None:
    x.view(3, 1).mul_(2)


def write_mask(x: weft.Tensor) -> None:
    x[weft.tensor([True, False, True])] = -1.0


def write_whole(x: weft.Tensor) -> None:
    x.mul_(3)


@pytest.mark.parametrize(
    "write",
    [write_slice, write_element, write_view, write_mask, write_whole],
)
@pytest.mark.parametrize("parks", [False, True])
def test_writes_in_a_map(write: Callable[[weft.Tensor], None], parks: bool) -> None:
    def model(i: int) -> weft.Tensor:
        x = weft.ones(3) * i
        if parks:
            x.sum().item()
        write(x)
        return x

    expected = [x.tolist() for x in weft.map(model, range(1, 4), batch=False)]
    assert [x.tolist() for x in weft.map(model, range(1, 4))] == expected


def test_writes_through_a_detached_tensor() -> None:
    def run(x: weft.Tensor) -> weft.Tensor:
        y = x * 2
        y.detach().mul_(0)
        return y * 1

    assert [y.tolist() for y in weft.map(run, [weft.ones(2), weft.ones(2) * 3])] == [[0.0, 0.0]] * 2


def write_detached(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    y = x * 2
    d = y.detach()
    y.add_(1)
    return y, d, d * 1


def write_after_computing(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    y = x * 2
    d = y.data
    first = d * 1
    assert y.sum().item() == d.sum().item()
    d[0] = 7.0
    return y, first, d


def write_a_view(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    y = (x * 2).reshape(1, 2)
    part = y[0]
    d, whole = part.detach(), y.detach()
    part.mul_(3)
    whole[:, 1:] += 1
    again = d[:1].detach()
    again.sub_(5)
    return y, part, d, whole, again


def write_through_a_second_one(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    first = (x * 2).detach()
    second = first.detach()
    second.zero_()
    return first, second, first + 1


def write_with_gradients(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    w = weft.ones(2, requires_grad=True)
    y = w * x
    z = y * 2
    y.detach().mul_(5)
    (y * y.detach()).sum().backward()
    assert w.grad is not None
    return y.detach(), z.detach(), w.grad, weft.tensor([y.requires_grad, z.requires_grad])


def write_numpy(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    y = x * 2
    d = y.detach()
    d.numpy()[1] = 9
    y.data = weft.zeros(2)
    d += 1
    return y, d


def write_when_the_first_is_gone(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    y = x * 2
    first, second = y.detach(), y.detach()
    z = y + 1
    del y
    first.mul_(3)
    return first, z, second * 0


def detach_what_was_computed(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    y = x * 2
    d = y.detach()
    if d.sum() > -1:
        d.data.add_(1)
    h = y * 1
    first = h.detach()
    first.sum().item()
    second = h.detach()
    second.add_(1)
    return y, d, h, first, second


def write_a_view_that_was_computed(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    y = x.repeat(2) * 1
    part = y[1:3]
    part.tolist()
    part.detach().fill_(9.0)
    return y, part


def write_when_the_root_is_gone(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    y = x * 2
    first, second, part = y.detach(), y.detach(), y[:1].detach()
    del y
    first.add_(10)
    return first, second, part


def require_gradients_of_a_view(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    y = x.repeat(2).reshape(2, 2) * 2
    part = y[0].requires_grad_()
    (part * part).sum().backward()
    assert part.grad is not None
    return part, part.grad, weft.tensor(part.shape)


def replace_data(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    w = weft.ones(2, requires_grad=True)
    y = (w * x).exp()
    y.data = weft.zeros(2)
    y.sum().backward()
    assert w.grad is not None
    return y.detach(), weft.tensor(y.requires_grad)


def move_what_a_view_by_strides_sees(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
    y = x.repeat(2).reshape(2, 2) * 2
    y.tolist()
    first = y.diagonal()
    y.detach()
    second = y.as_strided((2,), (2,), y.storage_offset() + 1)
    y.add_(1)
    return first, second, y


@pytest.mark.parametrize(
    "run",
    [
        move_what_a_view_by_strides_sees,
        detach_what_was_computed,
        write_a_view_that_was_computed,
        write_when_the_root_is_gone,
        require_gradients_of_a_view,
        replace_data,
        write_detached,
        write_after_computing,
        write_a_view,
        write_through_a_second_one,
        write_with_gradients,
        write_numpy,
        write_when_the_first_is_gone,
    ],
)
def test_what_is_detached_shares_memory_that_is_not_there_yet(
    run: Callable[[weft.Tensor], tuple[weft.Tensor, ...]],
) -> None:
    examples = [weft.tensor([1.0, float(i)]) for i in range(5)]
    expected = [[y.tolist() for y in run(x)] for x in examples]
    assert [[y.tolist() for y in ys] for ys in weft.map(run, examples)] == expected
    with weft.lazy():
        assert [[y.tolist() for y in run(x)] for x in examples] == expected
        later = [run(x) for x in examples]
    assert [[y.tolist() for y in ys] for ys in later] == expected


def test_the_first_of_several_that_fail_is_raised() -> None:
    def run(x: weft.Tensor) -> weft.Tensor:
        if x.item() > 1:
            raise KeyError(x.item())
        if (x * 2).item() < 1:
            return x
        if (x * 3).item() == 3:  # later than the others, and before them in the list
            raise ValueError("the first")
        return x

    for batch in (True, False):
        with pytest.raises(ValueError, match="the first"):
            weft.map(run, [weft.tensor(float(i)) for i in range(4)], batch=batch)


def test_maps_inside_many_examples_that_wait() -> None:
    def outer(x: weft.Tensor) -> weft.Tensor:
        return weft.map(double, [x])[0] if x > -1 else x

    results = weft.map(outer, numbers(1500))
    assert [x.item() for x in results] == [2.0 * i for i in range(1500)]


def test_the_exception_that_ends_greenlets_is_the_examples_own() -> None:
    def model(x: weft.Tensor) -> weft.Tensor:
        if x > 2:
            raise GreenletExit
        return x

    with pytest.raises(GreenletExit) as caught:
        weft.map(model, numbers(5))
    assert caught.value.__notes__ == ["in example 3 of weft.map"]


@pytest.mark.parametrize("replay", [True, False])
def test_a_map_that_maps_itself_without_end(replay: bool) -> None:
    def descend(x: weft.Tensor) -> Any:
        return weft.map(descend, [x], replay=replay)

    with pytest.raises(RecursionError, match="maps are inside one another"):
        weft.map(descend, numbers(2), replay=replay)


@pytest.mark.parametrize("fails", [False, True])
def test_a_map_leaves_nothing_to_the_garbage_collector(fails: bool) -> None:
    def body(x: weft.Tensor) -> float:
        if fails and x.item() > 1:
            raise ValueError("too large")
        return sum(weft.map(lambda y: (y * x).item(), [x, x]))

    gc.collect()
    gc.disable()
    try:
        with pytest.raises(ValueError, match="large") if fails else nullcontext():
            weft.map(body, numbers(3), replay=False)
        left = [one for one in gc.get_objects() if type(one) is greenlet and one.dead]
        assert not left
        main = getcurrent()
        hubs = [one for one in gc.get_referrers(main) if isinstance(one, Hub)]
        assert not hubs
    finally:
        gc.enable()
