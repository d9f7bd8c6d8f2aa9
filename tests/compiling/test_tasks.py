"""`weft.map` of compiled functions: tasks that wait for one another, without Python's stack."""

from __future__ import annotations

import contextvars
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import weft
from weft import _core, nn
from weft.batching import mapping


def numbers(count: int) -> list[weft.Tensor]:
    """Return tensors of one element."""
    return [weft.tensor(float(i)) for i in range(count)]


@pytest.fixture
def fibers(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return all fibers that maps make from here on."""
    made: list[object] = []
    original = mapping.greenlet

    def note(*given: Any) -> Any:
        made.append(given[0])
        return original(*given)

    monkeypatch.setattr(mapping, "greenlet", note)
    return made


def halve(x: weft.Tensor) -> tuple[weft.Tensor, int]:
    """Decide by values, a different number of times for each example."""
    steps = 0
    while x > 1:
        x = x * 0.5
        steps += 1
    return x, steps


def test_examples_that_wait_have_one_fiber(fibers: list[object]) -> None:
    expected = weft.map(halve, numbers(40), batch=False)
    assert not fibers
    found = weft.map(weft.compile(halve), numbers(40), batch=True)
    assert len(fibers) == 1
    assert [steps for _, steps in found] == [steps for _, steps in expected]
    assert all(weft.equal(one, other) for (one, _), (other, _) in zip(found, expected, strict=True))


def test_they_wait_together() -> None:
    _core.forget_plans()
    weft.map(weft.compile(halve), numbers(40), batch=True)
    plans = weft.explain(99).plans
    assert len(plans) == 7  # one for each number of steps, and the last results
    assert plans[0].batches[0].rows == 40


@pytest.mark.parametrize("width", [1, 3, 128])
def test_no_more_are_under_way_than_the_width(width: int) -> None:
    under_way, most = set[int](), 0

    def body(i: int) -> float:
        nonlocal most
        under_way.add(i)
        most = max(most, len(under_way))
        x = weft.tensor(float(i)) * 2
        found = x.item() + (x + 1).item()
        under_way.remove(i)
        return found

    assert weft.map(weft.compile(body), range(10), width=width) == [4.0 * i + 1 for i in range(10)]
    assert most == min(width, 10)


def test_effects_come_in_the_same_order_as_in_fibers() -> None:
    def body(i: int) -> float:
        seen.append(("begins", i))
        x = weft.tensor(float(i)) * 2
        if x > 3:
            seen.append(("large", i))
            x = x + 1
            if x > 12:
                seen.append(("larger", i))
        seen.append(("ends", i))
        return x.item()

    orders = []
    for function in (body, weft.compile(body)):
        for width in (2, 5, 128):
            seen: list[tuple[str, int]] = []
            weft.map(function, range(9), width=width, batch=True, replay=False)
            orders.append(seen)
    assert orders[:3] == orders[3:]


def test_python_may_park_inside_a_task(fibers: list[object]) -> None:
    def read(x: weft.Tensor) -> float:  # as Python: it yields
        def values() -> Iterator[float]:
            yield x.item()

        return next(values())

    def body(x: weft.Tensor) -> float:
        y = x * 2
        if y > 3:
            return read(y + 1)
        return y.item()

    _core.forget_plans()
    assert weft.map(weft.compile(body), numbers(12), batch=True) == [0, 2, *range(5, 25, 2)]
    assert len(fibers) > 1
    assert len(weft.explain(99).plans) == 2  # the reads of all run together


def test_maps_inside_maps() -> None:
    @weft.compile
    def inner(y: weft.Tensor) -> weft.Tensor:
        return y - 1 if y > 2 else y * y

    def outer(x: weft.Tensor) -> Any:
        ys = weft.map(inner, [x, x + 1, x + 2])
        return sum(ys) if sum(ys) > 5 else ys[0].item()

    expected = [float(y) for y in weft.map(outer, numbers(6), batch=False)]
    assert [float(y) for y in weft.map(weft.compile(outer), numbers(6))] == expected
    assert [float(y) for y in weft.map(outer, numbers(6))] == expected


def test_the_first_error_is_raised_and_others_end() -> None:
    ended: list[int] = []

    def body(i: int) -> float:
        try:
            x = weft.tensor(float(i)) * 2
            while x < 1000:
                if i == 3 and x > 5:
                    raise ValueError(f"no {i}")
                x = x * 2 + 1
            return x.item()
        finally:
            ended.append(i)

    with pytest.raises(ValueError, match="no 3") as caught:
        weft.map(weft.compile(body), range(6), batch=True)
    assert caught.value.__notes__ == ["in example 3 of weft.map"]
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert lines[-1] == 'raise ValueError(f"no {i}")'
    assert sorted(ended) == [0, 1, 2, 3, 4, 5]
    assert weft.map(lambda x: x * 2 if x > 0 else x, numbers(3))[2] == 4


def test_exceptions_are_given_back() -> None:
    def body(x: weft.Tensor) -> float:
        if x > 2:
            raise KeyError(x.item())
        return x.item()

    found = weft.map(weft.compile(body), numbers(5), return_exceptions=True)
    assert found[:3] == [0, 1, 2]
    assert [repr(error) for error in found[3:]] == ["KeyError(3.0)", "KeyError(4.0)"]


def test_a_value_that_cannot_be_computed_is_blamed_on_its_example() -> None:
    table = weft.ones(3)

    def body(i: int) -> float:
        value = table.index_select(0, weft.tensor([i]))
        return value.sum().item() + 1

    found = weft.map(weft.compile(body), [0, 1, 7, 2], return_exceptions=True)
    assert found[:2] == [2, 2]
    assert isinstance(found[2], IndexError)
    assert found[3] == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_interrupts_end_all(error: type[BaseException]) -> None:
    ended: list[int] = []

    def body(i: int) -> float:
        try:
            x = weft.tensor(float(i)) * 2
            if i == 3:
                raise error
            return x.item()
        finally:
            ended.append(i)

    with pytest.raises(error):
        weft.map(weft.compile(body), range(6))
    assert sorted(ended) == [0, 1, 2, 3]
    assert not mapping.is_running()
    assert weft.map(weft.compile(halve), numbers(3))[2][1] == 1


def test_what_ends_may_still_read_values() -> None:
    ended: list[float] = []

    def body(i: int) -> float:
        x = weft.tensor(float(i)) * 2
        try:
            if x > 7:
                raise ValueError
            while x < 100:
                x = x * 2 + 1
        finally:
            ended.append((x * 0).item())
        return 0.0

    with pytest.raises(ValueError, match="in example 4"):
        weft.map(weft.compile(body), range(6), batch=True)
    assert all(value == 0 for value in ended)


def test_modes_belong_to_the_example() -> None:
    weight = weft.ones(1, requires_grad=True)

    def body(i: int) -> tuple[bool, bool, bool]:
        before = (weight * 2).requires_grad
        with weft.set_grad_enabled(i % 2 == 0):
            inside = weight * i
            if inside > 2:  # others go on
                inside = inside + 1
            recorded = (inside * weight).requires_grad
        return before, recorded, (weight * 2).requires_grad

    found = weft.map(weft.compile(body), range(8), batch=True)
    assert found == [(True, i % 2 == 0, True) for i in range(8)]


def test_random_numbers_belong_to_the_example() -> None:
    def body(x: weft.Tensor) -> list[float]:
        drawn = [weft.rand(()).item()]
        if x + drawn[0] > 2:
            drawn.append(weft.rand(()).item())
        return drawn

    ways: list[Callable[[], list[list[float]]]] = [
        lambda: weft.map(body, numbers(6), batch=False),
        lambda: weft.map(weft.compile(body), numbers(6), batch=True),
        lambda: weft.map(weft.compile(body), numbers(6), batch=True, width=2),
    ]
    results = []
    for way in ways:
        weft.manual_seed(3)
        results.append([way(), weft.rand(2).tolist()])
    assert results[0] == results[1] == results[2]


def test_context_variables_belong_to_the_example() -> None:
    variable = contextvars.ContextVar("variable", default=-1)

    def body(i: int) -> int:
        assert variable.get() == -1
        variable.set(i)
        x = weft.tensor(float(i))
        if x * 2 > 3:
            assert variable.get() == i
        return variable.get()

    assert weft.map(weft.compile(body), range(5), batch=True) == list(range(5))
    assert variable.get() == -1


def test_a_read_inside_a_lock_is_refused() -> None:
    lock = threading.Lock()

    def body(x: weft.Tensor) -> float:
        y = x * 2
        with lock:
            return y.item()

    with pytest.raises(RuntimeError, match="inside a lock"):
        weft.map(weft.compile(body), numbers(3))
    assert not lock.locked()


def test_a_handled_exception_belongs_to_the_example() -> None:
    def body(i: int) -> str:
        try:
            raise KeyError(i)
        except KeyError:
            if weft.tensor(float(i)) * 2 > 3:  # while others handle theirs
                try:
                    raise
                except KeyError as again:
                    return str(again)
        return "-"

    assert weft.map(weft.compile(body), range(5), batch=True) == ["-", "-", "2", "3", "4"]


def test_gradients() -> None:
    weft.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def body(x: weft.Tensor) -> weft.Tensor:
        y = net(x)
        while y.abs() < 1:
            y = y * 2 + net(x)
        return y.sum()

    examples = [weft.randn(3) for _ in range(16)]
    gradients = []
    for function, batch in ((body, False), (weft.compile(body), True)):
        for _ in range(3):
            net.zero_grad()
            weft.stack(weft.map(function, examples, batch=batch)).sum().backward()
        gradients.append([p.grad for p in net.parameters()])
    for one, other in zip(*gradients, strict=True):
        assert one is not None
        assert other is not None
        assert weft.allclose(one, other, rtol=1e-4, atol=1e-4)


def test_modules_with_and_without_hooks() -> None:
    net = nn.Linear(2, 1)
    compiled = weft.compile(net)
    examples = [weft.randn(2) for _ in range(4)]
    expected = [net(x) for x in examples]
    called: list[int] = []
    for owner in (None, net, compiled):
        handle = owner.register_forward_hook(lambda *_: called.append(1)) if owner else None
        found = weft.map(compiled, examples)
        assert all(weft.allclose(a, b) for a, b in zip(found, expected, strict=True))
        assert len(called) == (4 if owner else 0)
        called.clear()
        if handle:
            handle.remove()


def test_examples_that_read_values_where_they_are_made() -> None:
    def examples() -> Iterator[weft.Tensor]:
        total = weft.zeros(())
        for _ in range(6):
            total = total + 1
            yield total * total.item()

    found = weft.map(weft.compile(halve), examples(), batch=True)
    assert [steps for _, steps in found] == [0, 2, 4, 4, 5, 6]


def test_nothing_is_left() -> None:
    def body(x: weft.Tensor) -> float:
        return (x * 2).item()

    compiled = weft.compile(body)
    weft.map(compiled, numbers(50), batch=True)
    before = _core.live_bytes()
    for _ in range(5):
        weft.map(compiled, numbers(50), batch=True)
    assert _core.live_bytes() == before
    assert _core.pending_count() == 0


# ---- Unasked -------------------------------------------------------------------------------------


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try routines from the second map on, twice."""
    monkeypatch.setattr("weft.batching.worth.Engine.fibers", 1)
    monkeypatch.setattr("weft.batching.worth.Engine.tasks", 2)
    monkeypatch.setattr("weft.batching.replaying.Mapped.warm", 2**62)


def ran_instructions(function: Callable[..., Any], examples: Any, **options: Any) -> int:
    """Return how many instructions of routines a map ran."""
    before = _core.routine_counts()[0]
    weft.map(function, examples, **options)
    return _core.routine_counts()[0] - before


def long_steps(x: weft.Tensor) -> weft.Tensor:
    """Have much to record between decisions."""
    for _ in range(4):
        x = (x * 0.5 + 1).tanh().exp().sin().cos() * 2 - 1
        if x.sum() > 50:
            return x
    return x


@pytest.mark.usefixtures("tried")
def test_a_function_is_tried_and_stays_a_routine_where_that_has_less_to_do() -> None:
    def body(x: weft.Tensor) -> weft.Tensor:
        return long_steps(x) + long_steps(x + 1)

    examples = [weft.rand(3) for _ in range(16)]
    ran = [ran_instructions(body, examples) for _ in range(5)]
    assert ran[0] == 0
    assert all(count > 0 for count in ran[1:])
    assert ran_instructions(body, examples, compile=False) == 0
    name = body.__qualname__ + " with gradients"
    assert weft.explain().maps[name].startswith("as tasks of its routine")


@pytest.mark.usefixtures("tried")
def test_it_stays_python_where_that_has_less_to_do() -> None:
    def body(x: weft.Tensor) -> list[int]:
        counts = [0] * 7
        for i in range(200):  # nothing to record
            counts[i % 7] += i // 3
        return [counts[0], int(x.sum() > 1)]

    examples = [weft.rand(3) for _ in range(16)]
    ran = [ran_instructions(body, examples) for _ in range(5)]
    assert ran[0] == 0
    assert ran[1] > 0
    assert ran[3:] == [0, 0]
    name = body.__qualname__ + " with gradients"
    assert weft.explain().maps[name].startswith("Python runs in fibers")


@pytest.mark.usefixtures("tried")
def test_what_calls_python_is_not_tried() -> None:
    class Node:
        def __init__(self, value: weft.Tensor) -> None:
            self.value = value

    def body(x: weft.Tensor) -> weft.Tensor:
        return long_steps(Node(x).value)

    examples = [weft.rand(3) for _ in range(16)]
    assert [ran_instructions(body, examples) for _ in range(4)] == [0] * 4
    assert "not all of it is compiled" in weft.explain().maps[body.__qualname__ + " with gradients"]


@pytest.mark.usefixtures("tried")
def test_what_routines_refuse_at_run_time_is_not_tried() -> None:
    def body(x: weft.Tensor) -> weft.Tensor:
        count, other = 1000 + x.numel(), 1000 + x.numel()
        return long_steps(x) if count is not other else x

    examples = [weft.rand(3) for _ in range(16)]
    assert [ran_instructions(body, examples) for _ in range(4)] == [0] * 4


@pytest.mark.usefixtures("tried")
def test_after_an_exception_python_runs() -> None:
    def body(x: weft.Tensor) -> weft.Tensor:
        if fails:
            raise ValueError("now")
        return long_steps(x)

    fails = False
    examples = [weft.rand(3) for _ in range(16)]
    assert [ran_instructions(body, examples) > 0 for _ in range(4)] == [False, True, True, True]
    fails = True
    with pytest.raises(ValueError, match="now"):
        weft.map(body, examples)
    fails = False
    assert ran_instructions(body, examples) == 0


# ---- Calls that step aside -----------------------------------------------------------------------


def test_calls_that_do_not_pay_are_pythons_for_a_while() -> None:
    _core.let_step_aside(True)

    def count(x: weft.Tensor) -> int:
        total = 0
        for i in range(50):
            total += i % 7
        return total

    compiled, x, asides = weft.compile(count), weft.ones(1), 0
    for call in range(32 + 256 + 16):
        before = _core.routine_counts()[0]
        assert compiled(x) == count(x)
        asides += _core.routine_counts()[0] == before
        assert asides == max(0, min(call - 31, 256))


def test_calls_that_pay_go_on() -> None:
    _core.let_step_aside(True)
    compiled, x = weft.compile(long_steps), weft.rand(3)
    expected = long_steps(x)
    for _ in range(100):
        before = _core.routine_counts()[0]
        assert weft.equal(compiled(x), expected)
        assert _core.routine_counts()[0] > before
