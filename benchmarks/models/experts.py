"""Mixture of experts: each token goes to the expert of its highest score, by a plain `if`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Row, Settings
from benchmarks.models.common import (
    MAIN_BATCH,
    Comparison,
    Size,
    check_training,
    compare,
    copy_weights,
    race,
    timed,
)

EXPERTS = 16
TOKENS = 16  # of one example: a batch of 64 has 1024 tokens


def make_model(library: Any, hidden: int) -> Any:
    """The layer over one token.

    SiLU and not ReLU: where a number is nearly zero, rounding would decide about its gradient.
    """
    nn, inner = library.nn, 4 * hidden

    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.router = nn.Linear(hidden, EXPERTS)
            self.experts = nn.ModuleList(
                nn.Sequential(nn.Linear(hidden, inner), nn.SiLU(), nn.Linear(inner, hidden))
                for _ in range(EXPERTS)
            )

        def forward(self, token: Any) -> Any:
            scores = self.router(token)
            chosen = scores.argmax().item()
            for number, expert in enumerate(self.experts):
                if number == chosen:
                    token = token + expert(token) * scores.softmax(-1)[number]
            return (token * token).mean()

    return Experts()


def hand_sorted_loss(torch: Any, model: Any, tokens: Any) -> Any:
    """The loss of all tokens, sorted by their experts."""
    scores = model.router(tokens)
    chosen = scores.argmax(-1)
    order = chosen.argsort()
    counts = torch.bincount(chosen, minlength=EXPERTS).tolist()
    moved = tokens.index_select(0, order)
    parts = [
        expert(part)
        for expert, part in zip(model.experts, moved.split(counts), strict=True)
        if part.shape[0]
    ]
    weights = scores.softmax(-1).gather(1, chosen.unsqueeze(1)).index_select(0, order)
    # The loss is a mean, which does not ask for the tokens' old order: nothing is moved back.
    results = torch.addcmul(moved, torch.cat(parts), weights)
    return (results * results).mean()


def measure(weft: Any, torch: Any, settings: Settings, size: Size, threads: int) -> list[Row]:
    """Measure one size."""
    torch.manual_seed(0)
    reference, model = (make_model(library, size.hidden) for library in (torch, weft))
    celled = weft.cell(type(make_model(weft, size.hidden)))()  # the same code, said to be pure
    for copy in (model, celled):
        copy_weights(reference, copy, weft)
    generator = np.random.default_rng(0)
    shape = (size.batch * TOKENS, size.hidden)
    batches = [generator.standard_normal(shape, dtype=np.float32) for _ in range(4)]

    def finish(loss: Any) -> Any:
        loss.backward()
        return loss.item()

    def mapped(model: Any, tokens: list[Any]) -> Any:
        model.zero_grad()
        return finish(weft.stack(weft.map(model, tokens)).mean())

    plain, as_cell = partial(mapped, model), partial(mapped, celled)

    def per_example(tokens: list[Any]) -> Any:
        reference.zero_grad()
        return finish(torch.stack([reference(token) for token in tokens]).mean())

    def by_hand(tokens: Any) -> Any:
        reference.zero_grad()
        return finish(hand_sorted_loss(torch, reference, tokens))

    def weft_rows(array: np.ndarray) -> list[Any]:
        return list(weft.tensor(array))

    def torch_rows(array: np.ndarray) -> list[Any]:
        return list(torch.tensor(array))

    first = batches[0]
    check_training(
        {
            "map": (model, lambda: plain(weft_rows(first))),
            "map of a cell": (celled, lambda: as_cell(weft_rows(first))),
            "torch by hand": (reference, lambda: by_hand(torch.tensor(first))),
            "torch per example": (reference, lambda: per_example(torch_rows(first))),
        },
        "torch per example",
    )
    times = race(
        {
            "map": timed(batches, plain, weft_rows),
            "map of a cell": timed(batches, as_cell, weft_rows),
            "torch sorted by hand": timed(batches, by_hand, torch.tensor),
            "torch per example": timed(batches, per_example, torch_rows),
        },
        settings,
    )
    required, aim = (1.0, 1.5) if size.batch == MAIN_BATCH else (None, None)
    lines = [
        Comparison("map", "torch sorted by hand", required, aim),
        Comparison("map of a cell", "torch sorted by hand", required, aim),
        Comparison("map", "torch per example"),
    ]
    return compare(f"mixture of {EXPERTS} experts, {size} x {TOKENS}", times, lines, threads)
