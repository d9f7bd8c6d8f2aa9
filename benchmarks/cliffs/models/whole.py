"""Networks over whole matrices: attention over ragged sequences, memories, BatchNorm."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from benchmarks.cliffs.model import Model, normal

WORDS = 60
HEADS = 2


def ragged_transformer(library: Any, hidden: int) -> Any:
    """Two blocks of a transformer over a sentence as it is, without padding."""
    nn = library.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
            self.qkv, self.merge = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
            self.inner = nn.Sequential(
                nn.Linear(hidden, 2 * hidden), nn.GELU(), nn.Linear(2 * hidden, hidden)
            )

        def forward(self, x: Any) -> Any:
            q, k, v = (
                part.view(len(x), HEADS, -1).transpose(0, 1)
                for part in self.qkv(self.first(x)).chunk(3, dim=-1)
            )
            scores = q @ k.transpose(-2, -1) / (hidden // HEADS) ** 0.5
            mixed = (scores.softmax(-1) @ v).transpose(0, 1).reshape(len(x), hidden)
            x = x + self.merge(mixed)
            return x + self.inner(self.second(x))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, hidden)
            self.blocks = nn.ModuleList(Block() for _ in range(2))
            self.output = nn.Linear(hidden, 1)

        def forward(self, sentence: list[int]) -> Any:
            x = self.words(library.tensor(sentence))
            for block in self.blocks:
                x = block(x)
            return self.output(x.mean(0)).squeeze() ** 2

    return Transformer()


def ragged_by_hand(torch: Any, model: Any, batch: list[list[int]]) -> Any:
    """Padded sentences, and a mask."""
    lengths = torch.tensor([len(sentence) for sentence in batch])
    words = torch.nn.utils.rnn.pad_sequence([torch.tensor(s) for s in batch], batch_first=True)
    inside = torch.arange(words.shape[1]) < lengths.unsqueeze(1)
    x = model.words(words)
    for block in model.blocks:
        q, k, v = (
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for part in block.qkv(block.first(x)).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~inside[:, None, None], -torch.inf)
        x = x + block.merge((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        x = x + block.inner(block.second(x))
    mean = (x * inside.unsqueeze(-1)).sum(1) / lengths.unsqueeze(1)
    return (model.output(mean) ** 2).mean()


def draw_sentence(rng: random.Random, _: int) -> list[int]:
    return [rng.randrange(WORDS) for _ in range(rng.randint(3, 20))]


def memory_network(library: Any, hidden: int) -> Any:
    """A story of sentences, each the sum of its words, which a question looks up three times."""
    nn = library.nn

    class Memory(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.keys, self.values = nn.Embedding(WORDS, hidden), nn.Embedding(WORDS, hidden)
            self.question, self.hop = nn.Embedding(WORDS, hidden), nn.Linear(hidden, hidden)
            self.answer = nn.Linear(hidden, WORDS)

        def forward(self, task: tuple[list[Any], Any, int]) -> Any:
            story, question, answer = task
            keys = library.stack([self.keys(sentence).sum(0) for sentence in story])
            values = library.stack([self.values(sentence).sum(0) for sentence in story])
            u = self.question(question).sum(0)
            for _ in range(3):
                p = (keys @ u).softmax(0)
                u = self.hop(u) + p @ values
            return nn.functional.cross_entropy(self.answer(u), library.tensor(answer))

    return Memory()


def draw_words(rng: random.Random, most: int) -> Any:
    return np.array([rng.randrange(WORDS) for _ in range(rng.randint(2, most))])


def draw_story(rng: random.Random, _: int) -> tuple[list[Any], Any, int]:
    story = [draw_words(rng, 5) for _ in range(rng.randint(2, 7))]
    return story, draw_words(rng, 5), rng.randrange(WORDS)


def turing_machine(library: Any, hidden: int) -> Any:
    """A controller that reads from and writes to a matrix by content."""
    nn = library.nn

    class Turing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.controller = nn.GRUCell(2 * hidden, hidden)
            self.key, self.erase = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
            self.add = nn.Linear(hidden, hidden)
            self.output = nn.Linear(2 * hidden, hidden)

        def forward(self, inputs: Any) -> Any:
            memory = library.full((6, hidden), 0.01)
            h = read = library.zeros(hidden)
            loss = 0.0
            for x in inputs:
                h = self.controller(library.cat([x, read]), h)
                key = self.key(h).tanh()
                likeness = nn.functional.cosine_similarity(memory, key.unsqueeze(0), dim=-1)
                weights = (5 * likeness).softmax(0).unsqueeze(1)
                memory = memory * (1 - weights * self.erase(h).sigmoid()) + weights * self.add(h)
                read = (weights * memory).sum(0)
                loss = loss + (self.output(library.cat([h, read])) - x).pow(2).mean()
            return loss

    return Turing()


def normalised(library: Any, hidden: int) -> Any:
    """BatchNorm over the rows of each example, which all move the same running statistics."""
    nn = library.nn

    class Normalised(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(hidden, hidden, bias=False) for _ in range(2))
            self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(2))

        def forward(self, x: Any) -> Any:
            for layer, norm in zip(self.layers, self.norms, strict=True):
                x = norm(layer(x)).relu()
            return x.pow(2).mean()

    return Normalised()


MODELS = [
    Model("ragged-transformer", ragged_transformer, draw_sentence, by_hand=ragged_by_hand),
    Model("memory-network", memory_network, draw_story, 16, forward=True),
    Model("turing-machine", turing_machine, lambda rng, h: normal(rng, rng.randint(2, 6), h)),
    Model("batch-norm", normalised, lambda rng, h: normal(rng, 4, h), 32),
]
