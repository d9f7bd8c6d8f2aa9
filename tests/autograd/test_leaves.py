"""Leaves that stop being ones: their gradients go nowhere, not into somebody else."""

from __future__ import annotations

import weft


def test_a_leaf_that_was_detached_in_place_and_is_gone() -> None:
    w = weft.ones(3, requires_grad=True)
    y = w.exp()
    w.detach_()
    assert not w.requires_grad
    del w
    others = [weft.zeros(3) for _ in range(50)]  # in the place of it
    y.sum().backward()
    assert all(other.grad is None for other in others)


def test_a_leaf_that_is_written_stays_one() -> None:
    w = weft.ones(3, requires_grad=True)
    with weft.no_grad():
        w.mul_(2)
    y = (w * w).sum()
    w.data = weft.full((3,), 5.0)
    y.backward()
    assert w.is_leaf
    assert w.grad is not None
