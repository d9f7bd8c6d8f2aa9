"""Networks without decisions: chains of some lengths, and several models of one class."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.cliffs.model import Model, normal

WIDTHS = (1, 2, 3)  # times the hidden size


def chain(length: int) -> Any:
    """A recurrent layer, so many steps, of four ops each."""

    def make(library: Any, hidden: int) -> Any:
        nn = library.nn

        class Chain(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.step = nn.Linear(hidden, hidden)

            def forward(self, x: Any) -> Any:
                h = x
                for _ in range(length // 4):
                    h = 0.5 * h + self.step(h).tanh()
                return h.pow(2).mean()

        return Chain()

    def by_hand(torch: Any, model: Any, batch: list[Any]) -> Any:
        h = torch.stack(batch)
        for _ in range(length // 4):
            h = 0.5 * h + model.step(h).tanh()
        return h.pow(2).mean()

    make.__doc__ = chain.__doc__
    batch = max(4, min(64, 1024 // length))
    return Model(f"chain-{length}", make, draw_vector, batch, by_hand=by_hand)


def draw_vector(rng: random.Random, hidden: int) -> Any:
    return normal(rng, hidden)


def scorer(library: Any) -> Any:
    """The class of networks of which the models below have several."""
    nn = library.nn

    class Scorer(nn.Module):
        def __init__(self, inputs: int, hidden: int) -> None:
            super().__init__()
            self.cell, self.output = nn.GRUCell(inputs, hidden), nn.Linear(hidden, 1)
            self.hidden = hidden

        def forward(self, sequence: Any) -> Any:
            h = library.zeros(self.hidden)
            for x in sequence:
                h = self.cell(x, h)
            return self.output(h).squeeze()

    return Scorer


def twins(library: Any, hidden: int) -> Any:
    """Two models of one class that take part in one loss: online and target network."""
    nn, make = library.nn, scorer(library)

    class Twins(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.online, self.target = make(hidden, hidden), make(hidden, hidden)

        def forward(self, sequence: Any) -> Any:
            with library.no_grad():
                wanted = 0.9 * self.target(sequence[1:]) + 1.0
            return nn.functional.smooth_l1_loss(self.online(sequence), wanted)

    return Twins()


def ensemble(library: Any, hidden: int) -> Any:
    """Five models of one class over the same example; the loss is of their mean and spread."""
    nn, make = library.nn, scorer(library)

    class Ensemble(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.members = nn.ModuleList(make(hidden, hidden) for _ in range(5))

        def forward(self, sequence: Any) -> Any:
            scores = library.stack([member(sequence) for member in self.members])
            return (scores.mean() - 1) ** 2 + scores.var()

    return Ensemble()


def widths(library: Any, hidden: int) -> Any:
    """One class at several widths."""
    nn, make = library.nn, scorer(library)

    class Widths(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.members = nn.ModuleList(make(hidden, factor * hidden) for factor in WIDTHS)

        def forward(self, sequence: Any) -> Any:
            return sum(member(sequence) for member in self.members) ** 2

    return Widths()


def draw_sequence(rng: random.Random, hidden: int) -> Any:
    return normal(rng, rng.randint(3, 7), hidden)


MODELS = [
    *(chain(length) for length in (8, 32, 64, 128, 256)),
    Model("twins", twins, draw_sequence, 16),
    Model("ensemble", ensemble, draw_sequence, 4),
    Model("widths", widths, draw_sequence, 8),
]
