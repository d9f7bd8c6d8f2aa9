"""A transition parser whose next action is the argmax of its scores, read as a Python int."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measure import Row, Settings
from benchmarks.models.common import (
    MAIN_BATCH,
    MAIN_HIDDEN,
    Comparison,
    Size,
    check_training,
    compare,
    copy_weights,
    race,
    take_batches,
    timed,
)
from benchmarks.models.trees import VOCABULARY, leaves, read_trees

SHIFT, LEFT, RIGHT = range(3)
FORBIDDEN = -1e9


def make_model(library: Any, hidden: int) -> Any:
    """The parser over one sentence: a stack of LSTM states, three actions."""
    nn = library.nn

    class Parser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, hidden)
            self.empty = nn.Parameter(library.zeros(hidden))
            self.cell = nn.LSTMCell(hidden, hidden)
            self.compose = nn.Linear(2 * hidden, hidden)
            self.hidden = nn.Linear(3 * hidden, hidden)
            self.score = nn.Linear(hidden, 3)

        def push(self, stack: list[Any], vector: Any) -> None:
            h, c = self.cell(vector, (stack[-1][1], stack[-1][2]))
            stack.append((vector, h, c))

        def forward(self, words: list[int], *, with_loss: bool = True) -> tuple[Any, list[int]]:
            """Return minus the log-probability of the actions taken, and the actions."""
            buffer = [self.embedding(library.tensor(word)) for word in words[::-1]]
            zeros = library.zeros(hidden)
            stack = [(self.empty, zeros, zeros)]
            loss, actions = 0.0, []
            while buffer or len(stack) > 2:
                features = [stack[-1][1], stack[-2][1] if len(stack) > 1 else self.empty]
                features.append(buffer[-1] if buffer else self.empty)
                scores = self.score(self.hidden(library.cat(features, -1)).tanh())
                if not buffer:
                    scores = scores + library.tensor([FORBIDDEN, 0.0, 0.0])
                elif len(stack) < 3:
                    scores = scores + library.tensor([0.0, FORBIDDEN, FORBIDDEN])
                action = scores.argmax().item()
                if action == SHIFT:
                    self.push(stack, buffer.pop())
                else:
                    (right, _, _), (left, _, _) = stack.pop(), stack.pop()
                    pair = [left, right] if action == LEFT else [right, left]
                    self.push(stack, self.compose(library.cat(pair, -1)).tanh())
                if with_loss:
                    loss = loss - scores.log_softmax(-1)[action]
                actions.append(action)
            return loss, actions

    return Parser()


def vary_actions(model: Any, torch: Any) -> None:
    """Make scores large enough for a random parser to take all kinds of actions."""
    with torch.no_grad():
        model.score.weight.mul_(4)
        model.hidden.weight.mul_(4)


def measure(weft: Any, torch: Any, settings: Settings, size: Size, threads: int) -> list[Row]:
    """Measure one size: parsing and training."""
    torch.manual_seed(0)
    reference, model = (make_model(library, size.hidden) for library in (torch, weft))
    vary_actions(reference, torch)
    copy_weights(reference, model, weft)
    sentences = [[word for _, word in leaves(tree)] for tree in read_trees()]
    batches = take_batches(sentences, size.batch)

    def train_map(batch: list[list[int]]) -> Any:
        model.zero_grad()
        loss = weft.stack([loss for loss, _ in weft.map(model, batch)]).mean()
        loss.backward()
        return loss.item()

    def train_torch(batch: list[list[int]]) -> Any:
        reference.zero_grad()
        loss = torch.stack([reference(words)[0] for words in batch]).mean()
        loss.backward()
        return loss.item()

    def parse_map(batch: list[list[int]]) -> list[list[int]]:
        with weft.no_grad():
            return weft.map(lambda words: model(words, with_loss=False)[1], batch)

    def parse_torch(batch: list[list[int]]) -> list[list[int]]:
        with torch.no_grad():
            return [reference(words, with_loss=False)[1] for words in batch]

    first = batches[0]
    actions = parse_torch(first)
    if parse_map(first) != actions:
        raise AssertionError("Weft's parser takes other actions than PyTorch's")
    shares = np.bincount([action for one in actions for action in one], minlength=3)
    if shares.min() < 0.05 * shares.sum():
        raise AssertionError(f"the actions are too one-sided: {shares.tolist()}")
    check_training(
        {
            "map": (model, lambda: train_map(first)),
            "torch": (reference, lambda: train_torch(first)),
        },
        "torch",
    )
    times = race(
        {
            "map": timed(batches, train_map),
            "torch per example": timed(batches, train_torch),
            "map, no_grad": timed(batches, parse_map),
            "torch per example, no_grad": timed(batches, parse_torch),
        },
        settings,
    )
    is_main = size.batch == MAIN_BATCH and size.hidden == MAIN_HIDDEN
    required, aim = (15.0, 20.0) if is_main else (None, None)
    lines = [
        Comparison("map", "torch per example", required, aim, "training"),
        Comparison("map, no_grad", "torch per example, no_grad", required, aim, "parsing only"),
    ]
    return compare(f"transition parser, {size}", times, lines, threads)
