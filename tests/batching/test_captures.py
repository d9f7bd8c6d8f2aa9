"""Cells whose bodies read what is outside of them: as it is at each call, like any function's."""

from __future__ import annotations

import gc
import math
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import weft
from weft import nn

Decorator = Callable[[Any], Any]
Program = Callable[[Decorator], Iterator[weft.Tensor]]

X = weft.arange(3.0)
scale: Any = None


def other(number: float) -> weft.Tensor:
    return weft.full((3,), number)


def a_global(cell: Decorator) -> Iterator[weft.Tensor]:
    global scale  # noqa: PLW0603 - what is tested

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * scale

    for value in (2.0, 3, other(4.0), other(5.0), weft.ones(2, 3), True):
        scale = value
        yield body(X)
    scale = None


def a_closure(cell: Decorator) -> Iterator[weft.Tensor]:
    factor: Any = 2.0

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * factor

    yield body(X)
    for value in (other(3.0), other(4.0), other(4.0).double(), 5.0):
        factor = value
        yield body(X)


def a_variable_of_an_outer_function(cell: Decorator) -> Iterator[weft.Tensor]:
    factor = other(1.0)

    def advance() -> None:
        nonlocal factor
        factor = factor * 2

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * factor

    for _ in range(100):
        yield body(X)
        advance()


def an_attribute(cell: Decorator) -> Iterator[weft.Tensor]:
    @dataclass
    class Settings:
        scale: Any = 2.0
        inner: Any = field(default_factory=lambda: SimpleNamespace(shift=other(1.0)))

    settings = Settings()

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * settings.scale + settings.inner.shift

    yield body(X)
    settings.scale = 3.0
    yield body(X)
    settings.inner.shift = other(9.0)
    yield body(X)
    settings.inner = SimpleNamespace(shift=2)
    yield body(X)
    settings = Settings(other(7.0))
    yield body(X)


def an_attribute_that_a_helper_reads(cell: Decorator) -> Iterator[weft.Tensor]:
    def scaled(holder: Holder, x: weft.Tensor) -> weft.Tensor:
        return x * holder.factor

    class Holder:
        factor = 2.0

        def by_helper(self, x: weft.Tensor) -> weft.Tensor:
            return scaled(self, x)

        def by_list(self, x: weft.Tensor) -> weft.Tensor:
            first, _ = [self.factor * t for t in (x, x)]
            return first

    holder = Holder()
    for method in (holder.by_helper, holder.by_list):
        body = cell(method)
        for holder.factor in (2.0, 3.0):
            yield body(X)


def an_attribute_of_a_class(cell: Decorator) -> Iterator[weft.Tensor]:
    class Settings:
        scale: Any = 2.0

        @property
        def shift(self) -> weft.Tensor:
            return other(self.scale)

    settings = Settings()

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * Settings.scale + settings.shift

    yield body(X)
    Settings.scale = 5.0
    yield body(X)


def items(cell: Decorator) -> Iterator[weft.Tensor]:
    weights = [other(1.0), [other(2.0), 3.0], (other(4.0),)]
    named: dict[Any, Any] = {"a": other(1.0), 7: 2.0}

    @cell
    def by_constant(x: weft.Tensor) -> weft.Tensor:
        return x * weights[0] + named["a"] * named[7]

    @cell
    def by_loop(x: weft.Tensor) -> weft.Tensor:
        for weight in weights:
            for one in weight if isinstance(weight, (list, tuple)) else [weight]:
                x = x * one + 1
        return x + sum(named.values())

    def both() -> Iterator[weft.Tensor]:
        yield by_constant(X)
        yield by_loop(X)

    yield from both()
    weights[0] = other(5.0)
    yield from both()
    weights[1][1] = 6.0
    yield from both()
    weights.append(other(0.5))
    yield from both()
    weights[2][0].mul_(3)
    yield from both()
    weights[2][0].data = other(8.0)
    yield from both()
    named["a"] = other(9.0)
    yield from both()
    named["b"] = 1.0
    del named[7]
    named[7] = 4.0
    yield from both()


def helpers(cell: Decorator) -> Iterator[weft.Tensor]:
    number = 2.0
    shift = other(1.0)

    def add(x: weft.Tensor, by: Any = shift) -> weft.Tensor:
        return x + by * number

    @lru_cache
    def cached() -> float:
        return number

    def outer(x: weft.Tensor) -> weft.Tensor:
        return add(x) * max([add(x) for _ in range(2)], key=len) * cached()

    chosen = outer
    bound = partial(lambda y, x: x - y, other(1.0))

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return chosen(x) + bound(x) + math.pi

    yield body(X)
    number = 3.0
    yield body(X)
    shift.fill_(5.0)
    yield body(X)
    chosen = add
    yield body(X)
    bound = weft.exp
    yield body(X)


def objects_that_are_called(cell: Decorator) -> Iterator[weft.Tensor]:
    class Layer:
        def __init__(self, weight: float) -> None:
            self.weight = other(weight)

        def __call__(self, x: weft.Tensor) -> weft.Tensor:
            return self.apply(x) * self.weight

        def apply(self, x: weft.Tensor) -> weft.Tensor:
            return x + self.weight

    layer = Layer(2.0)

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return layer(layer.apply(x))

    yield body(X)
    layer.weight = other(3.0)
    yield body(X)
    layer = Layer(4.0)
    yield body(X)


def two_names_of_one_tensor(cell: Decorator) -> Iterator[weft.Tensor]:
    first = second = other(2.0)

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * first + second

    yield body(X)
    second = other(3.0)
    yield body(X)
    first = other(4.0)
    yield body(X)


def modules(cell: Decorator) -> Iterator[weft.Tensor]:
    weft.manual_seed(0)

    class Part(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.settings = SimpleNamespace(power=1.0)
            self.plain = [other(1.0)]

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            return (self.linear(x) * scale + self.plain[0]) * self.settings.power

    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleList([Part(), Part()])

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            for part in self.parts:
                x = part(x)
            return x

    global scale  # noqa: PLW0603 - what is tested
    scale = 2.0
    part, whole = Part(), cell(Whole)()

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return part(x) @ part.linear.weight

    def both() -> Iterator[weft.Tensor]:
        yield body(X)
        yield whole(X)

    yield from both()
    scale = other(3.0)
    yield from both()
    for one in (part, *whole.parts):
        one.settings.power = 0.5
    yield from both()
    for one in (part, *whole.parts):
        one.plain[0] = other(7.0)
    yield from both()
    part = Part()
    whole.parts[1] = Part()
    yield from both()
    part.linear.weight.data = weft.eye(3)
    yield from both()
    scale = None


def a_numpy_array(cell: Decorator) -> Iterator[weft.Tensor]:
    array = np.ones(3, dtype=np.float32)

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x + weft.tensor(array)

    yield body(X)
    array[1] = 5
    yield body(X)


def a_recursive_cell(cell: Decorator) -> Iterator[weft.Tensor]:
    depth = 3

    @cell
    def body(x: weft.Tensor, level: int = 0) -> weft.Tensor:
        return x if level == depth else body(x * 2, level + 1)

    yield body(X)
    depth = 5
    yield body(X)


def ways_to_change_a_module(cell: Decorator) -> Iterator[weft.Tensor]:
    @cell
    class Whole(nn.Module):
        shared: Any = 2.0

        def __init__(self) -> None:
            super().__init__()
            self.register_parameter("b", None)
            self.layers = nn.Sequential(nn.Identity())
            self.config = SimpleNamespace(scale=1.0)

        @property
        def scale(self) -> Any:
            return self.config.scale

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            for layer in self.layers:
                x = layer(x)
            return x * self.shared * self.scale + (0 if self.b is None else self.b)

    module = Whole()
    yield module(X)
    module.register_parameter("b", nn.Parameter(other(1.0)))
    yield module(X)
    del module.b
    module.register_buffer("b", other(2.0))
    yield module(X)
    module.layers.append(nn.ReLU())
    module.layers.append(nn.Tanh())
    yield module(X)
    del module.layers[1]
    yield module(X)
    Whole.shared = 5.0
    yield module(X)
    module.config.scale = other(3.0)
    yield module(X)


def parts_under_other_names(cell: Decorator) -> Iterator[weft.Tensor]:
    global scale  # noqa: PLW0603 - what is tested

    class Part(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.settings = {"power": 2.0}

        def step(self, x: weft.Tensor) -> weft.Tensor:
            return x * scale

    @cell
    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleList([Part(), Part()])

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            for part in self.parts:
                x = part.step(x) * part.settings["power"]
            return x

    scale = 2.0
    whole = Whole()
    yield whole(X)
    scale = 3.0
    yield whole(X)
    whole.parts[0].settings["power"] = 4.0
    yield whole(X)
    scale = None


def a_property_that_computes(cell: Decorator) -> Iterator[weft.Tensor]:
    class Holder:
        def __init__(self) -> None:
            self.w = other(1.0)

        @property
        def doubled(self) -> weft.Tensor:
            return self.w * 2

    holder = Holder()

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * holder.doubled

    yield body(X)
    holder.w = other(3.0)
    yield body(X)


def a_tensor_in_several_places(cell: Decorator) -> Iterator[weft.Tensor]:
    w = other(2.0)
    kept = (w,)

    @cell
    def by_default(x: weft.Tensor, first: weft.Tensor = w) -> weft.Tensor:
        return x * w - x * first

    @cell
    def by_tuple(x: weft.Tensor) -> weft.Tensor:
        return x * w - x * kept[0]

    yield by_default(X)
    yield by_tuple(X)
    w = other(5.0)
    yield by_default(X)
    yield by_tuple(X)


def what_was_not_there(cell: Decorator) -> Iterator[weft.Tensor]:
    settings = SimpleNamespace(other=1.0)

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * getattr(settings, "scale", 2.0) + (1 if hasattr(settings, "flag") else 0)

    yield body(X)
    settings.scale = 3.0
    yield body(X)
    settings.flag = True
    yield body(X)


def methods_that_are_exchanged(cell: Decorator) -> Iterator[weft.Tensor]:
    class Scaled:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        def go(self, x: weft.Tensor) -> weft.Tensor:
            return x * self.factor

    holder = SimpleNamespace(act=Scaled(2.0).go)

    def act(x: weft.Tensor) -> weft.Tensor:
        return x * act.scale  # type: ignore[attr-defined]

    act.scale = 2.0  # type: ignore[attr-defined]

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return holder.act(x) + act(x)

    yield body(X)
    holder.act = Scaled(5.0).go
    yield body(X)
    act.scale = 7.0  # type: ignore[attr-defined]
    yield body(X)


def named_tuples(cell: Decorator) -> Iterator[weft.Tensor]:
    class Pair(NamedTuple):
        a: weft.Tensor
        b: weft.Tensor

    @cell
    def body(pair: Pair) -> Pair:
        return Pair(pair.a * 2, pair.b + (1 if isinstance(pair, Pair) else 0))

    @cell
    def ordered(x: weft.Tensor) -> Any:
        return x.sort(descending=True)

    for _ in range(2):
        result = body(Pair(X, X))
        yield result.a + result.b
        yield ordered(X).values


def a_cell_as_a_method(cell: Decorator) -> Iterator[weft.Tensor]:
    class Scaled:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @cell
        def go(self, x: weft.Tensor) -> weft.Tensor:
            return x * self.factor

    scaled = Scaled(2.0)
    yield scaled.go(X)
    scaled.factor = 3.0
    yield scaled.go(X)


def a_constant(cell: Decorator) -> Iterator[weft.Tensor]:
    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return weft.zeros(x.shape)

    yield body(X).add_(1)
    yield body(X)


def a_write_to_what_is_outside(cell: Decorator) -> Iterator[weft.Tensor]:
    count = weft.zeros(3)

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        count.add_(1)
        return x * count

    for _ in range(3):
        yield body(X)


def an_exception_that_is_caught(cell: Decorator) -> Iterator[weft.Tensor]:
    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        try:
            factor = float(x[1])
        except ValueError:
            factor = 100.0
        return x * factor

    yield body(X)


def targets_that_are_no_functions(cell: Decorator) -> Iterator[weft.Tensor]:
    global scale  # noqa: PLW0603 - what is tested

    def scaled(factor: float, x: weft.Tensor) -> weft.Tensor:
        return x * factor * scale

    linear = nn.Linear(3, 3)
    linear.weight = nn.Parameter(weft.ones(3, 3))
    linear.bias = nn.Parameter(weft.ones(3))
    first, second = cell(partial(scaled, 2.0)), cell(linear)
    for number in (2.0, 3.0):
        scale = number
        yield first(X)
        yield second(X)
        linear.weight = nn.Parameter(weft.eye(3))
    scale = None


def tensors_that_are_made_once(cell: Decorator) -> Iterator[weft.Tensor]:
    tables: dict[int, weft.Tensor] = {}

    @cell
    class Causal(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mask: weft.Tensor | None = None

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            size = x.shape[0]
            if self.mask is None or self.mask.shape[0] != size:
                self.mask = weft.tril(weft.ones(size, size))
            return self.mask @ x

    @cell
    def rotated(x: weft.Tensor) -> weft.Tensor:
        if len(x) not in tables:
            tables[len(x)] = weft.arange(len(x)).float()[:, None].cos()
        return x * tables[len(x)]

    causal = Causal()
    for size in (2, 2, 4, 2, 4, 4):
        x = weft.arange(2.0 * size).reshape(size, 2)
        yield causal(x)
        yield rotated(x)
        assert causal.mask is not None
        yield causal.mask * 2
        yield tables[size] * 2


def results_that_are_looked_at_later(cell: Decorator) -> Iterator[weft.Tensor]:
    seen: list[weft.Tensor] = []

    @cell
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last: weft.Tensor | None = None

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            weights = x.softmax(-1)
            self.last = weights.detach()
            return weights * 2

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        seen.append(x)
        return x.exp()

    attention = Attention()
    for factor in (1.0, 2.0, 3.0):
        yield attention(X * factor)
        assert attention.last is not None
        yield attention.last + 0
        yield body(X * factor)
        yield seen[-1] + 0


def results_that_are_kept_as_well(cell: Decorator) -> Iterator[weft.Tensor]:
    seen: list[weft.Tensor] = []
    last: dict[str, weft.Tensor] = {}

    @cell
    class Running(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.state = weft.zeros(3)

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            self.state = self.state * 0.5 + x
            return self.state

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        y = x * 2
        seen.append(y)
        last["y"] = y
        return y[:2]

    running = Running()
    for factor in (1.0, 2.0, 3.0):
        yield running(X * factor)
        yield running.state + 0
        yield body(X * factor)
        yield weft.stack(seen)
        yield last["y"] + 0


def caches_that_are_half_made(cell: Decorator) -> Iterator[weft.Tensor]:
    @cell
    class Shifted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(weft.eye(3))
            self.mask: weft.Tensor | None = None
            self.turned: weft.Tensor | None = None

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            if self.mask is None:
                self.mask = weft.zeros(3, 3)
                self.mask[0, 1] = 1
                self.turned = self.weight.t() * 1
            assert self.turned is not None
            return self.mask @ (self.turned @ x)

    shifted = Shifted()
    for factor in (1.0, 2.0):
        yield shifted(X * factor)
    shifted.turned = None
    shifted.mask = None
    shifted(X).sum().backward()
    assert shifted.weight.grad is not None
    yield shifted.weight.grad


@lru_cache(maxsize=8)
def table(size: int) -> weft.Tensor:
    return weft.arange(size).float() + 1


def caches_that_nobody_sees(cell: Decorator) -> Iterator[weft.Tensor]:
    table.cache_clear()

    @cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * table(len(x))

    for _ in range(3):
        yield body(X)
    yield table(3) * 2


def values_that_are_read(cell: Decorator) -> Iterator[weft.Tensor]:
    state, keep, at = weft.tensor([0.0, 1.0]), weft.tensor([True, False, True]), weft.tensor(1)

    @cell
    def branch(x: weft.Tensor) -> weft.Tensor:
        return x * 2 if state.sum() > 0.5 else x

    @cell
    def number(x: weft.Tensor) -> weft.Tensor:
        return x * state[1].item() + float(state.max())

    @cell
    def chosen(x: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        return x[keep], x[: at + 1]

    for _ in range(2):
        yield branch(X)
        yield number(X)
        yield from chosen(X)
        state.fill_(0.25)
        keep.logical_not_()
        at.add_(1)


PROGRAMS: list[Program] = [
    a_global,
    a_closure,
    a_variable_of_an_outer_function,
    an_attribute,
    an_attribute_that_a_helper_reads,
    an_attribute_of_a_class,
    items,
    helpers,
    objects_that_are_called,
    two_names_of_one_tensor,
    modules,
    a_numpy_array,
    a_recursive_cell,
    ways_to_change_a_module,
    parts_under_other_names,
    a_property_that_computes,
    a_tensor_in_several_places,
    what_was_not_there,
    methods_that_are_exchanged,
    named_tuples,
    a_cell_as_a_method,
    a_constant,
    a_write_to_what_is_outside,
    an_exception_that_is_caught,
    targets_that_are_no_functions,
    tensors_that_are_made_once,
    results_that_are_looked_at_later,
    results_that_are_kept_as_well,
    caches_that_are_half_made,
    caches_that_nobody_sees,
    values_that_are_read,
]


@pytest.mark.filterwarnings("ignore:more than 20 plans")
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_cell_sees_what_a_function_sees(
    program: Program, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: threads)
    expected = [(y.dtype, y.tolist()) for y in program(lambda body: body)]
    assert [(y.dtype, y.tolist()) for y in program(weft.cell)] == expected
    with weft.lazy():
        assert [(y.dtype, y.tolist()) for y in program(weft.cell)] == expected
        later = list(program(weft.cell))
    # What is read later was recorded earlier, before these write memory or are computed again.
    if program not in (modules, items, a_constant):
        assert [y.tolist() for y in later] == [y for _, y in expected]
    gc.collect()  # a module and its cell refer to each other


def test_another_tensor_in_the_same_place_is_no_new_program() -> None:
    weight = other(1.0)

    @weft.cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * weight

    for number in range(200):
        weight = other(float(number)).requires_grad_()
        result = body(X)
        assert weft.equal(result, X * number)
        result.sum().backward()
        assert weight.grad is not None
        assert weft.equal(weight.grad, X)
    assert len(body.programs) == 1
    assert not body.note


def test_what_cannot_be_watched_is_said() -> None:
    array, numbers = np.ones(3), iter([1.0])

    @weft.cell
    def reads_array(x: weft.Tensor) -> weft.Tensor:
        return x + float(array[0])

    @weft.cell
    def reads_iterator(x: weft.Tensor) -> weft.Tensor:
        return x + next(numbers, 2.0)

    assert weft.equal(reads_array(X), X + 1)
    assert "it reads array, a ndarray from outside" in reads_array.note
    assert f"cell reads_array runs as it is: {reads_array.note}" in str(weft.explain())
    assert weft.equal(reads_iterator(X), X + 1)
    assert weft.equal(reads_iterator(X), X + 2)


def test_views_of_what_is_inside_may_be_returned() -> None:
    @weft.cell
    def body(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
        def halves(depth: int) -> tuple[weft.Tensor, ...]:  # a cycle that holds x
            return halves(depth - 1) if depth else (x * 2).chunk(2)

        return *halves(2), x

    first, second, whole = body(weft.arange(4.0))
    assert (first.tolist(), second.tolist(), whole.tolist()) == ([0, 2], [4, 6], [0, 1, 2, 3])
    assert body.note == ""


def test_integer_results_say_why_they_have_no_gradient() -> None:
    best = weft.cell(lambda x: x.argmax(-1))
    y = weft.ones(2, 3, requires_grad=True) * 2
    for lazy in (False, True):
        with weft.lazy() if lazy else nullcontext():
            loss = best(y).float().sum()
        with pytest.raises(RuntimeError, match="integer or bool dtype"):
            loss.backward()


def test_what_vmap_maps_is_not_kept() -> None:
    factor = weft.tensor(2.0)

    @weft.cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * factor

    def mapped(number: weft.Tensor) -> weft.Tensor:
        nonlocal factor
        factor = number
        return body(X)

    assert weft.vmap(mapped)(weft.arange(3.0)).tolist() == (weft.arange(3.0)[:, None] * X).tolist()
    factor = weft.tensor(3.0)
    assert body(X).tolist() == (X * 3).tolist()
    assert body.note == ""


def test_a_cell_that_can_be_one_again_is_no_longer_named() -> None:
    @weft.cell
    class ReadsValue(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.value: Any = np.ones(3)

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            return x * float(np.mean(self.value))

    module = ReadsValue()
    assert weft.equal(module(X), X)
    assert "ReadsValue" in weft.explain().inlined_cells
    module.value = 2.0
    assert weft.equal(module(X), X * 2)
    assert "ReadsValue" not in weft.explain().inlined_cells


def test_looking_for_what_is_read_may_call_the_cell() -> None:
    class Holder:
        def __getattr__(self, name: str) -> float:
            if name != "scale":
                raise AttributeError(name)
            if self.__dict__.setdefault("depth", 0) < 3:
                self.__dict__["depth"] += 1
                body(X)
            return float(self.__dict__["depth"])

    holder = Holder()

    @weft.cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * holder.scale

    for _ in range(20):
        body(X)
    assert weft.equal(body(X), X * 3)


def test_what_changes_at_every_call_runs_as_it_is() -> None:
    count = 0

    @weft.cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * count

    for count in range(200):
        assert weft.equal(body(X), X * count)
    assert body.note == "what it reads from outside changes again and again"


def test_a_name_that_is_gone() -> None:
    factor = 2.0

    @weft.cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * factor

    assert weft.equal(body(X), X * 2)
    del factor
    with pytest.raises(NameError, match="factor"):
        body(X)
    factor = 3.0
    assert weft.equal(body(X), X * 3)


def test_cells_that_are_checked_inside_cells() -> None:
    factor = 2.0

    @weft.cell(check=1.0)
    def inner(x: weft.Tensor) -> weft.Tensor:
        return x * factor

    @weft.cell(check=1.0)
    def outer(x: weft.Tensor) -> weft.Tensor:
        return inner(x) + 1

    assert weft.equal(outer(X), X * 2 + 1)
    factor = 3.0
    assert weft.equal(outer(X), X * 3 + 1)


def test_gradients_as_the_body_says() -> None:
    class Straight(weft.autograd.Function):
        @staticmethod
        def forward(_: Any, x: weft.Tensor) -> weft.Tensor:
            return x.sign()

        @staticmethod
        def backward(_: Any, gradient: weft.Tensor) -> weft.Tensor:
            return gradient * 3

    w = other(2.0).requires_grad_()

    def through_a_function(x: weft.Tensor) -> weft.Tensor:
        return Straight.apply(x * w)

    def partly_without(x: weft.Tensor) -> weft.Tensor:
        with weft.no_grad():
            fixed = w * x
        return fixed * w

    def by_mode(x: weft.Tensor) -> weft.Tensor:
        return x * w * (2 if weft.is_grad_enabled() else 3) * (5 if w.requires_grad else 7)

    for body in (through_a_function, partly_without, by_mode):
        gradients = []
        for function in (body, weft.cell(body)):
            w.grad = None
            function(X).sum().backward()
            gradients.append(w.grad)
        assert weft.equal(*gradients), body.__name__


def test_gradients_when_the_first_result_is_no_number() -> None:
    @weft.cell
    def body(x: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        return x > 0, x * 2

    x = weft.ones(3).requires_grad_()
    with weft.lazy():
        _, y = body(x)
        y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0] * 3


def test_a_cell_that_changes_while_another_thread_looks_at_it() -> None:
    settings = SimpleNamespace(scale=1.0)

    @weft.cell
    def body(x: weft.Tensor) -> weft.Tensor:
        time.sleep(0.02)
        return x * settings.scale

    threads = [threading.Thread(target=body, args=(weft.ones(i + 1),)) for i in range(4)]
    for thread in threads:
        thread.start()
        time.sleep(0.005)
        settings.scale += 1.0
        body(weft.ones(10))
    for thread in threads:
        thread.join()
    assert weft.equal(body(X), X * settings.scale)


def test_what_other_threads_change_during_a_look_stays() -> None:
    settings = SimpleNamespace(scale=1.0, last=None)
    looked, changed = threading.Event(), threading.Event()

    @weft.cell
    def body(x: weft.Tensor) -> weft.Tensor:
        settings.last = x
        looked.set()
        changed.wait(60)
        return x * settings.scale

    thread = threading.Thread(target=body, args=(X,))
    thread.start()
    looked.wait(60)
    settings.scale = 2.0
    changed.set()
    thread.join()
    assert settings.scale == 2.0
    assert settings.last is not None
    assert settings.last.tolist() == X.tolist()
    assert body(X).tolist() == (X * 2).tolist()


def test_counters_count_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    settings = SimpleNamespace(calls=0)
    total = 0

    @weft.cell
    def body(x: weft.Tensor) -> weft.Tensor:
        nonlocal total
        total += 1
        settings.calls += 1
        return x * 2

    for _ in range(3):
        body(X)
    assert (settings.calls, total) == (3, 3)


def test_objects_that_cannot_be_looked_at() -> None:
    class Items(dict[str, Any]):
        __getattr__ = dict.__getitem__

    class Raises:
        @property
        def number(self) -> float:
            raise RuntimeError("not now")

    node: Any = None
    for _ in range(3000):
        node = SimpleNamespace(next=node)
    items, raises, reference = Items(scale=2.0), Raises(), weakref.ref(test_a_name_that_is_gone)

    def read(values: Any) -> Any:
        return values["scale"]

    @weft.cell
    def body(x: weft.Tensor) -> weft.Tensor:
        if x.ndim == 5:
            return x * raises.number * (reference() is None) * (node is None)
        return x * read(items)

    assert weft.equal(body(X), X * 2)
    items["scale"] = 3.0
    assert weft.equal(body(X), X * 3)


def test_under_map_each_call_sees_its_own() -> None:
    settings = SimpleNamespace(scale=0.0)

    @weft.cell
    def body(x: weft.Tensor) -> weft.Tensor:
        return x * settings.scale

    def run(number: float) -> weft.Tensor:
        settings.scale = number
        return body(X)

    numbers = [float(i) for i in range(10)]
    results = weft.map(run, numbers)
    assert all(weft.equal(y, X * n) for y, n in zip(results, numbers, strict=True))
