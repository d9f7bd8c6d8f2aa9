"""Lattice LSTM: characters with words of a lexicon that jump over several of them: training."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.measure import Row, Settings
from benchmarks.models.common import Size, copy_weights, take_batches
from benchmarks.models.printed import race_training, training_step

CHARACTERS = 500
WORDS = 500
TAGS = 8

# Characters, tags, and for each position the words that end there: (first position, word).
Sentence = tuple[list[int], list[int], list[list[tuple[int, int]]]]


def make_sentences(count: int) -> list[Sentence]:
    """Draw sentences of 10 to 40 characters; a word ends at about every second one."""
    choose = random.Random(0)
    sentences = []
    for _ in range(count):
        length = choose.randint(10, 40)
        endings: list[list[tuple[int, int]]] = [[] for _ in range(length)]
        for begin in range(length):
            for size in (2, 3, 4):
                if begin + size <= length and choose.random() < 0.2:
                    endings[begin + size - 1].append((begin, choose.randrange(WORDS)))
        characters = [choose.randrange(CHARACTERS) for _ in range(length)]
        sentences.append((characters, [choose.randrange(TAGS) for _ in characters], endings))
    return sentences


def make_model(library: Any, hidden: int) -> Any:
    """The model over one sentence."""
    nn = library.nn

    class Lattice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.characters = nn.Embedding(CHARACTERS, hidden)
            self.words = nn.Embedding(WORDS, hidden)
            self.character_gates = nn.Linear(2 * hidden, 3 * hidden)
            self.word_gates = nn.Linear(2 * hidden, 3 * hidden)
            self.word_weight = nn.Linear(2 * hidden, hidden)
            self.output = nn.Linear(hidden, TAGS)

        def word_cell(self, word: int, h: Any, c: Any) -> Any:
            """The cell of a word, from the state before its first character."""
            x = self.words(library.tensor(word))
            i, f, u = self.word_gates(library.cat([x, h], -1)).chunk(3, -1)
            return f.sigmoid() * c + i.sigmoid() * u.tanh()

        def forward(self, sentence: Sentence) -> Any:
            characters, tags, endings = sentence
            zeros = library.zeros(hidden)
            states = [(zeros, zeros)]
            loss = 0.0
            for character, tag, words in zip(characters, tags, endings, strict=True):
                h, c = states[-1]
                x = self.characters(library.tensor(character))
                i, o, u = self.character_gates(library.cat([x, h], -1)).chunk(3, -1)
                i, u = i.sigmoid(), u.tanh()
                if not words:
                    c = (1 - i) * c + i * u
                else:
                    cells = [self.word_cell(word, *states[begin]) for begin, word in words]
                    weights = [
                        self.word_weight(library.cat([x, cell], -1)).sigmoid() for cell in cells
                    ]
                    shares = library.stack([i, *weights]).softmax(0)
                    c = (shares * library.stack([u, *cells])).sum(0)
                h = o.sigmoid() * c.tanh()
                states.append((h, c))
                loss = loss + nn.functional.cross_entropy(self.output(h), library.tensor(tag))
            return loss

    return Lattice()


def measure(weft: Any, torch: Any, settings: Settings, size: Size, threads: int) -> list[Row]:
    """Measure one size."""
    torch.manual_seed(0)
    reference, model = (make_model(library, size.hidden) for library in (torch, weft))
    copy_weights(reference, model, weft)
    batches = take_batches(make_sentences(size.batch * 8), size.batch)

    def lazy_losses(batch: list[Sentence]) -> list[Any]:
        with weft.lazy():
            return [model(sentence) for sentence in batch]

    def per_example(batch: list[Sentence]) -> list[Any]:
        return [reference(sentence) for sentence in batch]

    return race_training(
        f"lattice LSTM, {size}",
        {"lazy": (model, training_step(weft, model, lazy_losses))},
        {"torch per example": (reference, training_step(torch, reference, per_example))},
        batches,
        settings,
        threads,
    )
