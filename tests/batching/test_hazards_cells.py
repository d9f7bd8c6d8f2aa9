"""What once went wrong where a function was replayed that nobody had declared a cell."""

from __future__ import annotations

import copy
import functools
import signal
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import weft
from weft import nn

pytestmark = [pytest.mark.filterwarnings("ignore:more than 20 plans"), pytest.mark.strands]
F = nn.functional


def rows(count: int = 6) -> list[Any]:
    return list(weft.randn(count, 3, generator=weft.Generator().manual_seed(2)))


def is_cell(function: Any) -> bool:
    known = function.__dict__["_weft_mapped"]
    return known.cell is not None and not known.is_off and not known.failures


def check(function: Any, examples: list[Any] | None = None) -> None:
    """Map it some times: it must give what it gives one by one."""
    examples = rows() if examples is None else examples
    for _ in range(3):
        found = weft.map(function, examples, return_exceptions=True)
        expected = weft.map(function, examples, batch=False, return_exceptions=True)
        for one, other in zip(found, expected, strict=True):
            assert type(one) is type(other)
            if isinstance(one, tuple):
                assert [type(part) for part in one] == [type(part) for part in other]
                one, other = one[0], other[0]
            if isinstance(one, weft.Tensor):
                assert weft.allclose(one, other, rtol=1e-5, equal_nan=True)


def test_examples_that_hold_themselves_or_nest_deeply() -> None:
    circle: list[Any] = [weft.ones(3)]
    circle.append(circle)
    deep: Any = weft.ones(3)
    for _ in range(100_000):
        deep = (deep,)

    def first(x: Any) -> Any:
        return x[0] * 2 if len(x) > 1 else weft.zeros(3)

    def nest(x: Any) -> Any:
        result = x * 2
        for _ in range(100_000):
            result = (result,)
        return result

    for _ in range(3):
        assert weft.map(first, [circle] * 2)[0].tolist() == [2, 2, 2]
        assert weft.map(first, [deep] * 2)[0].tolist() == [0, 0, 0]
        assert type(weft.map(nest, [weft.ones(1)])[0]) is tuple
    cell = weft.cell(lambda x: x[0] * 2)
    assert cell(circle).tolist() == [2, 2, 2]
    returned = weft.cell(lambda x: circle)
    assert returned(weft.ones(1)) is circle


def test_parameters_that_are_replaced_by_loading() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 1)
            self.register_buffer("shift", weft.zeros(1))

        def forward(self, x: Any) -> Any:
            return self.layer(x) * 1 + self.shift

    for kind in (Model, weft.cell(type("Celled", (Model,), {"forward": Model.forward}))):
        model = kind()
        for _ in range(2):
            weft.map(model, rows())
        state = {name: weft.ones_like(value) for name, value in model.state_dict().items()}
        model.load_state_dict(state, assign=True)
        found = weft.map(model, rows())
        for x, y in zip(rows(), found, strict=True):
            assert y.item() == pytest.approx(x.sum().item() + 2, rel=1e-4)
        weft.stack(found).sum().backward()
        assert all(parameter.grad is not None for parameter in model.parameters())


def test_results_that_do_not_depend_on_the_example() -> None:
    weight = weft.ones(3)

    def body(x: Any) -> Any:
        return weight * 2, x * 1

    for function in (body, weft.cell(body)):
        for _ in range(3):
            found = weft.map(function, rows())
            found[0][0].fill_(9.0)
            assert found[1][0].tolist() == [2, 2, 2]
            found[2][0].numpy().fill(7.0)
            assert found[3][0].tolist() == [2, 2, 2]
    cell = weft.cell(body)
    with weft.lazy():
        results = [cell(x) for x in rows()]
    results[0][0].fill_(9.0)
    assert results[1][0].tolist() == [2, 2, 2]


def test_floats_are_floats() -> None:
    bodies: list[Callable[[Any, float], Any]] = [
        lambda x, a: x * (1.0 / a),
        lambda x, a: (x * 2, a * 2),
        lambda x, a: x * 2 if isinstance(a, float) else x * 3,
        lambda x, a: x * (a * a / (a + 1e-30)),
        lambda x, a: x * ((a + 1e-9) - a) * 1e9,
        lambda x, a: x * {0.5: 3.0}.get(a, 1.0),
        lambda x, a: x * 1.0 % a,
        lambda x, a: F.relu(a) * x,
        lambda x, a: x * a.sum(),
    ]
    for body in bodies:

        def run(example: Any, body: Any = body) -> Any:
            return body(*example)

        check(run, [(x, 0.5 * (i % 3)) for i, x in enumerate(rows())])
    check(lambda a: weft.tensor(a * 2), [1.0, 2.0])


def test_objects_that_are_the_same() -> None:
    weight = weft.ones(3)
    check(lambda e: e[0] * 2 if e[0] is e[1] else e[0] * 3, [(x, x) for x in rows()])
    check(lambda x: x * 2 if x is weight else x * 3, [weight, weight])
    check(lambda x: x * 2 if any(x is w for w in [weight]) else x * 3, [weight, weight])
    check(lambda e: e[0] * len({e[0], e[1]}), [(x, x) for x in rows()])
    check(lambda e: e[0] * [e[1], e[0]].index(e[0]), [(x, x) for x in rows()])
    check(lambda e: e[0] * len({e[0]: 1, e[1]: 2}), [(x, x) for x in rows()])
    check(lambda x: x * 2 if x is not None else weft.zeros(3))


def test_tensors_from_outside_that_do_not_lie_in_order() -> None:
    weight = weft.arange(6.0).reshape(2, 3)

    def body(x: Any) -> Any:
        return x[0] * weight.view(-1)

    check(body)
    weight = weight.T.contiguous().T
    with pytest.raises(RuntimeError):
        weft.map(body, rows())


def test_lists_that_are_written() -> None:
    def add(example: Any) -> Any:
        x, items = example
        items += ["c"]
        return x * len(items)

    def repeat(example: Any) -> Any:
        x, items = example
        items *= 2
        return x * len(items)

    for body in (add, repeat):
        lists = [["a"] for _ in range(4)]
        for turn in range(3):
            weft.map(body, [(weft.ones(3), items) for items in lists])
            length = turn + 2 if body is add else 2 ** (turn + 1)
            assert [len(items) for items in lists] == [length] * 4


def test_containers_in_results() -> None:
    kept = [1, 2]

    def outside(x: Any) -> Any:
        return x * 2, kept

    def given_back(example: Any) -> Any:
        return example[0] * 2, example[1]

    def twice(x: Any) -> Any:
        made = [x * 2]
        return made, made

    for _ in range(3):
        assert all(result[1] is kept for result in weft.map(outside, rows()))
        lists = [["a", None] for _ in range(3)]
        found = weft.map(given_back, [(weft.ones(3), one) for one in lists])
        assert all(a[1] is b for a, b in zip(found, lists, strict=True))
        assert all(one is other for one, other in weft.map(twice, rows()))


# ---- What changes outside ------------------------------------------------------------------------

SHADOWED: Any = F


def other_relu(x: Any) -> Any:
    return x * 10


def test_changes_that_are_rare() -> None:
    class Model(nn.Module):
        @staticmethod
        def act(x: Any) -> Any:
            return x * 2

        @property
        def factor(self) -> float:
            return 3.0

        def forward(self, x: Any) -> Any:
            return self.act(x) * self.factor

    model = Model()
    check(model)
    assert is_cell(model)
    Model.act = staticmethod(lambda x: x * 5)
    check(model)
    Model.factor = property(lambda _: 7.0)
    check(model)
    assert is_cell(model)

    def with_default(x: Any, factor: float = 2.0, *, more: float = 1.0) -> Any:
        return x * factor + more

    def calls(x: Any) -> Any:
        return with_default(x)

    check(calls)
    assert is_cell(calls)
    with_default.__defaults__ = (5.0,)
    check(calls)
    with_default.__kwdefaults__["more"] = 8.0
    check(calls)
    with_default.__code__ = (lambda x, factor=2.0, *, more=1.0: x - factor).__code__
    check(calls)

    def by_module(x: Any) -> Any:
        return SHADOWED.relu(x) * 2

    global SHADOWED  # noqa: PLW0603 - the point
    check(by_module)
    assert is_cell(by_module)
    SHADOWED = type(nn)("other")
    SHADOWED.relu = other_relu
    check(by_module)


REPLACED: list[tuple[Any, str, Callable[..., Any]]] = [
    (F, "relu", other_relu),
    (weft.Tensor, "tanh", lambda x: x * 3),
    (weft, "exp", lambda x: x * 4),
    (nn.ReLU, "forward", lambda _, x: x * 5),
]


@pytest.mark.parametrize("which", range(len(REPLACED)))
@pytest.mark.parametrize("before", [False, True])
def test_functions_of_weft_that_are_replaced(
    monkeypatch: pytest.MonkeyPatch, which: int, before: bool
) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    calls: list[int] = []

    def body(x: Any) -> Any:
        return F.relu(model(x)).tanh() + weft.exp(x)

    place, name, function = REPLACED[which]
    if not before:
        check(body)
        assert is_cell(body)
    monkeypatch.setattr(place, name, counted(calls, function))
    check(body)
    for _ in range(3):
        calls.clear()
        weft.map(body, rows())
        assert len(calls) == 6


def test_the_order_of_a_dict() -> None:
    factors = {"a": 2.0, "b": 3.0}

    def body(x: Any) -> Any:
        for factor in factors.values():
            x = x * factor + 1
        return x

    check(body)
    factors["a"] = factors.pop("a")
    check(body)
    partial = functools.partial(F.leaky_relu, negative_slope=0.5)
    check(lambda x: partial(x) * 2)
    partial.keywords["negative_slope"] = 0.1
    check(lambda x: partial(x) * 2)


# ---- Effects -------------------------------------------------------------------------------------


def counted(calls: list[int], function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        return function(*args, **kwargs)

    return call


def bodies(calls: list[int]) -> Iterator[Any]:
    """Yield functions and modules that count their calls in odd ways."""
    for hidden in (lambda x: calls.append(1) or x * 2, counted(calls, lambda x: x * 2)):
        model = nn.Sequential(nn.Linear(3, 3))
        model[0].forward = hidden
        yield model
        yield lambda x, model=model: model(x)
    relu = counted(calls, F.relu)
    yield lambda x: relu(x) * 2
    functions = [lambda x, g=g: g(x) for g in (F.relu, counted(calls, F.tanh))]
    yield lambda x: functions[0](x) + functions[1](x)
    yield nn.TransformerEncoderLayer(3, 1, 4, 0.0, activation=counted(calls, F.relu))

    class Checking(nn.Hardtanh):
        def extra_repr(self) -> str:
            return ""

        def forward(self, input: Any) -> Any:
            calls.append(1)
            return super().forward(input)

    yield Checking()

    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.append = 1.0

        def forward(self, x: Any) -> Any:
            items = calls
            items.append(1)
            return x * self.append

    yield Named()


def test_effects_are_had_each_time() -> None:
    calls: list[int] = []
    examples = [weft.ones(2, 3) for _ in range(5)]
    for body in bodies(calls):
        for _ in range(3):
            calls.clear()
            weft.map(body, examples)
            assert len(calls) == 5, body


def test_looking_runs_no_descriptors() -> None:
    calls: list[int] = []

    class Descriptor:
        def __get__(self, instance: Any, kind: Any = None) -> float:
            calls.append(1)
            return 2.0

    class Model(nn.Module):
        factor = Descriptor()

        def forward(self, x: Any) -> Any:
            return x * self.factor

    model = Model()
    for _ in range(3):
        calls.clear()
        weft.map(model, rows())
        assert len(calls) == 6


@pytest.mark.parametrize("declared", [False, True])
def test_interrupts_are_not_swallowed(declared: bool) -> None:
    def slow(x: Any) -> Any:
        total = 0
        for i in range(20_000_000):
            total = total + i % 7
        return x * 2 + total

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    function = weft.cell(slow) if declared else slow
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with pytest.raises(KeyboardInterrupt):
                weft.map(function, [weft.ones(1)])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_modules_that_change_at_each_map_run_as_they_are() -> None:
    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if x.sum() > 0 else x

    model = Model()
    for step in range(100):
        model.step = step
        weft.map(model, rows())
    assert model.__dict__["_weft_mapped"].is_off


def test_cells_refuse_to_tell_of_places_in_the_graph() -> None:
    @weft.cell
    def body(x: Any) -> Any:
        return x * 2 if x.is_leaf and x.grad_fn is None and x.grad is None else x * 3

    x = weft.ones(2, requires_grad=True)
    assert body(x).tolist() == [2, 2]
    assert body(x * 1).tolist() == [3, 3]
    assert "place in the graph" in body.note
    huge = weft.cell(lambda x, n: x * (n % 10))
    assert huge(weft.ones(1), 10**5000 + 3).item() == 3


# ---- Found in a second search --------------------------------------------------------------------


class Scaled(nn.Module):
    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, x: Any) -> Any:
        return x * self.scale


def test_shallow_copies_are_other_models() -> None:
    model = Scaled()
    check(model)
    assert is_cell(model)
    other = copy.copy(model)
    other.scale = 5.0
    for _ in range(3):
        assert weft.map(other, [weft.ones(1)])[0].item() == 5.0
        assert weft.map(model, [weft.ones(1)])[0].item() == 1.0


def test_lists_that_are_sorted() -> None:
    def body(example: Any) -> Any:
        x, names = example
        names.sort()
        return x * len(names)

    for _ in range(3):
        lists = [["b", "a"] for _ in range(3)]
        weft.map(body, list(zip(rows(3), lists, strict=True)))
        assert lists == [["a", "b"]] * 3


def test_static_methods_that_are_not_functions() -> None:
    calls: list[int] = []

    class Model(nn.Module):
        emit = staticmethod(calls.append)

        def forward(self, x: Any) -> Any:
            self.emit(1)
            return x * 2

    model = Model()
    for _ in range(3):
        calls.clear()
        weft.map(model, rows())
        assert len(calls) == 6


def test_python_modules_as_values() -> None:
    module = types.ModuleType("module")
    exec("SCALE = 2.0\ndef softmax(x, dim): return x * SCALE", module.__dict__)

    def body(x: Any) -> Any:
        ops = module if x.sum() > -100 else weft
        return ops.softmax(x, 0) * 1

    check(body)
    module.__dict__["SCALE"] = 3.0
    check(body)


def test_attributes_that_are_put_back() -> None:
    model = Scaled()
    before = dict(model.__dict__)
    model.scale = 2.0

    def body(x: Any) -> Any:
        return model(x) * 1

    check(body)
    assert is_cell(body)
    model.__setstate__(before)
    check(body)


def test_tensors_of_other_classes_from_outside() -> None:
    class Marked(weft.Tensor):
        def __mul__(self, other: Any) -> Any:
            return other + 100

    scale = weft.ones(3)

    def body(x: Any) -> Any:
        return scale * x

    check(body)
    scale = Marked([1.0, 1.0, 1.0])
    check(body)


def test_identity_behind_a_choice() -> None:
    weight = weft.ones(3)
    flag = True

    def body(x: Any) -> Any:
        return x * 2 if x is (weight if flag else None) else x * 3

    check(body, [weight, weight])


@pytest.mark.parametrize("before", [False, True])
def test_operators_and_calls_that_are_replaced(
    monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    calls: list[int] = []
    layer = nn.Linear(3, 3)
    weight = weft.randn(3, 3)

    def body(x: Any) -> Any:
        return layer(x) + weight @ x

    if not before:
        check(body)
        assert is_cell(body)
    monkeypatch.setattr(weft.Tensor, "__matmul__", counted(calls, weft.Tensor.__matmul__))
    for _ in range(3):
        calls.clear()
        weft.map(body, rows())
        assert len(calls) == 6

    monkeypatch.undo()

    def calling(x: Any) -> Any:
        return layer(x) * 1

    if not before:
        check(calling)
        assert is_cell(calling)
    monkeypatch.setattr(nn.Linear, "__call__", counted(calls, nn.Linear.__call__))
    for _ in range(3):
        calls.clear()
        weft.map(calling, rows())
        assert len(calls) == 6


def test_lists_of_other_classes_are_iterated_once() -> None:
    class Counting(list[Any]):
        turns = 0

        def __iter__(self) -> Iterator[Any]:
            Counting.turns += 1
            return super().__iter__()

    def body(x: Any) -> Any:
        return x * 2

    for turn in range(3):
        weft.map(body, Counting(rows()))
        assert Counting.turns == turn + 1


def test_a_rare_way_that_raises_spoils_nothing() -> None:
    layer = nn.Linear(3, 20)

    def loss(example: Any) -> Any:
        x, label = example
        if x.sum() > 1000:
            raise ValueError("too large")
        return F.cross_entropy(layer(x), weft.tensor(label))

    examples = [(x, i % 20) for i, x in enumerate(rows(40))]
    check(loss, examples)
    found = weft.map(loss, [*examples, (weft.full((3,), 1e4), 1)], return_exceptions=True)
    assert isinstance(found[-1], ValueError)
    check(loss, examples)
    assert is_cell(loss)


def test_models_that_should_be_cells() -> None:
    check_cell = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    check(check_cell)
    assert is_cell(check_cell)

    class Choosing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells = nn.ModuleList(nn.GRUCell(3, 3) for _ in range(3))

        def forward(self, x: Any) -> Any:
            for number, one in enumerate(self.cells):
                if x.argmax().item() == number:
                    x = one(x)
            return x.sum()

    model = Choosing()
    check(model, [weft.tensor([1.0, 0.0, 0.0])] * 3)
    check(model, rows(30))
    assert is_cell(model)


def test_results_that_depend_on_no_example() -> None:
    weight = weft.ones(2, requires_grad=True)
    square = weft.tensor([[2.0, 1.0], [1.0, 5.0]], requires_grad=True)
    for make in (
        lambda: 1.5 * weight,
        lambda: 2.5**weight,
        lambda: weight.exp().view(1, 2),
        lambda: weight.exp().chunk(2)[0],
        lambda: weft.linalg.eigh(square)[1],
    ):

        def body(x: Any, make: Callable[[], Any] = make) -> Any:
            shared = make()
            return x * shared, shared

        def run(batch: bool, body: Any = body) -> list[Any]:
            xs = [weft.tensor(2.0), weft.tensor(3.0)]
            pairs = weft.map(weft.cell(body), xs, batch=batch)
            loss = pairs[0][0].sum() + pairs[1][1].sum()
            found = weft.autograd.grad(loss, [pair[1] for pair in pairs])
            pairs[0][1].detach().add_(1)  # nobody else's memory
            return [[pair[1].dtype for pair in pairs], [g.tolist() for g in found],
                    pairs[1][1].tolist()]  # fmt: skip

        assert run(batch=True) == run(batch=False)


def test_what_was_computed_before_a_decision_keeps_its_place() -> None:
    weight = weft.ones(2, requires_grad=True)

    @weft.cell
    def body(x: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        h = x * weight
        c = h.tanh()
        if x.sum() > 2.0:
            return h, c
        return c, h

    with weft.lazy():
        pairs = [body(weft.tensor([0.5, n], requires_grad=True)) for n in (0.25, 0.5)]
        weft.stack([pair[0] for pair in pairs]).sum().item()
    (gradient,) = weft.autograd.grad(pairs[0][0].sum(), [pairs[0][1]])
    assert weft.allclose(gradient, 1 - pairs[0][0] ** 2)
    assert pairs[0][1].grad_fn.name() == "MulBackward0"


@pytest.mark.parametrize("decide", [lambda v: v.sum() > 2.0, lambda v: v.sum() < 2.0])
def test_what_no_example_changes_is_read_and_given(decide: Callable[[Any], Any]) -> None:
    weight = weft.ones(2, requires_grad=True)

    @weft.cell
    def body(x: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        cubes = (weight * 1.5) ** 3
        if decide(cubes):
            return (cubes @ x) * cubes, cubes
        return cubes * 2, cubes

    def run(batch: bool) -> list[Any]:
        xs = list(weft.arange(6.0).reshape(3, 2))
        pairs = weft.map(lambda x: body(x), xs, batch=batch)  # noqa: PLW0108
        kept = [pair[1] for pair in pairs]
        kept[0].register_hook(lambda g: g * 10)
        loss = sum((n + 1) * (one.sum() + two.sum()) for n, (one, two) in enumerate(pairs))
        gradients = weft.autograd.grad(loss, [weight, *kept])
        return [gradient.tolist() for gradient in gradients]

    assert run(batch=True) == run(batch=False)
