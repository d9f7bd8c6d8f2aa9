"""What optimizers hear of models that change; tests/optim/test_changing_models.py has the rest."""

from __future__ import annotations

import gc

import weft
from weft import _following
from weft._following import Growth


def test_old_elements_stay_at_the_front() -> None:
    growth = Growth((2, 2), (3, 4), (1, 1))
    grown = growth.write(weft.tensor([[1, 2], [3, 4]]), weft.zeros(3, 4, dtype=weft.int64))
    assert grown.tolist() == [[1, 2, 0, 0], [3, 4, 0, 0], [0, 0, 0, 0]]


def test_old_elements_stay_at_the_front_of_their_blocks() -> None:
    growth = Growth((4,), (6,), (2,))
    grown = growth.write(weft.tensor([1, 2, 3, 4]), weft.zeros(6, dtype=weft.int64))
    assert grown.tolist() == [1, 2, 0, 3, 4, 0]


def test_nobody_keeps_an_optimizer_alive() -> None:
    gc.collect()
    count = len(_following.followers())
    optimizer = weft.optim.SGD([weft.zeros(1, requires_grad=True)])
    assert len(_following.followers()) == count + 1
    del optimizer
    assert len(_following.followers()) == count


def test_new_parameters_come_in_the_order_of_the_model_beside_those_of_others() -> None:
    a, b, c, new = (weft.zeros(1, requires_grad=True) for _ in range(4))
    optimizer = weft.optim.SGD([a, b, c])
    joining = [(optimizer.param_groups[0], new)]
    _following.exchange({"0": a, "1": b}, {"0": a, "1": new}, joining, [b])
    assert optimizer.param_groups[0]["params"] == [a, new, c]
