"""ListOps: nested expressions over digits, drawn at random, and their values.

`[MAX 2 9 [MIN 4 7] 0]` is 9. An expression is a digit, or an operator with two to five arguments.
MED is the median, rounded down; SM is the sum modulo 10.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

Call = tuple[str, tuple["Expression", ...]]
Expression = int | Call

OPERATORS: dict[str, Callable[[Sequence[int]], int]] = {
    "MIN": min,
    "MAX": max,
    "MED": lambda digits: int(statistics.median(digits)),
    "SM": lambda digits: sum(digits) % 10,
}
DEEPEST = 6


@dataclass(frozen=True)
class Example:
    """An expression and what it comes to."""

    expression: Call
    answer: int
    depth: int


def value(expression: Expression) -> int:
    """Return the digit that an expression comes to."""
    if isinstance(expression, int):
        return expression
    operator, arguments = expression
    return OPERATORS[operator]([value(argument) for argument in arguments])


def leaves(expression: Expression) -> int:
    """Return how many digits an expression holds."""
    if isinstance(expression, int):
        return 1
    return sum(leaves(argument) for argument in expression[1])


def text(expression: Expression) -> str:
    """Write an expression as ListOps does."""
    if isinstance(expression, int):
        return str(expression)
    operator, arguments = expression
    return f"[{operator} {' '.join(text(argument) for argument in arguments)}]"


def draw(generator: random.Random, depth: int, fewest: int = 5, most: int = 50) -> Example:
    """Draw an expression of exactly this depth, with a number of leaves within the bounds."""
    while True:
        expression = _grow(generator, depth)
        if fewest <= leaves(expression) <= most:
            return Example(expression, value(expression), depth)


def _grow(generator: random.Random, depth: int) -> Call:
    depths = [0] * generator.randint(2, 5)
    if depth > 1:  # a quarter of the arguments are expressions themselves
        depths = [generator.choice([0, 0, 0, generator.randint(1, depth - 1)]) for _ in depths]
    depths[generator.randrange(len(depths))] = depth - 1
    operator = generator.choice(list(OPERATORS))
    return operator, tuple(
        _grow(generator, each) if each else generator.randrange(10) for each in depths
    )


def draw_held_out(generator: random.Random, each: int) -> list[Example]:
    """Draw this many different expressions of each depth, which training will not see."""
    found: dict[Call, Example] = {}
    for depth in range(1, DEEPEST + 1):
        while len(found) < depth * each:
            example = draw(generator, depth)
            found[example.expression] = example
    return list(found.values())


def draw_batch(
    generator: random.Random, size: int, deepest: int, held_out: Collection[Call]
) -> list[Example]:
    """Draw examples of all depths up to one; those of depth 1 may be as short as `[SM 4 7]`."""
    batch: list[Example] = []
    while len(batch) < size:
        depth = generator.randint(1, deepest)
        example = draw(generator, depth, fewest=2 if depth == 1 else 5)
        if example.expression not in held_out:
            batch.append(example)
    return batch


def majority(examples: Sequence[Example]) -> tuple[int, float]:
    """Return the most frequent answer and how often it is right."""
    (answer, count), *_ = Counter(example.answer for example in examples).most_common(1)
    return answer, count / len(examples)
