"""Ways of writing a model that could be slow: each against PyTorch and eager Weft per example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Row, Settings
from benchmarks.models.common import Size, copy_weights
from benchmarks.models.printed import race_training, training_step

STEPS = 100
WORDS = 500
CLASSES = 6


def index_each_step(library: Any, hidden: int) -> Any:
    """A GRU that takes `y[t]` for each t."""
    nn = library.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inputs, self.cell = nn.Linear(hidden, hidden), nn.GRUCell(hidden, hidden)

        def forward(self, x: Any) -> Any:
            y, h = self.inputs(x), library.zeros(hidden)
            for t in range(len(x)):
                h = self.cell(y[t], h)
            return h.pow(2).mean()

    return Model()


def view_of_what_is_derived(library: Any, hidden: int) -> Any:
    """A product with the transpose of what each example computes from a weight."""
    nn = library.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, hidden)

        def forward(self, x: Any) -> Any:
            words = nn.functional.normalize(self.words.weight, dim=1)
            return (x[0] @ words.t()).logsumexp(-1)

    return Model()


def loss_in_place(library: Any, hidden: int) -> Any:
    """A loss that is added up in place, beginning with a tensor."""
    nn = library.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scores = nn.Linear(hidden, CLASSES)

        def forward(self, x: Any) -> Any:
            loss = library.tensor(0.0)
            for t, row in enumerate(x[: STEPS // 5]):
                loss += nn.functional.cross_entropy(self.scores(row), library.tensor(t % CLASSES))
            return loss

    return Model()


def scores_one_by_one(library: Any, hidden: int) -> Any:
    """Decisions by numbers that are read one after the other."""
    nn = library.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scores, self.next = nn.Linear(hidden, CLASSES), nn.Linear(hidden, hidden)

        def forward(self, x: Any) -> Any:
            h = x[0]
            for _ in range(8):
                scores = self.scores(h).softmax(-1)
                known = scores.detach()
                read = [known[k].item() for k in range(CLASSES)]
                h = self.next(h).tanh() * scores[read.index(max(read))]
            return h.sum()

    return Model()


def attention_over_ragged(library: Any, hidden: int) -> Any:
    """Attention over sentences of different lengths, each as a whole: little runs together."""
    nn = library.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
            self.value, self.output = nn.Linear(hidden, hidden), nn.Linear(hidden, CLASSES)
            self.norm = nn.LayerNorm(hidden)

        def forward(self, x: Any) -> Any:
            y = self.norm(x)
            attention = (self.query(y) @ self.key(y).t() * hidden**-0.5).softmax(-1)
            return self.output((x + attention @ self.value(y)).mean(0)).logsumexp(-1)

    return Model()


MODELS: dict[str, Callable[[Any, int], Any]] = {
    "y[t] for each t": index_each_step,
    "a view of a derived weight": view_of_what_is_derived,
    "a loss added up in place": loss_in_place,
    "scores read one by one": scores_one_by_one,
    "attention over ragged wholes": attention_over_ragged,
}


def draw_batches(ragged: bool, size: Size) -> list[list[np.ndarray]]:
    """Return examples: all of one length, or of lengths up to 30."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(3, 31, size.batch) if ragged else [STEPS] * size.batch
    return [
        [generator.standard_normal((length, size.hidden), dtype=np.float32) for length in lengths]
        for _ in range(3)
    ]


def measure(weft: Any, torch: Any, settings: Settings, size: Size, threads: int) -> list[Row]:
    """Measure one size of all."""
    rows: list[Row] = []
    for name, make in MODELS.items():
        torch.manual_seed(0)
        reference, model = make(torch, size.hidden), make(weft, size.hidden)
        copy_weights(reference, model, weft)

        def tensors(library: Any, batch: Any) -> list[Any]:
            return [library.tensor(x) for x in batch]

        def mapped(batch: Any, model: Any = model) -> list[Any]:
            return weft.map(model, tensors(weft, batch), replay=False)

        def eager(batch: Any, model: Any = model) -> list[Any]:
            return [model(x) for x in tensors(weft, batch)]

        def per_example(batch: Any, model: Any = reference) -> list[Any]:
            return [model(x) for x in tensors(torch, batch)]

        rows += race_training(
            f"{name}, {size}",
            {"map": (model, training_step(weft, model, mapped))},
            {
                "torch per example": (reference, training_step(torch, reference, per_example)),
                "eager Weft": (model, training_step(weft, model, eager)),
            },
            draw_batches(make is attention_over_ragged, size),
            settings,
            threads,
        )
    return rows
