"""TreeLSTMCell: leaves, inner nodes, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import nn

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans in a row")


@pytest.mark.parametrize("child_sum", [False, True], ids=["binary", "child-sum"])
def test_a_leaf_is_a_node_whose_children_are_zero(child_sum: bool) -> None:
    cell = nn.TreeLSTMCell(4, 3, child_sum=child_sum).double()
    x = weft.randn(5, 4, dtype=weft.float64)
    nothing = (weft.zeros(5, 3, dtype=weft.float64), weft.zeros(5, 3, dtype=weft.float64))
    expected = cell(x, (nothing, nothing))
    for leaf in (cell(x), cell(x, ()), cell(x, [])):
        weft.testing.assert_close(leaf, expected)
    weft.testing.assert_close([part[2] for part in cell(x)], list(cell(x[2])))


@pytest.mark.parametrize("child_sum", [False, True], ids=["binary", "child-sum"])
def test_trees_with_an_input_at_every_node(child_sum: bool) -> None:
    cell = nn.TreeLSTMCell(4, 3, child_sum=child_sum).double()
    own = weft.randn(9, 4, dtype=weft.float64)

    def state(tree: Any) -> Any:
        if isinstance(tree, int):
            return cell(own[tree])
        return cell(own[0], [state(part) for part in tree])

    trees: list[Any] = [((1, 2), 3), 4, ((5, 6), (7, (8, 1)))]
    if child_sum:
        trees += [(1, 2, 3, (4,)), ((5,), 6)]
    grads: list[Any] = []
    for batch in (True, False):
        losses = weft.map(lambda tree: state(tree)[0].pow(2).sum(), trees, batch=batch)
        grads.append(weft.autograd.grad(weft.stack(losses).sum(), list(cell.parameters())))
    weft.testing.assert_close(grads[0], grads[1])


def test_what_does_not_fit_is_said() -> None:
    state = (weft.zeros(3), weft.zeros(3))
    with pytest.raises(ValueError, match="two children or none, not 3"):
        nn.TreeLSTMCell(4, 3)(weft.zeros(4), (state, state, state))
    with pytest.raises(ValueError, match="an input of size 4"):
        nn.TreeLSTMCell(4, 3)(None, (state, state))
    with pytest.raises(ValueError, match="needs children"):
        nn.TreeLSTMCell(0, 3)(None, ())
    with pytest.raises(ValueError, match="have no input"):
        nn.TreeLSTMCell(0, 3, child_sum=True)(weft.zeros(4), (state,))
