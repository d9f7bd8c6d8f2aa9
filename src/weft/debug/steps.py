"""`watch_steps`: warn when the graph of an earlier training step is still in memory."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Self

from weft import _core
from weft.autograd.graph import get_gradient_edge
from weft.debug.holding import Holder, Search, holding
from weft.tracing import Recording

if TYPE_CHECKING:
    from weft._core import Node

_MOST_HOLDERS = 3
_INDEX = re.compile(r"\[[^]]*\]")


class StillAlive(UserWarning):
    """Graphs of earlier steps are still in memory; the message names who holds them.

    Attributes:
        holders: Who does.

    Example:
        >>> import weft, weft.debug
        >>> issubclass(weft.debug.StillAlive, UserWarning)
        True
    """

    def __init__(self, text: str, holders: tuple[Holder, ...] = ()) -> None:
        super().__init__(text)
        self.holders = holders


class StepWatch:
    """Notices that graphs of earlier steps stay alive. Call `step` after each backward.

    A look at one number decides whether to look closer: how many nodes of graphs there are. Only
    if it has grown since `patience` steps ago, Python's objects are searched for tensors with a
    graph from then; that takes tens of milliseconds, and is done at most a few times however long
    the training is.

    Args:
        patience: How many steps a graph may outlive its own. Programs that differentiate several
            losses in turn keep each of them until its next turn.

    Example:
        >>> import weft, weft.debug
        >>> watch = weft.debug.StepWatch(patience=3)
        >>> watch.step() is None  # after each backward
        True
    """

    def __init__(self, patience: int = 3) -> None:
        if patience < 1:
            raise ValueError(f"patience must be at least 1, not {patience}")
        self.patience = patience
        self._counts: list[int] = []  # nodes alive after the last steps
        self._newest: list[int] = []  # the last node made by then
        self._began = _newest_node()
        self._steps = 0
        self._next_search = patience + 1
        self._warned: set[str] = set()

    def step(self) -> StillAlive | None:
        """Look once; return the warning if there is one to give.

        Example:
            >>> import weft, weft.debug
            >>> weft.debug.StepWatch().step() is None
            True
        """
        self._steps += 1
        self._counts.append(_core.live_nodes())
        self._newest.append(_newest_node())
        if len(self._counts) <= self.patience:
            return None
        before, count = self._newest.pop(0), self._counts.pop(0)
        if self._counts[-1] <= count or self._steps < self._next_search:
            return None
        self._next_search = 2 * self._steps
        return self._search(before)

    def _search(self, before: int) -> StillAlive | None:
        """Find who holds ops that were recorded before a node, but since the watch began."""
        old: set[Node] = set()

        def is_old(node: Node) -> bool | None:
            number = node._sequence_nr()
            if number <= self._began:
                return False
            if number > before or node.name() == "AccumulateGrad":
                return None
            old.add(node)
            return True

        tensors = holding(is_old)
        search = Search(tensors)
        holders: dict[str, Holder] = {}
        try:
            for tensor in tensors:
                for holder in search.holders(tensor):
                    # Each item of a list would be one more: the list is what matters.
                    holders.setdefault(_INDEX.sub("[...]", holder.name), holder)
        finally:
            search.close()
        new = {key: holder for key, holder in holders.items() if key not in self._warned}
        if not new:
            return None
        self._warned.update(new)
        shown = "; ".join(map(str, list(new.values())[:_MOST_HOLDERS]))
        more = f"; and {len(new) - _MOST_HOLDERS} more" if len(new) > _MOST_HOLDERS else ""
        text = (
            "graphs of earlier steps are still in memory, and more of them with each step. Held by "
            f"{shown}{more}. Keep numbers instead of tensors (loss.item()), or detach() what the "
            "next step goes on with."
        )
        return StillAlive(text, tuple(new.values()))


def _newest_node() -> int:
    """Return the number of the last node that was made."""
    probe = _core.tensor([0.0])
    probe.requires_grad = True
    return get_gradient_edge(probe).node._sequence_nr()


class watch_steps:  # noqa: N801 - used as a with statement's block
    """Warn, inside a block, when graphs of earlier training steps stay in memory.

    After each call of `backward` the number of live nodes is looked at; if it only grows, a
    `StillAlive` warning names the variables that hold old graphs (`total += loss` instead of
    `total += loss.item()`), each once. `weft.debug.profile` watches as well. The block is observed,
    which costs about a microsecond an op.

    Args:
        patience: How many steps a graph may outlive its own.

    Example:
        >>> import warnings, weft, weft.debug
        >>> def train(steps):
        ...     w, total = weft.ones(2, requires_grad=True), 0
        ...     for _ in range(steps):
        ...         loss = (w * w).sum()
        ...         loss.backward()
        ...         total = total + loss
        >>> with warnings.catch_warnings(record=True) as caught, weft.debug.watch_steps():
        ...     warnings.simplefilter("always")
        ...     train(8)
        >>> [holder.name for holder in caught[0].message.holders]
        ['total in train()']
    """

    def __init__(self, patience: int = 3) -> None:
        self._watch = StepWatch(patience)
        self._run = Recording(values=False, on_event=self._happened)
        self.warnings: list[StillAlive] = []

    def __enter__(self) -> Self:
        self._run.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._run.__exit__(None, None, None)

    def _happened(self, run: Recording, kind: str) -> None:
        if kind != "backward":
            return
        run.clear()
        found = self._watch.step()
        if found is not None:
            self.warnings.append(found)
            warn(found)


def warn(found: StillAlive) -> None:
    """Give a warning, at the line of the first holder if that is known."""
    place = found.holders[0].place if found.holders else None
    if place is None:
        warnings.warn(found, stacklevel=2)
    else:
        warnings.warn_explicit(found, StillAlive, place.file, place.line)
