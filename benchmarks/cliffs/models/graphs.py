"""Networks over graphs, with Python loops over nodes and neighbours."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.cliffs.model import Model, normal

ROUNDS = 2


def message_passing(library: Any, hidden: int) -> Any:
    """Messages along each edge, added up, and a GRU cell at each node."""
    nn = library.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.message = nn.Linear(2 * hidden, hidden)
            self.update = nn.GRUCell(hidden, hidden)
            self.output = nn.Linear(hidden, 1)

        def forward(self, graph: Any) -> Any:
            features, neighbours, target = graph
            states = list(features)
            for _ in range(ROUNDS):
                new = []
                for state, near in zip(states, neighbours, strict=True):
                    total = library.zeros(hidden)
                    for other in near:
                        total = total + self.message(library.cat([state, states[other]])).relu()
                    new.append(self.update(total, state))
                states = new
            score = self.output(library.stack(states).mean(0)).squeeze()
            return (score - target) ** 2

    return Network()


def attention(library: Any, hidden: int) -> Any:
    """Attention of each node over its neighbours, of which there may be none."""
    nn = library.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(ROUNDS))
            self.scores = nn.ModuleList(nn.Linear(2 * hidden, 1) for _ in range(ROUNDS))
            self.output = nn.Linear(hidden, 1)

        def forward(self, graph: Any) -> Any:
            states, neighbours, target = graph
            for layer, score in zip(self.layers, self.scores, strict=True):
                values = layer(states)
                new = []
                for i, near in enumerate(neighbours):
                    if not near:
                        new.append(values[i])
                        continue
                    pairs = [library.cat([values[i], values[j]]) for j in near]
                    weights = score(library.stack(pairs)).squeeze(-1).softmax(0)
                    new.append(sum(w * values[j] for w, j in zip(weights, near, strict=True)))
                states = nn.functional.elu(library.stack(new))
            return (self.output(states).mean() - target) ** 2

    return Network()


def draw_graph(rng: random.Random, hidden: int) -> tuple[Any, list[list[int]], float]:
    """Features, the neighbours of each node, and a target."""
    count = rng.randint(4, 8)
    neighbours = [[j for j in range(count) if j != i and rng.random() < 0.35] for i in range(count)]
    return normal(rng, count, hidden), neighbours, rng.random()


MODELS = [
    Model("message-passing", message_passing, draw_graph, forward=True),
    Model("graph-attention", attention, draw_graph),
]
