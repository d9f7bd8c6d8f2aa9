"""Language models over characters, written as people write them: a GPT and an LSTM, in training."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Row, Settings, set_threads
from benchmarks.models.common import Comparison, check_training, compare, copy_weights, race, timed

CHARACTERS = 65
LENGTH = 64
WIDTH = 128


def make_gpt(library: Any, *, explicit: bool = False) -> Any:
    """A GPT of 4 layers and 4 heads.

    Args:
        library: weft or torch.
        explicit: whether attention is written as a masked softmax between two products.
    """
    nn, functional, heads = library.nn, library.nn.functional, 4

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project = nn.Linear(WIDTH, 3 * WIDTH)
            self.out = nn.Linear(WIDTH, WIDTH)
            mask = library.tril(library.ones(LENGTH, LENGTH)).view(1, 1, LENGTH, LENGTH)
            self.register_buffer("mask", mask, persistent=False)

        def forward(self, x: Any) -> Any:
            batch, length, width = x.shape
            query, key, value = (
                part.view(batch, length, heads, width // heads).transpose(1, 2)
                for part in self.project(x).split(width, dim=2)
            )
            if explicit:
                scores = (query @ key.transpose(-2, -1)) * (1.0 / math.sqrt(key.size(-1)))
                mask = self.mask[:, :, :length, :length] == 0
                mixed = functional.softmax(scores.masked_fill(mask, -math.inf), dim=-1) @ value
            else:
                mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            return self.out(mixed.transpose(1, 2).contiguous().view(batch, length, width))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention()
            self.norm2 = nn.LayerNorm(WIDTH)
            self.inner = nn.Sequential(
                nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
            )

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm1(x))
            return x + self.inner(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.characters = nn.Embedding(CHARACTERS, WIDTH)
            self.places = nn.Embedding(LENGTH, WIDTH)
            self.blocks = nn.Sequential(*(Block() for _ in range(4)))
            self.norm = nn.LayerNorm(WIDTH)
            self.head = nn.Linear(WIDTH, CHARACTERS, bias=False)

        def forward(self, text: Any) -> Any:
            x = self.characters(text) + self.places(library.arange(text.size(1)))
            return self.head(self.norm(self.blocks(x)))

    return GPT()


def make_lstm(library: Any, *, cells: bool = False) -> Any:
    """An LSTM of two layers, as nn.LSTM or as a loop over nn.LSTMCell."""
    nn = library.nn

    class Layers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.characters = nn.Embedding(CHARACTERS, WIDTH)
            self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=2, batch_first=True)
            self.head = nn.Linear(WIDTH, CHARACTERS)

        def forward(self, text: Any) -> Any:
            states, _ = self.lstm(self.characters(text))
            return self.head(states)

    class Cells(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.characters = nn.Embedding(CHARACTERS, WIDTH)
            self.cells = nn.ModuleList(nn.LSTMCell(WIDTH, WIDTH) for _ in range(2))
            self.head = nn.Linear(WIDTH, CHARACTERS)

        def forward(self, text: Any) -> Any:
            states: list[Any] = [None for _ in self.cells]
            outputs = []
            for step in self.characters(text).unbind(1):
                x = step
                for i, cell in enumerate(self.cells):
                    states[i] = cell(x, states[i])
                    x = states[i][0]
                outputs.append(x)
            return self.head(library.stack(outputs, 1))

    return Cells() if cells else Layers()


@dataclass(frozen=True)
class Model:
    """One model, how it is trained, and its bar."""

    title: str
    make: Callable[[Any], Any]
    batch: int
    optimizer: str
    clip: float | None = None
    required: float = 1.0


MODELS = {
    "gpt": Model("GPT, 4 layers, width 128, batch 16", make_gpt, 16, "AdamW"),
    "gpt-explicit": Model(
        "GPT, attention by hand, batch 16",
        partial(make_gpt, explicit=True),
        16,
        "AdamW",
    ),
    "char-lstm": Model("char-LSTM, 2 layers, width 128, batch 32", make_lstm, 32, "Adam", 1.0),
    "char-lstm-cells": Model(
        "char-LSTM by LSTMCell, batch 32",
        partial(make_lstm, cells=True),
        32,
        "Adam",
        1.0,
    ),
}


def training_step(library: Any, model: Model, module: Any) -> Callable[[np.ndarray], float]:
    """Return a step: forward, backward, clip, optimizer. PyTorch's optimizer is its fused one."""
    make = getattr(library.optim, model.optimizer)
    optimizer = make(module.parameters(), lr=1e-3, fused=True)
    cross_entropy = library.nn.functional.cross_entropy

    def step(text: np.ndarray) -> float:
        characters = library.from_numpy(text)
        scores = module(characters[:, :-1])
        labels = characters[:, 1:].reshape(-1)
        loss = cross_entropy(scores.view(-1, scores.size(-1)), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if model.clip is not None:
            library.nn.utils.clip_grad_norm_(module.parameters(), model.clip)
        optimizer.step()
        return loss.item()

    return step


def measure(weft: Any, torch: Any, settings: Settings, name: str) -> list[Row]:
    """Measure one model with each number of threads."""
    model, rows = MODELS[name], []
    generator = np.random.default_rng(0)
    texts = [generator.integers(0, CHARACTERS, (model.batch, LENGTH + 1)) for _ in range(8)]
    for threads in settings.threads:
        set_threads(threads, weft, torch)
        torch.manual_seed(0)
        modules = {"weft": model.make(weft), "torch": model.make(torch)}
        copy_weights(modules["torch"], modules["weft"], weft)
        steps = {
            "weft": training_step(weft, model, modules["weft"]),
            "torch": training_step(torch, model, modules["torch"]),
        }
        runs = {key: (modules[key], partial(step, texts[0])) for key, step in steps.items()}
        check_training(runs, "torch")
        times = race({key: timed(texts, step) for key, step in steps.items()}, settings)
        rows += compare(model.title, times, [Comparison("weft", "torch", model.required)], threads)
    return rows
