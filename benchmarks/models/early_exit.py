"""A network that stops at the first layer that is sure enough: training."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measure import Row, Settings
from benchmarks.models.common import Size, copy_weights
from benchmarks.models.printed import race_training, training_step

LAYERS = 12
CLASSES = 10
SURE = 0.55


def make_model(library: Any, hidden: int) -> Any:
    """The network over one example."""
    nn = library.nn

    class EarlyExit(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(LAYERS))
            self.heads = nn.ModuleList(nn.Linear(hidden, CLASSES) for _ in range(LAYERS))

        def forward(self, example: tuple[Any, int]) -> Any:
            h, label = example
            scores = h
            for layer, head in zip(self.layers, self.heads, strict=True):
                h = h + layer(h).tanh()
                scores = head(h)
                if scores.softmax(-1).max() > SURE:
                    break
            return nn.functional.cross_entropy(scores, library.tensor(label))

    return EarlyExit()


def hand_batched_loss(torch: Any, model: Any, h: Any, labels: Any) -> Any:
    """The loss of a batch: after each layer only those stay that are not sure yet."""
    total, count = 0.0, labels.shape[0]
    for number, (layer, head) in enumerate(zip(model.layers, model.heads, strict=True)):
        h = h + layer(h).tanh()
        scores = head(h)
        sure = scores.softmax(-1).amax(-1) > SURE
        if number == LAYERS - 1:
            sure = torch.ones_like(sure)
        leaving = sure.nonzero()[:, 0]
        if leaving.shape[0]:
            total = total + torch.nn.functional.cross_entropy(
                scores.index_select(0, leaving), labels.index_select(0, leaving), reduction="sum"
            )
            staying = (~sure).nonzero()[:, 0]
            h, labels = h.index_select(0, staying), labels.index_select(0, staying)
        if not h.shape[0]:
            break
    return total / count


def measure(weft: Any, torch: Any, settings: Settings, size: Size, threads: int) -> list[Row]:
    """Measure one size."""
    torch.manual_seed(0)
    reference, model = (make_model(library, size.hidden) for library in (torch, weft))
    with torch.no_grad():
        for head in reference.heads:
            head.weight.mul_(1.5)
    copy_weights(reference, model, weft)
    generator = np.random.default_rng(0)
    batches = [
        (
            generator.standard_normal((size.batch, size.hidden), dtype=np.float32),
            generator.integers(0, CLASSES, size.batch),
        )
        for _ in range(8)
    ]

    def examples(library: Any, batch: tuple[Any, Any]) -> list[tuple[Any, int]]:
        return list(zip(list(library.tensor(batch[0])), batch[1].tolist(), strict=True))

    def mapped(batch: tuple[Any, Any]) -> list[Any]:
        return weft.map(model, examples(weft, batch))

    def per_example(batch: tuple[Any, Any]) -> list[Any]:
        return [reference(example) for example in examples(torch, batch)]

    def by_hand(batch: tuple[Any, Any]) -> Any:
        reference.zero_grad()
        loss = hand_batched_loss(torch, reference, torch.tensor(batch[0]), torch.tensor(batch[1]))
        loss.backward()
        return loss.item()

    return race_training(
        f"early exit, {LAYERS} layers, {size}",
        {"map": (model, training_step(weft, model, mapped))},
        {
            "torch per example": (reference, training_step(torch, reference, per_example)),
            "torch by hand": (reference, by_hand),
        },
        batches,
        settings,
        threads,
    )
