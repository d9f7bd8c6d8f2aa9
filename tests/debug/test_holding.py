"""why_alive: who keeps a tensor and its graph."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import weft
from weft import _core
from weft.debug import Alive, why_alive

w = weft.ones(3, requires_grad=True)


def names(answer: Alive) -> list[str]:
    return [holder.name for holder in answer.holders]


def test_a_variable() -> None:
    loss = (w * 2).exp()
    answer = why_alive(loss)
    assert names(answer) == ["loss in test_a_variable()"]
    (holder,) = answer.holders
    assert holder.kind == "variable"
    assert holder.place is not None
    assert "loss = (w * 2).exp()" in str(answer)
    assert answer.nodes == 3
    assert answer.bytes == 12
    assert answer.place is not None


def test_a_weak_proxy_of_something_dead_is_no_obstacle() -> None:
    class Thing:
        pass

    held = [weakref.proxy(Thing()), w * 2]
    assert names(why_alive(held[1])) == [
        "held[1] in test_a_weak_proxy_of_something_dead_is_no_obstacle()"
    ]


def test_an_item_of_a_list_with_the_line_that_put_it_there() -> None:
    losses = []
    for i in range(3):
        losses.append((w * i).sum())  # the line  # noqa: PERF401
    answer = why_alive(losses[2])
    assert "losses[2] in" in names(answer)[0]
    assert answer.holders[0].kind == "item"
    assert "losses.append((w * i).sum())  # the line" in str(answer)


def test_nested_containers() -> None:
    store = {"a": [(0, w * 2)]}
    assert names(why_alive(store["a"][0][1])) == ["store['a'][0][1] in test_nested_containers()"]


class Trainer:
    def __init__(self) -> None:
        self.history: list[weft.Tensor] = []
        self.last: weft.Tensor | None = None

    def step(self) -> None:
        loss = (w * 2).sum()
        self.history.append(loss)  # in a method
        self.last = loss


def test_attributes_of_objects() -> None:
    trainer = Trainer()
    trainer.step()
    answer = why_alive(trainer.history[0])
    assert names(answer) == [
        "trainer.last in test_attributes_of_objects()",
        "trainer.history[0] in test_attributes_of_objects()",
    ]
    assert "self.history.append(loss)  # in a method" in str(answer)
    assert "self.last = loss" in str(answer)


def test_a_closure() -> None:
    def make() -> Callable[[], weft.Tensor]:
        kept = w * 3
        return lambda: kept

    function = make()
    (name,) = names(why_alive(function()))
    assert name == "kept in the closure of test_a_closure.<locals>.make.<locals>.<lambda>()"


def test_a_hook_that_holds_its_own_graph() -> None:
    def make() -> weft.Tensor:
        h = w * 3
        leaf = weft.ones(3, requires_grad=True)
        leaf.register_hook(lambda gradient: gradient + h)
        return leaf

    leaf = make()
    node = next(
        one
        for one in map(lambda t: t.grad_fn, weft.debug.holding.live_tensors())  # noqa: C417
        if one is not None and one.name() == "MulBackward0"
    )
    assert any("h in the closure of" in name for name in names(why_alive(node)))
    assert leaf.grad is None


GLOBAL = w.exp()


def test_a_global() -> None:
    (name,) = names(why_alive(GLOBAL))
    assert name == f"GLOBAL in module {__name__}"


def generate() -> Iterator[weft.Tensor]:
    inside = w * 5
    yield inside


def test_a_generator() -> None:
    generator = generate()
    (name,) = names(why_alive(next(generator)))
    assert name == "inside in the generator generate()"


def test_part_of_the_graph_of_another_tensor() -> None:
    def make() -> weft.Tensor:
        hidden = w * 2
        return hidden.exp().sum()

    loss = make()
    node = loss.grad_fn.next_functions[0][0]
    answer = why_alive(node)
    assert names(answer) == ["loss in test_part_of_the_graph_of_another_tensor()"]
    assert answer.nodes == 3


def test_a_tensor_without_graph() -> None:
    x = weft.ones(2)
    answer = why_alive(x)
    assert answer.nodes == 0
    assert "It has no graph." in str(answer)
    assert names(answer) == ["x in test_a_tensor_without_graph()"]


def test_nobody() -> None:
    answer = why_alive(w * 2)
    assert not answer
    assert "nothing that Python knows of" in str(answer)


def test_shared_memory_counts_once() -> None:
    x = weft.ones(1000, requires_grad=True) * 1
    y = x * x * x
    assert why_alive(y).bytes == 8000


def test_asking_keeps_nothing_alive() -> None:
    before = _core.live_nodes()
    loss = (w * 2).exp()
    why_alive(loss)
    loss = None
    assert _core.live_nodes() == before
    gc.collect()


def test_a_long_chain() -> None:
    x = w
    for _ in range(20_000):
        x = x * 1
    assert why_alive(x).nodes == 20_001


@pytest.mark.parametrize("what", [3, None, "loss"])
def test_something_else(what: Any) -> None:
    with pytest.raises(TypeError, match="takes a tensor or a node of a graph, not a"):
        why_alive(what)
