"""Tensors that share memory: a write to one is seen by all of them, however they were computed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import nn

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans")


def same_for_all() -> weft.Tensor:
    """Examples that compute the same compute it once."""
    return weft.arange(5.0) * 2


def writes_after_a_view(_: int) -> Any:
    t = same_for_all()
    view = t[1:3]
    before = view.tolist()
    t.add_(10)
    return before, view.tolist()


def writes_a_view(_: int) -> Any:
    t = same_for_all()
    view = t[1:3]
    before = view.tolist()
    view.add_(10)
    return before, t.tolist()


def writes_after_detach(_: int) -> Any:
    t = same_for_all()
    alias = t.detach()
    before = alias.tolist()
    t.add_(10)
    return before, alias.tolist()


def writes_after_a_view_of_an_alias(_: int) -> Any:
    t = same_for_all()
    view = t.detach()[1:3]
    before = view.tolist()
    t.add_(10)
    return before, view.tolist()


def writes_a_detached_view(i: int) -> Any:
    t = weft.arange(5.0) + i
    view = t[1:3].detach()
    before = view.tolist()
    view.add_(10)
    return before, t.tolist()


def writes_what_was_computed(i: int) -> Any:
    t = weft.arange(5.0) + i
    t.tolist()
    view = t.detach()[1:3]
    view.sum().item()
    t.mul_(3)
    return view.tolist()


def writes_a_parameter(i: int) -> Any:
    p = nn.Parameter(weft.arange(5.0) + i)
    view = p.detach()[1:3]
    (view * 2).sum().item()
    with weft.no_grad():
        p.mul_(3)
    return view.tolist()


def writes_a_part_of_a_shared_start(i: int) -> Any:
    memory = weft.zeros(3, 2)
    first = memory[0].sum().item()
    memory[i % 3] = i + 1
    return first, memory.sum().item(), memory.tolist()


def changes_its_shape(i: int) -> Any:
    t = weft.arange(4.0) + i
    view = t[1:3]
    t.unsqueeze_(0)
    t.add_(1)
    return view.tolist(), t.tolist()


def changes_its_shape_under_an_alias(i: int) -> Any:
    t = weft.arange(6.0).reshape(2, 3) + i
    row = t[0]
    row.tolist()
    t.t_()
    t.detach().mul_(2)
    return row.tolist(), t.tolist()


def writes_an_alias_while_views_need_gradients(i: int) -> Any:
    leaf = weft.arange(6.0).reshape(2, 3).requires_grad_()
    t = leaf * 1.5 + i
    view = t[1:]
    parts = view[..., :2], view[..., :2]
    view.tolist()
    alias = parts[1].data
    alias.add_(1)
    return [part.tolist() for part in parts], alias.tolist(), t.tolist()


def writes_a_weight_through_numpy(i: int) -> Any:
    weight = nn.Parameter(weft.arange(6.0).reshape(2, 3) + i)
    numbers = weight.detach().numpy()
    row, column = weight[0], weight.t()[0]
    alias, before = column.data, row * 2
    numbers[:] = 9
    after = row * 2
    alias[1] = 7
    return before.tolist(), after.tolist(), row.tolist(), column.tolist(), numbers.tolist()


def writes_a_weight_through_numpy_of_a_view(i: int) -> Any:
    weight = nn.Parameter(weft.arange(6.0).reshape(2, 3) + i)
    numbers = weight[0].data.numpy()
    numbers[0] = 8
    view = weight[0]
    numbers[1] = 8
    return view.tolist(), weight.tolist()


def writes_a_weight_that_a_detached_view_shows(i: int) -> Any:
    weight = nn.Parameter(weft.arange(6.0).reshape(2, 3) + i)
    turned = weight.t()
    turned.sum().item()
    view = turned[1:]
    before = view * 2
    other, alias = weight.detach(), view.detach()
    other.add_(9)
    return before.tolist(), alias.tolist(), view.tolist()


@pytest.mark.parametrize(
    "program",
    [
        writes_after_a_view,
        writes_a_view,
        writes_after_detach,
        writes_after_a_view_of_an_alias,
        writes_a_detached_view,
        writes_what_was_computed,
        writes_a_parameter,
        writes_a_part_of_a_shared_start,
        changes_its_shape,
        changes_its_shape_under_an_alias,
        writes_an_alias_while_views_need_gradients,
        writes_a_weight_through_numpy,
        writes_a_weight_through_numpy_of_a_view,
        writes_a_weight_that_a_detached_view_shows,
    ],
)
def test_writes_are_seen_by_those_that_share_memory_and_by_no_others(
    program: Callable[[int], Any],
) -> None:
    eager = [program(i) for i in range(3)]
    assert weft.map(program, range(3)) == eager
    assert weft.map(program, range(3), batch=False) == eager
    with weft.lazy():
        assert [program(i) for i in range(3)] == eager


def test_hooks_on_views_stay_when_the_tensor_is_detached() -> None:
    def program(i: int) -> Any:
        leaf = weft.arange(6.0).reshape(2, 3).requires_grad_()
        whole = leaf * 1.5 + i
        view = whole.transpose(0, 1)
        view.retain_grad()
        seen: list[float] = []
        part = view[1:]
        part.register_hook(lambda gradient: seen.append(gradient.sum().item()))
        part.sum().item()
        view.detach()
        whole.detach()
        ((part * part).sum() + (view * 3).sum()).backward()
        assert view.grad is not None
        assert leaf.grad is not None
        return seen, view.grad.tolist(), leaf.grad.tolist()

    eager = [program(i) for i in range(3)]
    assert weft.map(program, range(3)) == eager
    with weft.lazy():
        assert [program(i) for i in range(3)] == eager


def run(seed: int, example: int) -> list[Any]:
    """Make tensors, views and aliases of them, write and read them, as the seed says."""
    chance = random.Random(seed)
    read: list[Any] = []
    tensors = [weft.arange(6.0).reshape(2, 3) * 2]
    for _ in range(chance.randint(4, 14)):
        tensor = chance.choice(tensors)
        number = chance.randint(1, 3)
        steps: list[Callable[[], Any]] = [
            lambda: tensors.append(weft.arange(6.0).reshape(2, 3) * 2),
            lambda: tensors.append(weft.arange(6.0).reshape(2, 3) + example),
            lambda t=tensor: tensors.append(t[1:] if t.shape[0] > 1 else t[0:]),
            lambda t=tensor: tensors.append(t[..., :2]),
            lambda t=tensor: tensors.append(t.transpose(0, -1)),
            lambda t=tensor: tensors.append(t * t + 1),
            lambda t=tensor: tensors.append(t.detach()),
            lambda t=tensor: tensors.append(t.data),
            lambda t=tensor, n=number: t.add_(n),
            lambda t=tensor: t.mul_(2),
            lambda t=tensor, n=number: t.__setitem__(0, n),
            lambda t=tensor: read.append(t.tolist()),
            lambda t=tensor: read.append(t.sum().item()),
        ]
        chance.choice(steps)()
    return [*read, *(tensor.tolist() for tensor in tensors)]


def test_random_writes() -> None:
    for seed in range(300):
        eager = [run(seed, example) for example in range(3)]
        assert weft.map(lambda i, seed=seed: run(seed, i), range(3)) == eager, seed
        with weft.lazy():
            assert [run(seed, example) for example in range(3)] == eager, seed
