"""Networks over sequences of different lengths, one step after the other."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from benchmarks.cliffs.model import Model, normal

LETTERS = 30
TAGS = 5


def characters(library: Any, hidden: int) -> Any:
    """A character-level LSTM that predicts each next character."""
    nn = library.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.letters = nn.Embedding(LETTERS, hidden)
            self.cell = nn.LSTMCell(hidden, hidden)
            self.scores = nn.Linear(hidden, LETTERS)

        def forward(self, word: Any) -> Any:
            h = c = library.zeros(hidden)
            loss = 0.0
            for t in range(len(word) - 1):
                h, c = self.cell(self.letters(word[t]), (h, c))
                loss = loss + nn.functional.cross_entropy(self.scores(h), word[t + 1])
            return loss / (len(word) - 1)

    return Network()


def characters_by_hand(torch: Any, model: Any, batch: list[Any]) -> Any:
    """Padded words: letters after the end do not count."""
    counts = torch.tensor([len(word) - 1 for word in batch])
    words = torch.nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=-1)
    letters = model.letters(words[:, :-1].clamp_min(0))
    h = c = torch.zeros(len(batch), model.cell.hidden_size)
    outputs = []
    for step in letters.unbind(1):
        h, c = model.cell(step, (h, c))
        outputs.append(h)
    scores = model.scores(torch.stack(outputs, 1)).transpose(1, 2)
    losses = torch.nn.functional.cross_entropy(
        scores, words[:, 1:], ignore_index=-1, reduction="none"
    )
    return (losses.sum(1) / counts).mean()


def draw_word(rng: random.Random, _: int) -> Any:
    return np.array([rng.randrange(LETTERS) for _ in range(rng.randint(5, 14))])


# ---- From sequence to sequence -------------------------------------------------------------------

END = 0


def translate(library: Any, hidden: int) -> Any:
    """Encoder and decoder with attention; the decoder reads its best token and feeds it back."""
    nn = library.nn

    class Translator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.source, self.target = nn.Embedding(LETTERS, hidden), nn.Embedding(LETTERS, hidden)
            self.encoder, self.decoder = nn.GRUCell(hidden, hidden), nn.GRUCell(2 * hidden, hidden)
            self.query, self.scores = nn.Linear(hidden, hidden), nn.Linear(2 * hidden, LETTERS)

        def forward(self, pair: tuple[list[int], list[int]]) -> Any:
            source, target = pair
            h = library.zeros(hidden)
            states = []
            for token in source:
                h = self.encoder(self.source(library.tensor(token)), h)
                states.append(h)
            keys = library.stack(states)
            token, loss = END, 0.0
            for wanted in target:
                weights = library.softmax(keys @ self.query(h), dim=0)
                context = weights @ keys
                h = self.decoder(library.cat([self.target(library.tensor(token)), context]), h)
                scores = self.scores(library.cat([h, context]))
                loss = loss + nn.functional.cross_entropy(scores, library.tensor(wanted))
                token = scores.argmax().item()
                if token == END:
                    break
            return loss

    return Translator()


def draw_pair(rng: random.Random, _: int) -> tuple[list[int], list[int]]:
    source = [rng.randrange(1, LETTERS) for _ in range(rng.randint(3, 8))]
    return source, [*source[::-1], END]


def point(library: Any, hidden: int) -> Any:
    """A pointer network: chooses one input after the other, each once."""
    nn = library.nn

    class Pointer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encode, self.cell = nn.Linear(2, hidden), nn.GRUCell(hidden, hidden)
            self.key, self.query = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
            self.score = nn.Linear(hidden, 1)

        def forward(self, points: Any) -> Any:
            inputs = self.encode(points).tanh()
            keys = self.key(inputs)
            mask = library.zeros(len(points))
            h, chosen, loss = inputs.mean(0), inputs.mean(0), 0.0
            for _ in range(len(points)):
                h = self.cell(chosen, h)
                scores = self.score((keys + self.query(h)).tanh()).squeeze(-1)
                log_p = (scores + mask).log_softmax(0)
                index = int(log_p.argmax())
                loss = loss - log_p[index]
                mask = mask.clone()
                mask[index] = -1e9
                chosen = inputs[index]
            return loss

    return Pointer()


def draw_points(rng: random.Random, _: int) -> Any:
    return normal(rng, rng.randint(3, 7), 2)


# ---- Tags ----------------------------------------------------------------------------------------


def conditional_field(library: Any, hidden: int) -> Any:
    """A conditional random field: the forward algorithm as a loop over words."""
    nn = library.nn

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scores = nn.Linear(hidden, TAGS)
            self.transitions = nn.Parameter(library.randn(TAGS, TAGS))

        def forward(self, sentence: tuple[Any, list[int]]) -> Any:
            features, tags = sentence
            emissions = self.scores(features)
            alpha = emissions[0]
            gold = emissions[0, tags[0]]
            for t in range(1, len(tags)):
                alpha = library.logsumexp(alpha.unsqueeze(1) + self.transitions, 0) + emissions[t]
                gold = gold + self.transitions[tags[t - 1], tags[t]] + emissions[t, tags[t]]
            return library.logsumexp(alpha, 0) - gold

    return Field()


def conditional_field_by_hand(torch: Any, model: Any, batch: list[Any]) -> Any:
    """Padded sentences: after the end, alpha stays as it is."""
    lengths = torch.tensor([len(tags) for _, tags in batch])
    emissions = model.scores(
        torch.nn.utils.rnn.pad_sequence([features for features, _ in batch], batch_first=True)
    )
    rows, places = torch.arange(len(batch)), torch.arange(int(lengths.max()))
    tags = torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(tags) for _, tags in batch], batch_first=True
    )
    inside = places < lengths.unsqueeze(1)
    gold = emissions[rows.unsqueeze(1), places, tags].masked_fill(~inside, 0).sum(1)
    steps = model.transitions[tags[:, :-1], tags[:, 1:]]
    gold = gold + steps.masked_fill(~inside[:, 1:], 0).sum(1)
    alpha = emissions[:, 0]
    for t in range(1, emissions.shape[1]):
        following = (alpha.unsqueeze(2) + model.transitions).logsumexp(1) + emissions[:, t]
        alpha = torch.where(inside[:, t : t + 1], following, alpha)
    return (alpha.logsumexp(1) - gold).mean()


def viterbi(library: Any, hidden: int) -> Any:
    """A structured perceptron: the best path by Viterbi, read back from pointers."""
    nn = library.nn

    class Perceptron(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scores = nn.Linear(hidden, TAGS)
            self.transitions = nn.Parameter(library.randn(TAGS, TAGS))

        def best_path(self, emissions: Any) -> list[int]:
            best, pointers = emissions[0], []
            for t in range(1, len(emissions)):
                best, pointer = (best.unsqueeze(1) + self.transitions).max(dim=0)
                best = best + emissions[t]
                pointers.append(pointer)
            path = [best.argmax().item()]
            for pointer in reversed(pointers):
                path.append(pointer[path[-1]].item())
            return path[::-1]

        def score(self, emissions: Any, tags: list[int]) -> Any:
            total = emissions[0, tags[0]]
            for t in range(1, len(tags)):
                total = total + self.transitions[tags[t - 1], tags[t]] + emissions[t, tags[t]]
            return total

        def forward(self, sentence: tuple[Any, list[int]]) -> Any:
            features, tags = sentence
            emissions = self.scores(features)
            with library.no_grad():
                path = self.best_path(emissions)
            return self.score(emissions, path) - self.score(emissions, tags)

    return Perceptron()


def draw_tagged(rng: random.Random, hidden: int) -> tuple[Any, list[int]]:
    length = rng.randint(3, 12)
    return normal(rng, length, hidden), [rng.randrange(TAGS) for _ in range(length)]


MODELS = [
    Model("characters", characters, draw_word, 16, forward=True, by_hand=characters_by_hand),
    Model("characters-one", characters, draw_word, 1, 64, forward=True),
    Model("translate", translate, draw_pair, 16, forward=True),
    Model("pointer", point, draw_points, 16),
    Model("crf", conditional_field, draw_tagged, 16, by_hand=conditional_field_by_hand),
    Model("viterbi", viterbi, draw_tagged, 16, forward=True),
]
