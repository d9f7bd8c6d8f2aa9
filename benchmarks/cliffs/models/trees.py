"""Networks over trees: Tree-LSTMs, expressions with a module for each kind of node, a parser."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.cliffs.model import Model

WORDS = 100


def tree_lstm(library: Any, hidden: int) -> Any:
    """A binary Tree-LSTM, written as a recursive function."""
    nn = library.nn

    class TreeLSTM(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, hidden)
            self.gates = nn.Linear(2 * hidden, 3 * hidden)
            self.forget = nn.Linear(2 * hidden, 2 * hidden)
            self.output = nn.Linear(hidden, 1)

        def state(self, tree: Any) -> tuple[Any, Any]:
            if isinstance(tree, int):
                word = self.words(library.tensor(tree))
                return word.tanh(), word
            (left, left_cell), (right, right_cell) = map(self.state, tree)
            both = library.cat([left, right], dim=-1)
            i, o, u = self.gates(both).chunk(3, dim=-1)
            f, g = self.forget(both).sigmoid().chunk(2, dim=-1)
            cell = i.sigmoid() * u.tanh() + f * left_cell + g * right_cell
            return o.sigmoid() * cell.tanh(), cell

        def forward(self, tree: Any) -> Any:
            return self.output(self.state(tree)[0]).squeeze() ** 2

    return TreeLSTM()


def balanced_by_hand(torch: Any, model: Any, batch: list[Any]) -> Any:
    """Same-shaped trees, level after level."""

    def leaves(tree: Any) -> list[int]:
        return [tree] if isinstance(tree, int) else [n for child in tree for n in leaves(child)]

    cell = model.words(torch.tensor([leaves(tree) for tree in batch]))
    state = cell.tanh()
    while state.shape[1] > 1:
        both = state.flatten(1).unflatten(1, (-1, 2 * state.shape[-1]))
        i, o, u = model.gates(both).chunk(3, -1)
        f, g = model.forget(both).sigmoid().chunk(2, -1)
        cell = i.sigmoid() * u.tanh() + f * cell[:, ::2] + g * cell[:, 1::2]
        state = o.sigmoid() * cell.tanh()
    return (model.output(state) ** 2).mean()


def draw_tree(rng: random.Random, leaves: int) -> Any:
    if leaves == 1:
        return rng.randrange(WORDS)
    left = rng.randint(1, leaves - 1)
    return (draw_tree(rng, left), draw_tree(rng, leaves - left))


def draw_small_tree(rng: random.Random, _: int) -> Any:
    return draw_tree(rng, rng.randint(3, 9))


def draw_large_tree(rng: random.Random, _: int) -> Any:
    return draw_tree(rng, rng.randint(10, 30))


def draw_balanced(rng: random.Random, depth: int) -> Any:
    if depth == 0:
        return rng.randrange(WORDS)
    return (draw_balanced(rng, depth - 1), draw_balanced(rng, depth - 1))


def balanced(depth: int, batch: int) -> Model:
    """Trees of one shape."""
    return Model(
        f"balanced-{depth}",
        tree_lstm,
        lambda rng, _: draw_balanced(rng, depth),
        batch,
        by_hand=balanced_by_hand,
    )


# ---- Expressions ---------------------------------------------------------------------------------


def expressions(library: Any, hidden: int) -> Any:
    """An encoder of syntax trees: a module of its own for each type of node, and any arity."""
    nn = library.nn

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.names = nn.Embedding(WORDS, hidden)
            self.modules_of = nn.ModuleDict(
                {
                    "binary": nn.Bilinear(hidden, hidden, hidden),
                    "unary": nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU()),
                    "if": nn.Linear(3 * hidden, hidden),
                    "call": nn.GRUCell(hidden, hidden),
                }
            )
            self.output = nn.Linear(hidden, 2)

        def encode(self, node: Any) -> Any:
            kind, *rest = node
            if kind == "name":
                return self.names(library.tensor(rest[0]))
            children = [self.encode(child) for child in rest]
            module = self.modules_of[kind]
            if kind == "binary":
                return module(*children).tanh()
            if kind == "if":
                return module(library.cat(children)).tanh()
            if kind == "call":
                state = library.zeros(hidden)
                for child in children:
                    state = module(child, state)
                return state
            return module(children[0])

        def forward(self, example: tuple[Any, int]) -> Any:
            node, label = example
            scores = self.output(self.encode(node))
            return nn.functional.cross_entropy(scores, library.tensor(label))

    return Encoder()


def draw_node(rng: random.Random, depth: int) -> Any:
    kind = rng.choice(["name", "binary", "binary", "unary", "if", "call"]) if depth else "name"
    if kind == "name":
        return ("name", rng.randrange(WORDS))
    count = {"binary": 2, "unary": 1, "if": 3, "call": rng.randint(1, 3)}[kind]
    return (kind, *(draw_node(rng, depth - 1) for _ in range(count)))


def draw_expression(rng: random.Random, _: int) -> tuple[Any, int]:
    return ("binary", draw_node(rng, 3), draw_node(rng, 3)), rng.randrange(2)


# ---- A parser ------------------------------------------------------------------------------------


def parser(library: Any, hidden: int) -> Any:
    """A transition parser that takes the best allowed action: shift, or reduce left or right."""
    nn = library.nn

    class Parser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, hidden)
            self.empty = nn.Parameter(library.zeros(hidden))
            self.compose = nn.Linear(2 * hidden, hidden)
            self.hidden = nn.Linear(3 * hidden, hidden)
            self.score = nn.Linear(hidden, 3)

        def forward(self, sentence: list[int]) -> Any:
            buffer = [self.words(library.tensor(word)) for word in reversed(sentence)]
            stack: list[Any] = []
            losses = []
            while buffer or len(stack) > 1:
                top = stack[-1] if stack else self.empty
                second = stack[-2] if len(stack) > 1 else self.empty
                front = buffer[-1] if buffer else self.empty
                features = library.cat([top, second, front])
                scores = self.score(self.hidden(features).tanh()).log_softmax(-1)
                allowed = [0] if buffer else []
                if len(stack) > 1:
                    allowed += [1, 2]
                action = max(allowed, key=scores.tolist().__getitem__)
                losses.append(-scores[action])
                if action == 0:
                    stack.append(buffer.pop())
                else:
                    right, left = stack.pop(), stack.pop()
                    pair = [left, right] if action == 1 else [right, left]
                    stack.append(self.compose(library.cat(pair)).tanh())
            return library.stack(losses).sum()

    return Parser()


def draw_sentence(rng: random.Random, _: int) -> list[int]:
    return [rng.randrange(WORDS) for _ in range(rng.randint(3, 9))]


MODELS = [
    Model("tree-lstm", tree_lstm, draw_small_tree, 16, forward=True),
    Model("tree-lstm-one", tree_lstm, draw_large_tree, 1, forward=True),
    balanced(4, 8),
    balanced(5, 4),
    balanced(6, 4),
    balanced(8, 2),
    Model("expressions", expressions, draw_expression, 16),
    Model("parser", parser, draw_sentence, forward=True),
]
