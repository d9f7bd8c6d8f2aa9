"""What a map, a cell or a row gives out: whose memory it is, and which object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

import weft
from weft import _core, nn
from weft.batching import results

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans in a row")


def plain(function: Any) -> Any:
    return function


def lazily(function: Callable[[], Any]) -> Any:
    with weft.lazy():
        return function()


WAYS: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "eager": lambda function: function(),
    "lazy": lazily,
    "map": lambda function: weft.map(lambda _: function(), range(2))[1],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [plain, weft.cell], ids=["function", "cell"])
def test_what_is_given_twice_or_passed_on_is_one_tensor(make: Any, way: str) -> None:
    @make
    def twice(x: weft.Tensor) -> Any:
        y = x.tanh()
        return y, [y, (y * 2, x)], y

    @make
    def through(x: weft.Tensor, pair: Any, scale: float) -> Any:
        return x * scale, pair[0], pair[1]

    def use() -> None:
        x, first, second = weft.zeros(2), weft.ones(2), weft.ones(2)
        y, [again, (_, given)], last = twice(x)
        assert y is again is last
        assert given is x
        y.add_(5)
        assert again.tolist() == [5.0, 5.0]
        _, one, two = through(x, (first, second), 2.0)
        assert one is first
        one.add_(1)
        second.mul_(3)
        assert first.tolist() == [2.0, 2.0]
        assert two.tolist() == [3.0, 3.0]

    for _ in range(3):
        WAYS[way](use)


def test_a_parameter_that_a_cell_gives_is_the_parameter() -> None:
    @weft.cell
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(weft.ones(2))

        def forward(self, x: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
            return x * self.weight, self.weight

    model = Tied()
    assert model(weft.ones(2))[1] is model.weight
    with weft.lazy():
        result, weight = model(weft.ones(2))
        assert weight is model.weight
    (result.sum() + (weight * 3).sum()).backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [4.0, 4.0]


def test_a_number_that_a_cell_passes_on_is_that_number() -> None:
    cell = weft.cell(lambda x, k: (x * k, k))
    for scale in (2.5, 0.5):
        result, same = cell(weft.ones(1), scale)
        assert (result.item(), same, type(same)) == (scale, scale, float)


def test_memory_that_tensors_share_is_written_for_all_of_them() -> None:
    weight = weft.ones(3, requires_grad=True)
    base, other = weft.zeros(3), weft.zeros(3)
    parameter = nn.Parameter(base, requires_grad=False)
    other.data = base
    with weft.lazy():
        base += weight * 2
    assert base.tolist() == parameter.tolist() == other.tolist() == [2.0] * 3
    weft.map(lambda i: parameter.add_(weight.detach() * i), [1, 2], replay=False)
    assert base.tolist() == parameter.tolist() == other.tolist() == [5.0] * 3


@pytest.mark.parametrize("batch", [False, True])
def test_asking_for_memory_gives_no_gradient_to_views_that_have_none(batch: bool) -> None:
    weight = weft.ones(2, requires_grad=True)

    def model(_: int) -> weft.Tensor:
        y = weight * 2
        with weft.no_grad():
            part = y[0:1]
        y.data_ptr()
        return (part * y).sum()

    total = sum(weft.map(model, [0, 1], batch=batch, replay=False))
    assert weft.autograd.grad(total, weight)[0].tolist() == [8.0, 8.0]


def test_writes_through_what_was_detached_from_equal_views() -> None:
    for _ in range(3):
        views = weft.map(lambda x: (x * 3)[...], [weft.ones(3) for _ in range(3)], replay=False)
        views[0].detach().numpy()[:] += 1
        views[0].add_(0.25)
        assert [x.tolist()[0] for x in views] == [4.25, 3.0, 3.0]


def test_numpy_writes_through_views_of_a_map() -> None:
    def model(x: weft.Tensor) -> weft.Tensor:
        part = x[1:3]
        bool(x.sum() >= 0)
        part.numpy()[0] = 7.0
        return x * 1

    def make() -> list[weft.Tensor]:
        return [weft.zeros(4), weft.ones(4)]

    expected = [x.tolist() for x in weft.map(model, make(), batch=False)]
    assert [x.tolist() for x in weft.map(model, make())] == expected
    xs = make()
    parts = weft.map(lambda x: x[1:3], xs)
    parts[0].numpy()[0] = 7
    assert xs[0].tolist() == [0.0, 7.0, 0.0, 0.0]
    assert parts[0].tolist() == [7.0, 0.0]
    assert parts[1].data_ptr() == xs[1].data_ptr() + 4
    doubled = weft.map(lambda x: x * 2, xs)
    tail = doubled[0][2:]
    doubled[0].numpy()[3] = 9
    assert tail.tolist() == [0.0, 9.0]


@pytest.mark.parametrize("offset", [None, 0, 1])
def test_a_row_cannot_look_at_its_neighbours(offset: int | None) -> None:
    rows = weft.map(lambda x: x * 2, [weft.zeros(3), weft.ones(3), weft.full((3,), 2.0)])
    with pytest.raises(weft.ShapeError):
        rows[1].as_strided((6,), (1,), offset)
    assert rows[1].as_strided((2,), (1,), offset).tolist() == [2.0, 2.0]


@dataclass
class State:
    hidden: Any
    others: list[Any] = field(default_factory=list)


class Slotted:
    __slots__ = ("hidden", "unset")

    def __init__(self, hidden: Any) -> None:
        self.hidden = hidden


class Linked:
    def __init__(self, hidden: Any) -> None:
        self.hidden = hidden
        self.me = self


class Refusing:
    __slots__ = ("hidden", "unset")

    def __init__(self, hidden: Any) -> None:
        self.hidden = hidden

    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)


class OneSlot:
    __slots__ = "hidden"  # noqa: PLC0205 - Python allows it

    def __init__(self, hidden: Any) -> None:
        self.hidden = hidden


def in_itself(hidden: weft.Tensor) -> list[Any]:
    result: list[Any] = [hidden]
    result.append({"me": result})
    return result


RESULTS: dict[str, Callable[[weft.Tensor], Any]] = {
    "dataclass": State,
    "nested": lambda x: (1, {"a": State(None, [State(x)])}),
    "slots": Slotted,
    "circle": Linked,
    "set": lambda x: {x},
    "refusing": Refusing,
    "one slot": OneSlot,
    "in itself": lambda x: Linked(in_itself(x)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_tensors_in_objects_are_computed_with_the_map(name: str) -> None:
    table = nn.Embedding(5, 3)
    made: list[weft.Tensor] = []

    def model(word: int) -> Any:
        made.append(table(weft.tensor(word)))
        return RESULTS[name](made[-1])

    given = weft.map(model, [1, 9, 2], return_exceptions=True)
    assert isinstance(given[1], IndexError)
    assert given[1].__notes__ == ["in example 1 of weft.map"]
    made.clear()
    held = weft.map(model, [1, 3, 2])
    assert len(held) == len(made) == 3
    assert not any(_core.is_pending(x) for x in made)
    with pytest.raises(IndexError) as caught:
        weft.map(model, [1, 2, 9])
    assert caught.value.__notes__ == ["in example 2 of weft.map"]


def test_results_in_very_many_containers_are_all_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only objects of users' classes are bounded."""
    monkeypatch.setattr(results, "_MOST_OBJECTS", 3)
    found = weft.map(lambda i: ({"x": [weft.ones(1) * i]}, State(i)), range(50), replay=False)
    assert not any(_core.is_pending(first["x"][0]) for first, _ in found)
