"""Beam search: each hypothesis is a Python object with a state of its own; no gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measure import Row, Settings
from benchmarks.models.common import Comparison, Size, compare, copy_weights, race, timed

WIDTH = 4
STEPS = 16
VOCABULARY = 200


def make_model(library: Any, hidden: int) -> Any:
    """The decoder, with the search over one example."""
    nn = library.nn

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, hidden)
            self.cell = nn.LSTMCell(hidden, hidden)
            self.output = nn.Linear(hidden, VOCABULARY)

        def forward(self, start: Any) -> list[int]:
            """Return the best sequence of tokens."""
            beam = [(0.0, [0], start, library.zeros(hidden))]
            for _ in range(STEPS):
                states, scores = [], []
                for score, tokens, h, c in beam:
                    word = self.embedding(library.tensor(tokens[-1]))
                    h, c = self.cell(word, (h, c))
                    states.append((tokens, h, c))
                    scores.append(self.output(h).log_softmax(-1) + score)
                best, places = library.stack(scores).flatten().topk(WIDTH)
                beam = []
                for score, place in zip(best.tolist(), places.tolist(), strict=True):
                    tokens, h, c = states[place // VOCABULARY]
                    beam.append((score, [*tokens, place % VOCABULARY], h, c))
            return beam[0][1]

    return Decoder()


def search_batched(torch: Any, model: Any, starts: Any) -> list[list[int]]:
    """Search for all examples with one tensor of hypotheses."""
    count = starts.shape[0]
    h, c = starts, torch.zeros_like(starts)
    scores = torch.zeros(count, 1)
    tokens = torch.zeros(count, 1, 1, dtype=torch.long)
    for _ in range(STEPS):
        h, c = model.cell(model.embedding(tokens[:, :, -1].flatten()), (h, c))
        rows = model.output(h).log_softmax(-1).view(count, -1, VOCABULARY) + scores.unsqueeze(-1)
        width = rows.shape[1]
        scores, places = rows.flatten(1).topk(WIDTH)
        parents = places // VOCABULARY
        flat = (parents + torch.arange(count).unsqueeze(1) * width).flatten()
        h, c = h.index_select(0, flat), c.index_select(0, flat)
        old = tokens.view(count * width, -1).index_select(0, flat).view(count, WIDTH, -1)
        tokens = torch.cat([old, (places % VOCABULARY).unsqueeze(-1)], -1)
    return tokens[:, 0].tolist()


def measure(weft: Any, torch: Any, settings: Settings, size: Size, threads: int) -> list[Row]:
    """Measure one size."""
    torch.manual_seed(0)
    reference, model = (make_model(library, size.hidden) for library in (torch, weft))
    copy_weights(reference, model, weft)
    generator = np.random.default_rng(0)
    shape = (size.batch, size.hidden)
    batches = [generator.standard_normal(shape, dtype=np.float32) for _ in range(8)]

    def mapped(batch: Any) -> list[list[int]]:
        with weft.no_grad():
            return weft.map(model, list(weft.tensor(batch)))

    def per_example(batch: Any) -> list[list[int]]:
        with torch.no_grad():
            return [reference(start) for start in torch.tensor(batch)]

    def by_hand(batch: Any) -> list[list[int]]:
        with torch.no_grad():
            return search_batched(torch, reference, torch.tensor(batch))

    expected = per_example(batches[0])
    for name, search in (("map", mapped), ("torch by hand", by_hand)):
        found = search(batches[0])
        different = sum(a != b for a, b in zip(found, expected, strict=True))
        if different > size.batch // 50:  # scores that are nearly equal may change places
            raise AssertionError(f"{name}: {different} of {size.batch} sequences are others")
    times = race(
        {
            "map": timed(batches, mapped),
            "torch per example": timed(batches, per_example),
            "torch by hand": timed(batches, by_hand),
        },
        settings,
    )
    lines = [Comparison("map", "torch per example"), Comparison("map", "torch by hand")]
    return compare(f"beam search, width {WIDTH}, {size}", times, lines, threads)
