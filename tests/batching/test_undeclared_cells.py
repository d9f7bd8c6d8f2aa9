"""Functions that are mapped often and seen to be pure become cells; nobody can tell."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import random
import sys
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.batching.replaying import Mapped

# Strands begin at once here, and so do cells.
pytestmark = [pytest.mark.filterwarnings("ignore:more than 20 plans"), pytest.mark.strands]
F = nn.functional


def vectors(count: int = 6) -> list[Any]:
    return list(weft.randn(count, 3, generator=weft.Generator().manual_seed(2)))


def is_cell(function: Any) -> bool:
    known = function.__dict__.get("_weft_mapped")
    return known is not None and known.cell is not None and not (known.is_off or known.failures)


def check(function: Any, examples: list[Any] | None = None, *, cell: bool) -> None:
    """Map it again and again; it must give what it gives one by one, as a cell or not."""
    examples = vectors() if examples is None else examples
    for _ in range(3):
        expected = weft.map(function, examples, batch=False)
        found = weft.map(function, examples)
        for one, other in zip(found, expected, strict=True):
            assert weft.allclose(one, other, rtol=1e-5)
    assert is_cell(function) == cell


# ---- What is seen to be pure ---------------------------------------------------------------------

SCALE = 2.0
WEIGHT = weft.randn(3, 3, generator=weft.Generator().manual_seed(3))


def helper(x: Any, factor: float = 0.5) -> Any:
    return (WEIGHT @ x).tanh() * factor


def descend(x: Any, depth: int) -> Any:
    if depth == 0 or x.sum() > 3:
        return x * SCALE
    return descend(helper(x), depth - 1) + x


def test_functions_that_compute_and_decide() -> None:
    def plain(x: Any) -> Any:
        parts = [helper(x), F.silu(x), weft.stack([x, x * math.sqrt(2)]).sum(0)]
        total = sum(part * i for i, part in enumerate(parts))
        steps = 0
        while (total * total).sum() > 0.5:
            total = total * 0.7
            steps += 1
        best = total.argmax().item()
        return total[best] + len(parts) * min(steps, 3) - x.shape[0]

    check(plain, cell=True)
    check(lambda x: descend(x, 3), cell=True)
    check(lambda pair: pair[0] * pair[1] if pair[0][0] > 0 else -pair[0], _pairs(), cell=True)


def _pairs() -> list[Any]:
    return [(x, i * 0.5) for i, x in enumerate(vectors())]


class Router(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(3, 4)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(4))
        self.register_buffer("shift", weft.zeros(3))
        self.factor = 1.5

    def weigh(self, x: Any) -> Any:
        return x * self.factor + self.shift

    def forward(self, token: Any) -> Any:
        scores = self.router(token)
        chosen = scores.argmax().item()
        for number, expert in enumerate(self.experts):
            if number == chosen:
                token = token + expert(token) * scores.softmax(-1)[number]
        return self.weigh(token).mean()


def test_modules_and_what_changes_in_them() -> None:
    model = Router()
    check(model, cell=True)
    with weft.no_grad():
        model.shift.fill_(3.0)
        model.router.weight.neg_()
    check(model, cell=True)
    model.factor = -1.0
    check(model, cell=True)
    model.experts[0] = nn.Identity()
    check(model, cell=True)
    model.eval()
    check(model, cell=True)


def test_methods_that_are_exchanged() -> None:
    class Own(Router):
        pass

    model = Own()
    check(model, cell=True)
    Own.weigh = lambda self, x: x - self.factor
    check(model, cell=True)
    Own.forward = lambda self, x: self.router(x).sum()
    check(model, cell=True)
    model.forward = lambda x: x.sum() * 2
    check(model, cell=True)  # what it was, but that does not run
    assert weft.map(model, [weft.ones(3)])[0].item() == 6


def test_hooks_are_called() -> None:
    model = Router()
    check(model, cell=True)
    calls: list[int] = []
    inner = model.router.register_forward_hook(lambda *_: calls.append(1))
    weft.map(model, vectors())
    assert len(calls) == 6
    inner.remove()
    outer = model.register_forward_pre_hook(lambda *_: calls.append(1))
    weft.map(model, vectors())
    assert len(calls) == 12
    outer.remove()


def test_gradients_and_copies() -> None:
    model = Router()
    for _ in range(3):
        gradients = []
        for batch in (True, False):
            model.zero_grad()
            weft.stack(weft.map(model, vectors(), batch=batch)).sum().backward()
            gradients.append([p.grad for p in model.parameters()])
        for one, other in zip(*gradients, strict=True):
            assert (one is None) == (other is None)
            assert one is None or weft.allclose(one, other, atol=1e-6)
    assert is_cell(model)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        with weft.no_grad():
            other.router.weight.mul_(2)
        check(other, cell=True)
    assert "_weft_mapped" not in model.state_dict()


def test_the_default_dtype_is_seen() -> None:
    def body(x: Any) -> Any:
        return weft.ones(3) + x

    examples = [weft.tensor([1, 2, 3]) for _ in range(4)]
    before = weft.get_default_dtype()
    try:
        for dtype in (weft.float32, weft.float64):
            weft.set_default_dtype(dtype)
            assert {one.dtype for one in weft.map(body, examples)} == {dtype}
            assert is_cell(body)
    finally:
        weft.set_default_dtype(before)


def test_errors_name_the_line_and_the_example() -> None:
    table = weft.randn(5, 3)

    def look_up(i: Any) -> Any:
        j = i + 1
        return F.embedding(j, table)

    good = [weft.tensor(i % 4) for i in range(8)]
    for _ in range(3):
        weft.map(look_up, good)
    assert is_cell(look_up)
    line = look_up.__code__.co_firstlineno + 2
    with pytest.raises(IndexError, match=rf"cells.py:{line}, example 3") as caught:
        weft.map(look_up, [*good[:3], weft.tensor(40), *good[3:]])
    assert "in example 3 of weft.map" in caught.value.__notes__


def test_decisions_that_raise() -> None:
    def positive(x: Any) -> Any:
        if x.sum() < 0:
            raise ValueError("negative")
        return x * 2

    for _ in range(3):
        found = weft.map(positive, vectors(), return_exceptions=True)
        for x, one in zip(vectors(), found, strict=True):
            assert isinstance(one, ValueError) == (x.sum().item() < 0)


# ---- Integers ------------------------------------------------------------------------------------


def labelled(classes: int = 12, count: int = 40) -> list[Any]:
    return [(x, i % classes) for i, x in enumerate(weft.randn(count, 20))]


def test_integers_that_become_tensors() -> None:
    layer = nn.Linear(20, 20)

    def loss(example: Any) -> Any:
        x, label = example
        scores = layer(x)
        if scores.max() > 1.0:
            scores = scores * 0.5
        return F.cross_entropy(scores, weft.tensor(label))

    check(loss, labelled(), cell=True)
    assert len(loss.__dict__["_weft_mapped"].cell.programs) == 3
    check(loss, [(x, label + 3) for x, label in labelled()], cell=True)
    with pytest.raises(IndexError):
        weft.map(loss, [*labelled(), (weft.randn(20), 99)])
    with pytest.raises(OverflowError):
        weft.map(loss, [*labelled(), (weft.randn(20), 2**70)])


def test_integers_that_are_read() -> None:
    table = [float(i) for i in range(20)]
    ways: list[Callable[[Any, int], Any]] = [
        lambda x, n: x[n] * 2,
        lambda x, n: x * n,
        lambda x, n: x * table[n],
        lambda x, n: x + (1 if n == 2 else 0),
        lambda x, n: x * 2 if n else x * 3,
        lambda x, n: sum(x * i for i in range(n + 1)),
        lambda x, n: weft.tensor([n, n + 1]) * x[0],
        lambda x, n: weft.tensor(n, dtype=weft.float32) * x,
        lambda x, n: weft.full((3,), n) * x[0],
        lambda x, n: x.add(n),
        lambda x, n: x * len(str(n)),
        lambda x, n: x * 2 if isinstance(n, int) and n > 1 else x * 3,
        lambda x, n: weft.tensor(n) * x + n,
        lambda x, n: x * max(n, 1),
        lambda x, n: x * {0: 1.0, 1: 2.0, 2: 3.0}.get(n, 0.5),
        lambda x, n: x * (n.bit_length() if n is not None else 0),
    ]
    for way in ways:

        def body(example: Any, way: Any = way) -> Any:
            x, number = example
            return way(x, number)

        examples = [(x, i % 3) for i, x in enumerate(weft.randn(12, 20))]
        for _ in range(3):
            expected = weft.map(body, examples, batch=False)
            for one, other in zip(weft.map(body, examples), expected, strict=True):
                assert weft.allclose(one, other)


def test_integers_that_are_read_on_some_ways_only() -> None:
    def body(example: Any) -> Any:
        x, number = example
        if x[0] > 0:
            return x * 2 + weft.tensor(number)
        return x * number

    check(body, [(x, i % 3) for i, x in enumerate(weft.randn(30, 4))], cell=True)
    first = [(weft.ones(4), i) for i in range(6)]
    later = [(-weft.ones(4), i) for i in range(6)]
    assert [y[0].item() for y in weft.map(body, first)] == [2, 3, 4, 5, 6, 7]
    assert [y[0].item() for y in weft.map(body, later)] == [0, -1, -2, -3, -4, -5]


def test_integers_are_given_back() -> None:
    def body(example: Any) -> Any:
        x, number = example
        return x * 2, number

    for _ in range(3):
        examples = [(x, i) for i, x in enumerate(vectors())]
        assert [number for _, number in weft.map(body, examples)] == list(range(6))


def test_lists_of_integers() -> None:
    embedding = nn.Embedding(10, 3)

    def body(words: list[int]) -> Any:
        h = weft.zeros(3)
        for word in words:
            h = (h + embedding(weft.tensor(word))).tanh()
        return h.sum()

    check(body, [[i % 10, (i + 1) % 10] for i in range(20)], cell=True)
    check(body, [[1] * n for n in range(1, 20)], cell=False)


# ---- What is not ---------------------------------------------------------------------------------

COUNTS = {"calls": 0}
TOTAL = 0


def count_in_a_global(x: Any) -> Any:
    global TOTAL  # noqa: PLW0603 - the point
    TOTAL = TOTAL + 1
    return x * 2


def count_in_a_dict(x: Any) -> Any:
    COUNTS["calls"] = COUNTS["calls"] + 1
    return x * 2


def speak(x: Any) -> Any:
    print("seen")
    return x * 2


class Noted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.items: list[Any] = []
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return self.layer(x)


class Appending(Noted):
    def forward(self, x: Any) -> Any:
        self.items.append(1)
        self.calls = len(self.items)
        return self.layer(x)


class Extending(Noted):
    def forward(self, x: Any) -> Any:
        items = self.items
        items += [1]
        return self.layer(x)


class Counter:
    def __init__(self) -> None:
        self.calls = 0

    def __add__(self, other: Any) -> Any:
        self.calls = self.calls + 1
        return other

    def mean(self) -> int:
        self.calls = self.calls + 1
        return 1


class Meaning(nn.Module):
    calls = 0

    def mean(self) -> float:
        Meaning.calls += 1
        return 1.0


class WithMeaning(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Meaning()])

    def forward(self, x: Any) -> Any:
        for part in self.parts:
            x = x * part.mean()
        return x


class Indexed(nn.Module):
    calls = 0

    def __getitem__(self, key: int) -> float:
        Indexed.calls += 1
        return 2.0


class WithIndexed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = Indexed()

    def forward(self, x: Any) -> Any:
        return x * self.table[0]


class WithProperty(nn.Module):
    calls = 0

    @property
    def factor(self) -> float:
        WithProperty.calls += 1
        return 3.0

    def forward(self, x: Any) -> Any:
        return x * self.factor


class Bound(nn.Module):
    """Its attribute is a method of a module of ours that changes things."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.forget = self.layer.zero_grad

    def forward(self, x: Any) -> Any:
        self.forget()
        return self.layer(x)


class Table(list[float]):
    calls = 0

    def __getitem__(self, key: Any) -> Any:
        Table.calls += 1
        return super().__getitem__(key)


class Calling(nn.Module):
    calls = 0

    def __call__(self, x: Any) -> Any:
        Calling.calls += 1
        return super().__call__(x)

    def forward(self, x: Any) -> Any:
        return x * 2


def count_of(run: Callable[[], Any], read: Callable[[], int]) -> int:
    before = read()
    run()
    return read() - before


def test_what_has_effects_is_run_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    noted, appending, extending, counter = Noted(), Appending(), Extending(), Counter()
    kept: list[int] = []
    seen = {"n": 0}

    def in_closure(x: Any) -> Any:
        kept.append(1)
        return x * 2

    def outer_variable() -> tuple[Any, Callable[[], int]]:
        calls = 0

        def body(x: Any) -> Any:
            nonlocal calls
            calls = calls + 1
            return x * 2

        return body, lambda: calls

    def by_operator(x: Any) -> Any:
        return counter + x

    def by_method(x: Any) -> Any:
        return x * counter.mean()

    def by_default(x: Any, store: dict[str, int] = seen) -> Any:
        store["n"] += 1
        return x

    def by_alias(x: Any) -> Any:
        add = kept.append
        add(1)
        return x * 2

    def by_inner(x: Any) -> Any:
        def note() -> None:
            kept.append(1)

        note()
        return x * 2

    table = Table([2.0])

    def by_list(x: Any) -> Any:
        return x * table[0]

    body, calls = outer_variable()
    cases: list[tuple[Any, Callable[[], int]]] = [
        (count_in_a_global, lambda: TOTAL),
        (count_in_a_dict, lambda: COUNTS["calls"]),
        (noted, lambda: noted.calls),
        (appending, lambda: len(appending.items)),
        (extending, lambda: len(extending.items)),
        (in_closure, lambda: len(kept)),
        (body, calls),
        (by_operator, lambda: counter.calls),
        (by_method, lambda: counter.calls),
        (by_default, lambda: seen["n"]),
        (by_alias, lambda: len(kept)),
        (by_inner, lambda: len(kept)),
        (by_list, lambda: Table.calls),
        (WithMeaning(), lambda: Meaning.calls),
        (WithIndexed(), lambda: Indexed.calls),
        (WithProperty(), lambda: WithProperty.calls),
        (Calling(), lambda: Calling.calls),
    ]
    for function, read in cases:
        for _ in range(3):
            assert count_of(lambda f=function: weft.map(f, vectors()), read) == 6, function
        assert not is_cell(function)
    for _ in range(3):
        weft.map(speak, vectors())
    assert capsys.readouterr().out.count("seen") == 18


def test_methods_of_modules_that_change_them() -> None:
    model = Bound()
    for _ in range(3):
        model.layer.weight.grad = weft.ones(3, 3)
        weft.map(model, vectors())
        assert model.layer.weight.grad is None

    class Halving(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(3, 3)])

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                layer.double()
            return x * 2

    model = Halving()
    for _ in range(3):
        model.float()
        weft.map(model, vectors())
        assert model.layers[0].weight.dtype == weft.float64


def test_what_all_modules_of_a_class_share() -> None:
    class Shared(nn.Module):
        factors = [2.0, 3.0]  # noqa: RUF012 - the point

        def forward(self, x: Any) -> Any:
            return x * self.factors[0] + sum(self.factors)

    model = Shared()
    check(model, cell=True)
    Shared.factors[0] = 5.0
    check(model, cell=True)
    Shared.factors.append(1.0)
    check(model, cell=True)
    Shared.factors = (4.0,)
    check(model, cell=True)


def test_examples_that_do_not_lie_in_order() -> None:
    def body(x: Any) -> Any:
        return x.view(-1) * 2

    examples = [weft.randn(2, 3).T for _ in range(4)]
    for _ in range(3):
        with pytest.raises(RuntimeError):
            weft.map(body, examples)


def test_what_gives_something_else_each_time() -> None:
    def draw(x: Any) -> Any:
        return x * random.random()

    def draw_here(x: Any) -> Any:
        return x * weft.rand(1)

    counter = iter(range(1000))

    def count(x: Any) -> Any:
        return x * next(counter)

    for function in (draw, draw_here, count):
        for _ in range(3):
            found = [y[0].item() for y in weft.map(function, [weft.ones(3)] * 5)]
            assert len(set(found)) == 5
        assert not is_cell(function)
    dropping = nn.Sequential(nn.Dropout(0.5))
    found = {tuple(y.tolist()) for y in weft.map(dropping, [weft.ones(20)] * 5)}
    assert len(found) == 5


def test_what_is_written_in_place() -> None:
    total = weft.zeros(3)

    def add(x: Any) -> Any:
        total.add_(x)
        return x * 2

    def write(x: Any) -> Any:
        x[0] = 1.0
        return x * 2

    for _ in range(3):
        total.zero_()
        weft.map(add, [weft.ones(3)] * 4)
        assert total.tolist() == [4, 4, 4]
        examples = [weft.zeros(3) for _ in range(4)]
        weft.map(write, examples)
        assert [x.tolist() for x in examples] == [[1, 0, 0]] * 4
    norm = nn.Sequential(nn.BatchNorm1d(3))
    for i in range(3):
        weft.map(norm, [weft.randn(2, 3) for _ in range(4)])
        assert norm[0].num_batches_tracked.item() == 4 * (i + 1)


def test_results_are_the_same_objects_and_views() -> None:
    kept = weft.ones(3)

    def same(x: Any) -> Any:
        return x

    def part(x: Any) -> Any:
        return x[1:]

    def twice(x: Any) -> Any:
        y = x * 2
        return y, y

    def both(x: Any) -> Any:
        y = x * 2
        return y, y[:1]

    def outside(x: Any) -> Any:
        return kept

    for _ in range(3):
        examples = vectors()
        assert all(a is b for a, b in zip(weft.map(same, examples), examples, strict=True))
        for one, x in zip(weft.map(part, examples), examples, strict=True):
            one.zero_()
            assert x[1:].tolist() == [0, 0]
        for one, other in weft.map(twice, vectors()):
            assert one is other
        for one, other in weft.map(both, vectors()):
            one.zero_()
            assert other.tolist() == [0]
        assert all(one is kept for one in weft.map(outside, vectors()))


def test_gradients_of_what_is_given() -> None:
    def body(x: Any) -> Any:
        return (x * x).sum() if x.sum() > 0 else x.exp().sum()

    for _ in range(3):
        found = []
        for batch in (True, False):
            xs = [x.clone().requires_grad_() for x in vectors()]
            weft.stack(weft.map(body, xs, batch=batch)[:3]).sum().backward()
            found.append([None if x.grad is None else x.grad.tolist() for x in xs])
        for one, other in zip(*found, strict=True):
            assert one == (other if other is None else pytest.approx(other, rel=1e-5))
    assert is_cell(body)


class Marked(weft.Tensor):
    pass


Pair = namedtuple("Pair", ["left", "right"])  # noqa: PYI024 - the plain kind


def test_examples_that_are_not_plain() -> None:
    check(lambda pair: pair.left + pair.right, [Pair(x, x) for x in vectors()], cell=False)
    check(lambda x: x["a"] * 2, [{"a": x} for x in vectors()], cell=False)
    check(lambda x: weft.tensor(x) * 2, [np.ones(3) for _ in range(3)], cell=False)
    check(lambda x: x[0] * len(x[1]), [(x, "ab") for x in vectors()], cell=True)
    # Each has a shape of its own.
    check(lambda x: x.sum() * 2, [weft.ones(n) for n in range(1, 30)], cell=False)
    check(lambda x: x[0] * x[1], [(weft.ones(1), n) for n in range(1, 30)], cell=False)


def test_code_that_shows_too_little() -> None:
    array = np.ones(3, dtype=np.float32)

    def caught(x: Any) -> Any:
        try:
            return x * 2
        except ValueError:
            return x

    def opened(x: Any) -> Any:
        with suppress(ValueError):
            return x * 2

    def without(x: Any) -> Any:
        with weft.no_grad():
            return x * 2

    def generator(x: Any) -> Any:
        def parts() -> Iterator[Any]:
            yield x
            yield x * 2

        return weft.stack(list(parts())).sum(0)

    def from_numpy(x: Any) -> Any:
        return x + weft.tensor(array)

    for function in (caught, opened, without, generator, from_numpy):
        check(function, cell=False)
    array[0] = 5.0
    check(from_numpy, cell=False)


def test_what_functions_read_from_outside() -> None:
    state = {"factor": 2.0}
    factors = [1.0, 2.0]
    weight = weft.ones(3)
    functions = [F.relu]

    def body(x: Any) -> Any:
        return functions[0](x) * state["factor"] * factors[1] * weight + SCALE

    global SCALE  # noqa: PLW0603 - the point
    check(body, cell=True)
    state["factor"] = 3.0
    check(body, cell=True)
    factors[1] = 5.0
    check(body, cell=True)
    weight.fill_(7.0)
    check(body, cell=True)
    weight = weft.ones(3) * 4
    check(body, cell=True)
    SCALE = 9.0
    check(body, cell=True)
    functions[0] = F.tanh
    check(body, cell=True)
    functions[0] = speak
    check(body, cell=False)


def test_lines_that_somebody_follows_are_run() -> None:
    def body(x: Any) -> Any:
        return x * 2

    check(body, cell=True)
    lines: list[int] = []

    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code is body.__code__ and event == "line":
            lines.append(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        weft.map(body, vectors())
    finally:
        sys.settrace(before)
    assert len(lines) == 6


def test_functions_that_are_mapped_go_at_once() -> None:
    Mapped.warm = 100
    big = weft.ones(3)
    seen = weakref.ref(big)
    weft.map(lambda x, big=big: x * big, vectors())
    gc.disable()
    try:
        del big
        assert seen() is None
    finally:
        gc.enable()


def test_models_that_became_cells_are_collected() -> None:
    model = Router()
    check(model, cell=True)
    seen = weakref.ref(model)
    del model
    gc.collect()
    assert seen() is None


def test_replaying_can_be_turned_off() -> None:
    def body(x: Any) -> Any:
        return x * 2

    for _ in range(3):
        weft.map(body, vectors(), replay=False)
    assert not is_cell(body)


def test_it_waits_until_a_function_is_mapped_often() -> None:
    Mapped.warm = 10

    def body(x: Any) -> Any:
        return x * 2

    weft.map(body, vectors())
    assert not is_cell(body)
    weft.map(body, vectors())
    assert not is_cell(body)
    weft.map(body, vectors())
    assert is_cell(body)


# ---- The same function, made or called in another way --------------------------------------------


class Switch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scores, self.experts = nn.Linear(3, 2), nn.ModuleList([nn.Linear(3, 3) for _ in "ab"])

    def forward(self, x: Any) -> Any:
        return self.experts[int(self.scores(x).argmax())](x).tanh()

    def loss(self, x: Any, scale: float = 2.0) -> Any:
        return self(x).pow(2).sum() * scale


def runs_without_python(run: Callable[[Any], Any], count: int = 4) -> bool:
    """Tell whether after some maps no line of the function runs any more."""
    examples = weft.stack(vectors())
    for _ in range(count):
        run(examples)
    before, after = Mapped.__dict__["run"], []

    def watched(self: Mapped, *args: Any) -> Any:
        result = before(self, *args)
        after.append(result is not None)
        return result

    Mapped.run = watched  # type: ignore[method-assign]
    try:
        run(examples)
    finally:
        Mapped.run = before  # type: ignore[method-assign]
    return after == [True]


def test_functions_that_are_made_for_each_map_are_replayed() -> None:
    model = Switch()

    def with_lambda(xs: Any) -> Any:
        return weft.map(lambda x: model(x), list(xs))  # noqa: PLW0108

    def with_local(xs: Any, scale: float = 3.0) -> Any:
        inner = lambda x: model(x) * scale  # noqa: E731

        def one(x: Any, shift: float = 1.0) -> Any:
            return inner(x).sum() + shift

        return weft.map(one, list(xs))

    for run in (with_lambda, with_local, lambda xs: weft.map(model.loss, list(xs))):
        assert runs_without_python(run)
    assert runs_without_python(lambda xs: weft.map(model, xs))
    assert runs_without_python(lambda xs: weft.map(model.forward, xs))


def test_a_function_made_anew_with_other_contents_is_another_one() -> None:
    models = [Switch(), Switch()]

    def run(model: Any, scale: float, xs: Any) -> list[Any]:
        def one(x: Any, shift: float = scale * 2) -> Any:
            return model.loss(x, scale) + shift

        return weft.map(one, list(xs))

    xs = weft.stack(vectors())
    for _ in range(4):
        found = [run(models[0], zero, xs)[0].item() for zero in (0.0, -0.0)]
        assert [math.copysign(1, x) for x in found] == [1.0, -1.0]
    for k in range(12):
        model, scale = models[k % 3 % 2], float(k % 4)
        expected = [model.loss(x, scale) + scale * 2 for x in xs]
        for found, one in zip(run(model, scale, xs), expected, strict=True):
            assert weft.allclose(found, one, rtol=1e-5)


def test_methods_of_several_models_are_their_own() -> None:
    models = [Switch(), Switch()]
    xs = vectors()
    for k in range(8):
        model = models[k % 2]
        with weft.no_grad():
            model.scores.weight.mul_(-1)
        for found, x in zip(weft.map(model.loss, xs), xs, strict=True):
            assert weft.allclose(found, model.loss(x), rtol=1e-5)
    clone = copy.deepcopy(models[0])
    with weft.no_grad():
        clone.experts[0].weight.mul_(3)
        clone.experts[1].weight.mul_(3)
    for found, x in zip(weft.map(clone.loss, xs), xs, strict=True):
        assert weft.allclose(found, clone.loss(x), rtol=1e-5)
    assert pickle.loads(pickle.dumps(models[0])).loss(xs[0]) == models[0].loss(xs[0])


def test_a_row_of_a_vmap_that_has_ended_is_no_example() -> None:
    kept: list[weft.Tensor] = []
    weft.vmap(lambda x: (kept.append(x), x)[1])(weft.randn(3, 2))
    cell = weft.cell(lambda x: x.tanh() * 2)
    for _ in range(4):
        with pytest.raises(weft.UnsupportedError, match="a vmap that has ended"):
            weft.map(cell, kept * 2)
