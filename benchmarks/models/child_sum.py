"""Child-sum Tree-LSTM over trees whose nodes have any number of children: training."""

from __future__ import annotations

from typing import Any

from benchmarks.measure import Row, Settings
from benchmarks.models.common import Size, copy_weights, take_batches
from benchmarks.models.printed import race_training, training_step
from benchmarks.models.trees import CLASSES, VOCABULARY, Tree, merge_equal_labels, read_trees


def make_model(library: Any, hidden: int) -> Any:
    """The model over one tree."""
    nn = library.nn

    class ChildSum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, hidden)
            self.leaf = nn.Linear(hidden, 3 * hidden)
            self.inner = nn.Linear(hidden, 3 * hidden)
            self.forget = nn.Linear(hidden, hidden)
            self.output = nn.Linear(hidden, CLASSES)

        def state(self, tree: Tree) -> tuple[Any, Any]:
            if isinstance(tree[1], int):
                word = self.embedding(library.tensor(tree[1]))
                i, o, u = self.leaf(word).chunk(3, -1)
                c = i.sigmoid() * u.tanh()
            else:
                states = [self.state(child) for child in tree[1]]
                sum_h = library.stack([h for h, _ in states]).sum(0)
                i, o, u = self.inner(sum_h).chunk(3, -1)
                kept = library.stack([self.forget(h).sigmoid() * c for h, c in states]).sum(0)
                c = i.sigmoid() * u.tanh() + kept
            return o.sigmoid() * c.tanh(), c

        def forward(self, tree: Tree) -> Any:
            h, _ = self.state(tree)
            return nn.functional.cross_entropy(self.output(h), library.tensor(tree[0]))

    return ChildSum()


def build_levels(torch: Any, trees: list[Tree]) -> tuple[Any, list[Any]]:
    """Number the nodes depth by depth: (words of all leaves, levels), deepest first.

    A level is (leaves, order, parents): how many of its nodes are leaves, where each node is among
    inner nodes followed by leaves, and the place of its parent in the level above.
    """
    levels, words = [], []
    level, parents = trees, []
    while level:
        inner = [tree for tree in level if isinstance(tree[1], list)]
        here = [tree[1] for tree in level if isinstance(tree[1], int)]
        next_inner, next_leaf, order = 0, len(inner), []
        for tree in level:
            if isinstance(tree[1], list):
                order.append(next_inner)
                next_inner += 1
            else:
                order.append(next_leaf)
                next_leaf += 1
        levels.append((len(here), torch.tensor(order), torch.tensor(parents)))
        words.append(here)
        parents = [i for i, tree in enumerate(inner) for _ in tree[1]]
        level = [child for tree in inner for child in tree[1]]
    all_words = torch.tensor([word for here in reversed(words) for word in here])
    return all_words, levels[::-1]


def hand_batched_loss(torch: Any, model: Any, trees: list[Tree]) -> Any:
    """The loss of a batch, one depth of all trees at a time."""
    words, levels = build_levels(torch, trees)
    different, word_of = words.unique(return_inverse=True)  # equal words are computed once
    i, o, u = model.leaf(model.embedding(different)).chunk(3, 1)
    word_c = i.sigmoid() * u.tanh()
    all_h = (o.sigmoid() * word_c.tanh()).index_select(0, word_of)
    all_c = word_c.index_select(0, word_of)
    counts = [count for count, _, _ in levels]
    h = c = parents = None
    for leaf_h, leaf_c, (_, order, next_parents) in zip(
        all_h.split(counts), all_c.split(counts), levels, strict=True
    ):
        if h is None:
            h, c = leaf_h, leaf_c
        else:
            rows = order.shape[0] - leaf_h.shape[0]
            zeros = h.new_zeros(rows, h.shape[1])
            kept = zeros.index_add(0, parents, model.forget(h).sigmoid() * c)
            i, o, u = model.inner(zeros.index_add(0, parents, h)).chunk(3, 1)
            c = i.sigmoid() * u.tanh() + kept
            h = o.sigmoid() * c.tanh()
            if leaf_h.shape[0]:
                h = torch.cat([h, leaf_h]).index_select(0, order)
                c = torch.cat([c, leaf_c]).index_select(0, order)
        parents = next_parents
    labels = torch.tensor([tree[0] for tree in trees])
    return torch.nn.functional.cross_entropy(model.output(h), labels)


def measure(weft: Any, torch: Any, settings: Settings, size: Size, threads: int) -> list[Row]:
    """Measure one size."""
    torch.manual_seed(0)
    reference, model = (make_model(library, size.hidden) for library in (torch, weft))
    copy_weights(reference, model, weft)
    batches = take_batches([merge_equal_labels(tree) for tree in read_trees(2048)], size.batch)

    def lazy_losses(trees: list[Tree]) -> list[Any]:
        with weft.lazy():
            return [model(tree) for tree in trees]

    def by_hand(trees: list[Tree]) -> Any:
        reference.zero_grad()
        loss = hand_batched_loss(torch, reference, trees)
        loss.backward()
        return loss.item()

    def per_example(trees: list[Tree]) -> list[Any]:
        return [reference(tree) for tree in trees]

    return race_training(
        f"child-sum Tree-LSTM, {size}",
        {"lazy": (model, training_step(weft, model, lazy_losses))},
        {
            "torch per example": (reference, training_step(torch, reference, per_example)),
            "torch by hand + index": (reference, by_hand),
        },
        batches,
        settings,
        threads,
    )
