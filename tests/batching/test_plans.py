"""What runs together, and in which order: the plans of small programs, as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import weft
from weft import _core, nn

Tree = int | tuple["Tree", "Tree"]


@weft.cell
def join(a: weft.Tensor, b: weft.Tensor) -> weft.Tensor:
    return (a + b).tanh()


@weft.cell
def meet(a: weft.Tensor, b: weft.Tensor) -> weft.Tensor:
    return (a * b).tanh()


def leaf(number: int) -> weft.Tensor:
    return weft.full((2,), number / 10)


def reduce_tree(tree: Tree, cells: list[Callable[..., weft.Tensor]], depth: int = 0) -> weft.Tensor:
    if isinstance(tree, int):
        return leaf(tree)
    left, right = (reduce_tree(part, cells, depth + 1) for part in tree)
    return cells[depth % len(cells)](left, right)


BALANCED: Tree = ((1, 2), (3, 4))
LEFT: Tree = (((1, 2), 3), 4)
RIGHT: Tree = (5, (6, (7, 8)))


def independent_rows() -> None:
    xs = [leaf(i) for i in range(4)]
    with weft.lazy():
        ys = [x.exp() * 2 for x in xs]
        total = weft.stack(ys).sum()
    total.item()


def one_chain() -> None:
    x = leaf(1)
    with weft.lazy():
        for _ in range(3):
            x = x.tanh()
    x.tolist()


def trees_of_one_shape() -> None:
    with weft.lazy():
        total = weft.stack([reduce_tree(BALANCED, [join]) for _ in range(2)]).sum()
    total.item()


def trees_of_many_shapes() -> None:
    with weft.lazy():
        total = weft.stack([reduce_tree(t, [join]) for t in (BALANCED, LEFT, RIGHT)]).sum()
    total.item()


def trees_of_two_cells() -> None:
    with weft.lazy():
        total = weft.stack([reduce_tree(t, [join, meet]) for t in (BALANCED, LEFT, RIGHT)]).sum()
    total.item()


def ragged_loops() -> None:
    cell = nn.GRUCell(2, 2)
    with weft.lazy():
        ends: list[weft.Tensor] = []
        for length in (1, 3, 2):
            h = weft.zeros(2)
            for step in range(length):
                h = cell(leaf(step + 10 * length), h)
            ends.append(h)
        total = weft.stack(ends).sum()
    total.item()


def a_loss_for_each_step() -> None:
    cell, head = nn.GRUCell(2, 2), nn.Linear(2, 3)
    with weft.lazy():
        losses: list[weft.Tensor] = []
        for length in (2, 3):
            h = weft.zeros(2)
            for step in range(length):
                h = cell(leaf(step + 10 * length), h)
                losses.append(head(h).logsumexp(-1))
        total = weft.stack(losses).sum()
    total.item()


def two_layers_with_weights_of_their_own() -> None:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    with weft.lazy():
        total = weft.stack([second(first(leaf(i))) for i in range(3)]).sum()
    total.item()


def a_weight_computed_in_each_example() -> None:
    weight = nn.Parameter(weft.ones(2, 2))
    with weft.lazy():
        rows = [weft.nn.functional.linear(leaf(i), weight / weight.norm()) for i in range(3)]
        total = weft.stack(rows).sum()
    total.item()


def other_shapes_run_apart() -> None:
    with weft.lazy():
        sums = [weft.full((size,), 0.5).exp().sum() for size in (2, 3, 2)]
        total = weft.stack(sums).sum()
    total.item()


def numbers_and_indices_of_each_example() -> None:
    table = nn.Parameter(weft.ones(5, 2))
    with weft.lazy():
        total = weft.stack([table[i] / (i + 1) for i in range(4)]).sum()
    total.item()


def a_decision_on_a_value() -> None:
    def model(i: int) -> weft.Tensor:
        x = leaf(i)
        return x.exp() if x.sum() > 0.5 else x.neg()

    weft.map(model, range(5))


PLANS = {
    independent_rows: ("exp x 4, mul x 4, stack x 1, sum x 1"),
    one_chain: ("tanh x 1, tanh x 1, tanh x 1"),
    trees_of_one_shape: (
        "full x 1, full x 1, full x 1, full x 1, join x 2, join x 1, stack x 1, sum x 1"
    ),
    trees_of_many_shapes: (
        "full x 1, full x 1, full x 1, full x 1, full x 1, full x 1, full x 1, full x 1, "
        "join x 3, join x 3, join x 2, stack x 1, sum x 1"
    ),
    trees_of_two_cells: (
        "full x 1, full x 1, full x 1, full x 1, full x 1, full x 1, full x 1, full x 1, "
        "meet x 2, join x 3, meet x 2, join x 2, stack x 1, sum x 1"
    ),
    ragged_loops: (
        "zeros x 1, full x 1, full x 1, full x 1, full x 1, full x 1, GRUCell x 3, full x "
        "1, GRUCell x 2, GRUCell x 1, stack x 1, sum x 1"
    ),
    a_loss_for_each_step: (
        "zeros x 1, full x 1, full x 1, full x 1, GRUCell x 2, full x 1, GRUCell x 2, "
        "full x 1, GRUCell x 1, linear x 5, alias x 5, amax x 5, isinf x 5, where x 5, "
        "sub x 5, exp x 5, sum x 5, log x 5, add x 5, squeeze x 5, stack x 1, sum x 1"
    ),
    two_layers_with_weights_of_their_own: (
        "full x 1, full x 1, full x 1, linear x 3, linear x 3, stack x 1, sum x 1"
    ),
    a_weight_computed_in_each_example: (
        "full x 1, mul x 1, sum x 1, alias x 1, eq x 1, where x 1, sqrt x 1, where x 1, "
        "div x 1, full x 1, full x 1, linear x 3, stack x 1, sum x 1"
    ),
    other_shapes_run_apart: (
        "full x 1, exp x 1, sum x 1, full x 1, exp x 1, sum x 1, stack x 1, sum x 1"
    ),
    numbers_and_indices_of_each_example: ("select x 4, div x 4, stack x 1, sum x 1"),
    a_decision_on_a_value: (
        "full x 1, full x 1, full x 1, full x 1, full x 1, sum x 5, gt x 5\nneg x 3, exp x 2"
    ),
}


def plans_text() -> str:
    """Return the plans since the last look, one a line."""
    plans = [
        ", ".join(f"{batch.op} x {batch.rows}" for batch in plan.batches)
        for plan in weft.explain(64).plans
    ]
    return "\n".join(plans)


@pytest.mark.single_ops
@pytest.mark.parametrize("program", PLANS, ids=lambda program: program.__name__)
def test_plan(program: Callable[[], None]) -> None:
    _core.forget_plans()
    program()
    assert plans_text() == PLANS[program]
