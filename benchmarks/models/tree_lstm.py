"""Binary Tree-LSTM over sentiment trees, a training step: forward, loss, backward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import Row, Settings
from benchmarks.models import dynet_environment
from benchmarks.models.common import (
    MAIN_BATCH,
    Comparison,
    Size,
    check_training,
    check_value,
    compare,
    copy_weights,
    race,
    take_batches,
    timed,
)
from benchmarks.models.trees import CLASSES, VOCABULARY, Tree, read_trees


def make_model(library: Any, hidden: int) -> Any:
    """The model over one tree, as its user writes it: plain ops and recursion."""
    nn = library.nn

    class TreeLSTM(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, hidden)
            self.leaf = nn.Linear(hidden, 3 * hidden)
            self.inner = nn.Linear(2 * hidden, 5 * hidden)
            self.output = nn.Linear(hidden, CLASSES)

        def state(self, tree: Tree) -> tuple[Any, Any]:
            if len(tree) == 2:
                word = self.embedding(library.tensor(tree[1]))
                i, o, u = self.leaf(word).chunk(3, -1)
                c = i.sigmoid() * u.tanh()
            else:
                (left_h, left_c), (right_h, right_c) = self.state(tree[1]), self.state(tree[2])
                i, left, right, o, u = self.inner(library.cat([left_h, right_h], -1)).chunk(5, -1)
                c = i.sigmoid() * u.tanh() + left.sigmoid() * left_c + right.sigmoid() * right_c
            return o.sigmoid() * c.tanh(), c

        def forward(self, tree: Tree) -> Any:
            h, _ = self.state(tree)
            return nn.functional.cross_entropy(self.output(h), library.tensor(tree[0]))

    return TreeLSTM()


def make_cell_model(weft: Any, hidden: int) -> Any:
    """The same model with cells: two ops a node."""
    nn = weft.nn

    @weft.cell
    class LeafCell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gates = nn.Linear(hidden, 3 * hidden)

        def forward(self, word: Any) -> tuple[Any, Any]:
            i, o, u = self.gates(word).chunk(3, -1)
            c = i.sigmoid() * u.tanh()
            return o.sigmoid() * c.tanh(), c

    class CellTreeLSTM(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, hidden)
            self.leaf = LeafCell()
            self.inner = nn.TreeLSTMCell(0, hidden)
            self.output = nn.Linear(hidden, CLASSES)

        def state(self, tree: Tree) -> tuple[Any, Any]:
            if len(tree) == 2:
                return self.leaf(self.embedding(weft.tensor(tree[1])))
            return self.inner(None, (self.state(tree[1]), self.state(tree[2])))

        def forward(self, tree: Tree) -> Any:
            h, _ = self.state(tree)
            return nn.functional.cross_entropy(self.output(h), weft.tensor(tree[0]))

        @staticmethod
        def plain_name(name: str) -> str:
            """Return what a parameter is called in the model without cells."""
            return name.replace(".gates", "").replace(".state_gates", "")

        @staticmethod
        def in_plain_order(name: str, rows: np.ndarray) -> np.ndarray:
            """Exchange the output gate and the new memory, which the cell has the other way."""
            if not name.startswith("inner."):
                return rows
            i, left, right, o, u = np.split(rows, 5)
            return np.concatenate([i, left, right, u, o])

    return CellTreeLSTM()


# ---- PyTorch by hand -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Levels:
    """A batch of trees as index tensors, deepest level first.

    A level is all nodes of one depth, left and right children of one parent side by side. So the
    states of a level, two rows seen as one, are what the level above multiplies with its weight:
    no row is gathered for that. Each level's order puts its inner nodes, just computed, between
    its leaves, all of which were computed in the beginning, those of equal words once.
    """

    words: Any  # different ones
    word_of: Any  # each leaf's number among them
    leaf_counts: list[int]
    orders: list[Any]  # None for a level of one kind
    labels: Any


def build_levels(torch: Any, trees: list[Tree]) -> Levels:
    """Number the nodes of a batch: the index building that is timed inside or outside."""
    words: list[list[int]] = []
    orders: list[list[int]] = []
    level = trees
    while level:
        inner = [tree for tree in level if len(tree) == 3]
        words.append([tree[1] for tree in level if len(tree) == 2])
        order = []
        next_inner, next_leaf = 0, len(inner)
        if inner and len(inner) < len(level):
            for tree in level:
                if len(tree) == 3:
                    order.append(next_inner)
                    next_inner += 1
                else:
                    order.append(next_leaf)
                    next_leaf += 1
        orders.append(order)
        level = [child for tree in inner for child in tree[1:]]
    words.reverse()
    orders.reverse()
    different, word_of = torch.tensor([word for level in words for word in level]).unique(
        return_inverse=True
    )
    return Levels(
        different,
        word_of,
        [len(level) for level in words],
        [torch.tensor(order) if order else None for order in orders],
        torch.tensor([tree[0] for tree in trees]),
    )


def hand_batched_loss(torch: Any, model: Any, levels: Levels) -> Any:
    """The loss of a batch, one level of all trees at a time."""
    size = model.leaf.in_features
    gates = model.leaf(model.embedding(levels.words))
    i, o = gates[:, : 2 * size].sigmoid().chunk(2, 1)
    word_c = i * gates[:, 2 * size :].tanh()
    all_h = (o * word_c.tanh()).index_select(0, levels.word_of)
    all_c = word_c.index_select(0, levels.word_of)
    h: Any = None
    c: Any = None
    for leaf_h, leaf_c, order in zip(
        all_h.split(levels.leaf_counts), all_c.split(levels.leaf_counts), levels.orders, strict=True
    ):
        if h is None:
            h, c = leaf_h, leaf_c
            continue
        gates = model.inner(h.view(-1, 2 * size))
        i, left, right, o = gates[:, : 4 * size].sigmoid().chunk(4, 1)
        children = c.view(-1, 2 * size)
        c = torch.addcmul(
            torch.addcmul(i * gates[:, 4 * size :].tanh(), left, children[:, :size]),
            right,
            children[:, size:],
        )
        h = o * c.tanh()
        if order is not None:
            h = torch.cat([h, leaf_h]).index_select(0, order)
            c = torch.cat([c, leaf_c]).index_select(0, order)
    return torch.nn.functional.cross_entropy(model.output(h), levels.labels)


# ---- The race ------------------------------------------------------------------------------------


def finish(loss: Any) -> Any:
    """Differentiate, and read the loss as a training loop does."""
    loss.backward()
    return loss.item()


def training_steps(
    weft: Any, torch: Any, model: Any, reference: Any
) -> dict[str, Callable[[Any], Any]]:
    """Return what runs one batch, by name.

    All take trees but "torch by hand", which takes Levels: its index building is not timed.
    """

    def lazy(trees: list[Tree]) -> Any:
        model.zero_grad()
        with weft.lazy():
            loss = weft.stack([model(tree) for tree in trees]).mean()
        return finish(loss)

    def mapped(trees: list[Tree]) -> Any:
        model.zero_grad()
        return finish(weft.stack(weft.map(model, trees)).mean())

    def per_example(trees: list[Tree]) -> Any:
        reference.zero_grad()
        return finish(torch.stack([reference(tree) for tree in trees]).mean())

    def by_hand(levels: Levels) -> Any:
        reference.zero_grad()
        return finish(hand_batched_loss(torch, reference, levels))

    def by_hand_with_index(trees: list[Tree]) -> Any:
        return by_hand(build_levels(torch, trees))

    return {
        "lazy": lazy,
        "map": mapped,
        "torch per example": per_example,
        "torch by hand": by_hand,
        "torch by hand + index": by_hand_with_index,
    }


def check(steps: dict[str, Callable[[Any], Any]], model: Any, reference: Any, trees: Any) -> float:
    """Hold all variants against PyTorch's per example; the hand-batched one is no exception."""
    modules = {"lazy": model, "map": model}
    runs = {
        name: (modules.get(name, reference), lambda step=step: step(trees))
        for name, step in steps.items()
        if name != "torch by hand"
    }
    return check_training(runs, "torch per example")["torch per example"]


def bars(size: Size, *, cells: bool) -> tuple[float | None, float | None]:
    """Return required and aimed-at ratio to hand-batched PyTorch."""
    if size.batch != MAIN_BATCH:
        return None, None
    if cells:
        return {64: (1.3, 2.0), 256: (1.0, None)}.get(size.hidden, (None, None))
    return 1.0, 1.5


def measure(
    weft: Any, torch: Any, settings: Settings, size: Size, threads: int, *, cells: bool = False
) -> list[Row]:
    """Measure one size."""
    torch.manual_seed(0)
    reference = make_model(torch, size.hidden)
    model = make_cell_model(weft, size.hidden) if cells else make_model(weft, size.hidden)
    copy_weights(reference, model, weft)
    batches = take_batches(read_trees(), size.batch)
    steps = training_steps(weft, torch, model, reference)
    loss = check(steps, model, reference, batches[0])
    entrants = {
        name: timed(
            batches,
            step,
            (lambda trees: build_levels(torch, trees)) if name == "torch by hand" else None,
        )
        for name, step in steps.items()
    }
    times = race(entrants, settings)
    required, aim = bars(size, cells=cells)
    lines = [
        Comparison("lazy", "torch by hand", required, aim),
        Comparison("lazy", "torch by hand + index", required, aim),
        Comparison("map", "torch by hand + index"),
        Comparison("lazy", "torch per example"),
    ]
    title = f"Tree-LSTM{' with cells' if cells else ''}, {size}"
    rows = compare(title, times, lines, threads)
    if threads == 1 and not cells:
        rows.append(against_dynet(title, times["lazy"], reference, size, batches, loss, settings))
    return rows


def against_dynet(
    title: str,
    time: Any,
    reference: Any,
    size: Size,
    batches: list[list[Tree]],
    loss: float,
    settings: Settings,
) -> Row:
    """Compare with DyNet's autobatch, which runs in its own environment, with one thread."""
    title = f"{title}: lazy / DyNet autobatch"
    required = 2.0 if size.batch == MAIN_BATCH else None
    try:
        result = dynet_environment.time_trees(
            {name: value.numpy() for name, value in reference.state_dict().items()},
            batches[: 5 if settings.quick else 12],
        )
        check_value("DyNet", result.loss, loss)
    except dynet_environment.NoDyNetError as error:
        return Row(title, time, required=required, threads=1, error=str(error))
    return Row(title, time, result.seconds, required=required, threads=1, note="DyNet, not PyTorch")
