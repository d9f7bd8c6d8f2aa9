"""BiLSTM tagger over sentences of any length, against PyTorch's packed sequences: training."""

from __future__ import annotations

from typing import Any

from benchmarks.measure import Row, Settings
from benchmarks.models.common import (
    MAIN_BATCH,
    Comparison,
    Size,
    check_training,
    compare,
    copy_weights,
    race,
    take_batches,
    timed,
)
from benchmarks.models.trees import CLASSES, VOCABULARY, leaves, read_trees

Sentence = list[tuple[int, int]]  # (tag, word)


def make_model(library: Any, hidden: int) -> Any:
    """The tagger over one sentence: two loops over its words."""
    nn = library.nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, hidden)
            self.ahead = nn.LSTMCell(hidden, hidden)
            self.back = nn.LSTMCell(hidden, hidden)
            self.output = nn.Linear(2 * hidden, CLASSES)

        def run(self, cell: Any, words: list[Any]) -> list[Any]:
            h = c = library.zeros(hidden)
            states = []
            for word in words:
                h, c = cell(word, (h, c))
                states.append(h)
            return states

        def forward(self, sentence: Sentence) -> list[Any]:
            """Return the loss of each word."""
            words = [self.embedding(library.tensor(word)) for _, word in sentence]
            ahead, back = self.run(self.ahead, words), self.run(self.back, words[::-1])[::-1]
            return [
                nn.functional.cross_entropy(
                    self.output(library.cat([left, right], -1)), library.tensor(tag)
                )
                for left, right, (tag, _) in zip(ahead, back, sentence, strict=True)
            ]

    return Tagger()


def make_packed(torch: Any, hidden: int, reference: Any) -> Any:
    """The same with nn.LSTM over packed sequences."""
    nn = torch.nn

    class PackedTagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, hidden)
            self.lstm = nn.LSTM(hidden, hidden, bidirectional=True)
            self.output = nn.Linear(2 * hidden, CLASSES)

        def forward(self, words: Any, tags: Any) -> Any:
            packed = nn.utils.rnn.PackedSequence(
                self.embedding(words.data),
                words.batch_sizes,
                words.sorted_indices,
                words.unsorted_indices,
            )
            states, _ = self.lstm(packed)
            return nn.functional.cross_entropy(self.output(states.data), tags)

        @staticmethod
        def plain_name(name: str) -> str:
            """Return what one of nn.LSTM's weights is called in our cells."""
            part = name.removeprefix("lstm.")
            if part == name:
                return name
            direction = "back" if part.endswith("_reverse") else "ahead"
            return f"{direction}.{part.removesuffix('_reverse').removesuffix('_l0')}"

    model = PackedTagger()
    copy_weights(reference, model, torch)
    return model


def pack(torch: Any, sentences: list[Sentence]) -> tuple[Any, Any]:
    """Turn sentences into packed words and tags: the index building."""
    pack_sequence = torch.nn.utils.rnn.pack_sequence
    sentences = sorted(sentences, key=len, reverse=True)
    words = pack_sequence([torch.tensor([word for _, word in s]) for s in sentences])
    tags = pack_sequence([torch.tensor([tag for tag, _ in s]) for s in sentences])
    return words, tags.data


def measure(weft: Any, torch: Any, settings: Settings, size: Size, threads: int) -> list[Row]:
    """Measure one size."""
    torch.manual_seed(0)
    reference, model = (make_model(library, size.hidden) for library in (torch, weft))
    packed = make_packed(torch, size.hidden, reference)
    copy_weights(reference, model, weft)
    sentences = [leaves(tree) for tree in read_trees()]
    batches = take_batches(sentences, size.batch)

    def finish(library: Any, losses: list[list[Any]]) -> Any:
        loss = library.stack([loss for words in losses for loss in words]).mean()
        loss.backward()
        return loss.item()

    def lazy(batch: list[Sentence]) -> Any:
        model.zero_grad()
        with weft.lazy():
            losses = [model(sentence) for sentence in batch]
            loss = weft.stack([loss for words in losses for loss in words]).mean()
        loss.backward()
        return loss.item()

    def mapped(batch: list[Sentence]) -> Any:
        model.zero_grad()
        return finish(weft, weft.map(model, batch))

    def per_example(batch: list[Sentence]) -> Any:
        reference.zero_grad()
        return finish(torch, [reference(sentence) for sentence in batch])

    def by_hand(data: tuple[Any, Any]) -> Any:
        packed.zero_grad()
        loss = packed(*data)
        loss.backward()
        return loss.item()

    first = batches[0]
    runs = {
        "lazy": (model, lambda: lazy(first)),
        "map": (model, lambda: mapped(first)),
        "torch per example": (reference, lambda: per_example(first)),
        "torch packed": (packed, lambda: by_hand(pack(torch, first))),
    }
    check_training(runs, "torch per example")

    times = race(
        {
            "lazy": timed(batches, lazy),
            "map": timed(batches, mapped),
            # Packing is the index building here: not timed, and timed.
            "torch packed": timed(batches, by_hand, lambda batch: pack(torch, batch)),
            "torch packed + index": timed(batches, lambda batch: by_hand(pack(torch, batch))),
            "torch per example": timed(batches, per_example),
        },
        settings,
    )
    required, aim = (0.9, 1.2) if size.batch == MAIN_BATCH else (None, None)
    lines = [
        Comparison("lazy", "torch packed", required, aim),
        Comparison("lazy", "torch packed + index", required, aim),
        Comparison("map", "torch packed + index"),
        Comparison("lazy", "torch per example"),
    ]
    return compare(f"BiLSTM tagger, {size}", times, lines, threads)
