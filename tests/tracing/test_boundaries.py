"""Boundaries: where steps end."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence

import weft
from weft import Tensor, _core
from weft.tracing.boundaries import Boundaries, caller_line
from weft.utils.checkpoint import checkpoint


class Heard:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.what: list[str] = []
        self.lines: list[str] = []

    def ended_backward(self, roots: Sequence[Tensor]) -> None:
        self.what.append(f"backward of {len(roots)}")
        self.lines.append(caller_line())

    def began_lazy(self) -> None:
        self.what.append("lazy")

    def ended_map(self, results: Sequence[Tensor]) -> None:
        self.what.append(f"map of {len(results)}")


def heard(program: Callable[[], object]) -> list[str]:
    listener = Heard()
    with Boundaries(listener):
        program()
    return listener.what


def leaf() -> Tensor:
    return weft.tensor([1.0, 2.0], requires_grad=True)


def test_each_way_to_a_gradient_is_heard_once() -> None:
    def program() -> None:
        (leaf() * 2).sum().backward()
        (leaf() * 2).backward(weft.ones(2))
        weft.autograd.backward([(leaf() * 2).sum(), leaf().sum()])
        x = leaf()
        weft.autograd.grad((x * 2).sum(), x)

    assert heard(program) == ["backward of 1", "backward of 1", "backward of 2", "backward of 1"]


def test_gradients_that_are_differentiated_are_part_of_the_step() -> None:
    def program() -> None:
        x = leaf()
        (slope,) = weft.autograd.grad((x**3).sum(), x, create_graph=True)
        slope.sum().backward()

    assert heard(program) == ["backward of 1"]


def test_backward_inside_a_backward_is_not_heard() -> None:
    def program() -> None:
        x = leaf()
        checkpoint(lambda x: (x * 2).tanh(), x, use_reentrant=True).sum().backward()

    assert heard(program) == ["backward of 1"]


def test_maps_and_scopes_are_heard_but_not_what_is_inside() -> None:
    def one(x: Tensor) -> Tensor:
        y = leaf()
        (y * x).sum().backward()
        return x * 2

    def program() -> None:
        weft.map(one, [weft.tensor(1.0), weft.tensor(2.0)])
        with weft.lazy(), weft.lazy():
            weft.ones(2) * 2

    assert heard(program) == ["lazy", "map of 2", "lazy"]


def test_other_threads_are_not_heard() -> None:
    def program() -> None:
        thread = threading.Thread(target=lambda: (leaf() * 2).sum().backward())
        thread.start()
        thread.join()

    assert heard(program) == []


def test_a_backward_that_fails_is_not_heard() -> None:
    def program() -> None:
        loss = (leaf() ** 2).sum()
        loss.backward()
        with contextlib.suppress(RuntimeError):
            loss.backward()
        (leaf() * 2).sum().backward()

    assert heard(program) == ["backward of 1", "backward of 1"]


def test_line_is_the_users() -> None:
    listener = Heard()
    with Boundaries(listener):
        (leaf() * 2).sum().backward()
    assert listener.lines[0].startswith("test_boundaries.py:")


def test_afterwards_all_is_as_it_was() -> None:
    names = ("backward_of_one", "run_backward", "set_lazy", "keep_stacks", "run_tensors")
    before = [getattr(_core, name) for name in names]
    heard(lambda: None)
    assert [getattr(_core, name) for name in names] == before
