"""What a model of this benchmark is: a module over one example, and examples for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Model:
    """One model.

    Attributes:
        name: what it is called on the command line.
        make: makes the module from the library and the hidden size; over an example it returns a
            loss. Its docstring says what the model is.
        draw: makes an example of plain data; arrays in it become tensors.
        batch: how many examples a call has.
        hidden: the hidden size.
        forward: whether forward alone, without gradients, is measured as well.
        by_hand: the mean of a batch's losses in PyTorch, batched by hand.
    """

    name: str
    make: Callable[[Any, int], Any]
    draw: Callable[[random.Random, int], Any]
    batch: int = 8
    hidden: int = 32
    forward: bool = False
    by_hand: Callable[[Any, Any, list[Any]], Any] | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """What is measured."""
        return ("training", "forward") if self.forward else ("training",)

    def draw_batches(self, count: int, batch: int, hidden: int) -> list[list[Any]]:
        """Return batches of plain data, always the same ones."""
        rng = random.Random(0)
        return [[self.draw(rng, hidden) for _ in range(batch)] for _ in range(count)]


def normal(rng: random.Random, *sizes: int) -> np.ndarray:
    """Return normal random numbers."""
    generator = np.random.default_rng(rng.getrandbits(32))
    return generator.standard_normal(sizes, dtype=np.float32)


def to_tensors(library: Any, data: Any) -> Any:
    """Return plain data with tensors in place of arrays."""
    if isinstance(data, np.ndarray):
        return library.tensor(data)
    if isinstance(data, (list, tuple)):
        return type(data)(to_tensors(library, item) for item in data)
    if isinstance(data, dict):
        return {name: to_tensors(library, item) for name, item in data.items()}
    return data
