"""Small models that weft runs and records, for pages of real runs."""

# ruff: noqa: SIM108 (an if is what some of these are about)

from __future__ import annotations

from typing import Any

import weft
from weft import Tensor, nn
from weft.viewer import Graph

Tree = int | tuple[Any, Any]
TREES: tuple[Tree, ...] = (((1, 2), 3), (4, (5, 6)), 7, ((8, 9), (1, 2)))


class Tagger(nn.Module):
    """A cell over a sequence: a loop whose rounds fold."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.cell = nn.LSTMCell(16, 16)
        self.head = nn.Linear(16, 5)

    def forward(self, words: Tensor) -> Tensor:
        h = c = weft.zeros(1, 16)
        scores: list[Tensor] = []
        for word in words:
            x = self.embedding(word).unsqueeze(0)
            h, c = self.cell(x, (h, c))
            scores.append(self.head(h))
        return weft.cat(scores)


class Gate(nn.Module):
    """A module with a decision in it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x)
        if x.sum() > 0:
            h = h.relu()
        else:
            h = self.second(h).tanh()
        return (h * h).sum()


class TreeModel(nn.Module):
    """Recursion over a tree, with a cell."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.cell = nn.TreeLSTMCell(0, 8)
        self.score = nn.Linear(8, 1)

    def forward(self, tree: Tree) -> Tensor:
        return self.score(self.state(tree)[0]).sum()

    def state(self, tree: Tree) -> tuple[Tensor, Tensor]:
        if isinstance(tree, int):
            x = self.embed(weft.tensor(tree))
            return x.tanh(), x
        left, right = tree
        return self.cell(None, [self.state(left), self.state(right)])


class Block(nn.Module):
    """One block of a transformer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.wide = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        count, width = x.shape
        found: list[Tensor] = []
        for q, k, v in zip(
            self.query(h).chunk(self.heads, -1),
            self.key(h).chunk(self.heads, -1),
            self.value(h).chunk(self.heads, -1),
            strict=True,
        ):
            weights = (q @ k.transpose(0, 1) / (width / self.heads) ** 0.5).softmax(-1)
            found.append(weights @ v)
        x = x + self.output(weft.cat(found, -1)).reshape(count, width)
        return x + self.narrow(self.wide(self.norm(x)).relu())


class Transformer(nn.Module):
    """Blocks of attention, each head by itself: many nodes."""

    def __init__(self, blocks: int = 4, width: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(blocks)])
        self.head = nn.Linear(width, 20)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


# ---- Runs ----------------------------------------------------------------------------------------


def tagger() -> Graph:
    weft.manual_seed(0)
    return weft.graph(Tagger(), weft.arange(37))


def step(model: nn.Module, x: Tensor) -> Tensor:
    loss = model(x)
    loss.backward()
    return loss


def gates() -> tuple[Graph, Graph]:
    """One model, two inputs that go different ways, with gradients."""
    weft.manual_seed(0)
    model = Gate()
    positive = weft.graph(step, model, weft.tensor([1.0, -1.0, 2.0]))
    model.zero_grad()
    return positive, weft.graph(step, model, weft.tensor([-1.0, -2.0, 0.5]))


def tree_step(model: TreeModel, trees: tuple[Tree, ...]) -> Tensor:
    loss = weft.stack(weft.map(model, trees)).mean()
    loss.backward()
    return loss


def trees() -> Graph:
    weft.manual_seed(0)
    return weft.graph(tree_step, TreeModel(), TREES)


class Broken(nn.Module):
    """A forward that makes infinite values, and then fails."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(5, 4)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x).relu()
        logs = (h * 0).log()
        return self.second(logs)


def failing() -> Graph:
    weft.manual_seed(0)
    return weft.graph(Broken(), weft.tensor([1.0, -1.0, 2.0]))


def counted(x: Tensor, limit: float) -> Tensor:
    while x.sum() < limit:
        x = x * 2
    return x.tanh()


def transformer(blocks: int = 4) -> Graph:
    weft.manual_seed(0)
    return weft.graph(Transformer(blocks), weft.arange(12))


def large() -> Graph:
    """A real run of more than 10,000 nodes: a deep transformer, forward and backward."""

    def train(model: Transformer, tokens: Tensor) -> Tensor:
        loss = nn.functional.cross_entropy(model(tokens), tokens)
        loss.backward()
        return loss

    weft.manual_seed(0)
    return weft.graph(train, Transformer(230), weft.arange(12))
