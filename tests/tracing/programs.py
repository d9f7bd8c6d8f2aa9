"""Programs with all kinds of control flow, to be traced by tests."""

# ruff: noqa: SIM108
# fmt: off
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.tracing.building import Chain, Layer, Number, example


def straight(x: Number) -> Number:
    y = x * 2
    return y.tanh()


def loop(x: Number) -> Number:
    for _ in range(3):
        x = x * 2
        x = x + 1
    return x


def loop_of_one(x: Number) -> Number:
    for _ in range(3):
        x = x * 2
    return x


def loop_once(x: Number) -> Number:
    for _ in range(1):
        x = x * 2
        x = x + 1
    return x


def loop_on_one_line(x: Number) -> Number:
    for _ in range(3): x = x * 2  # noqa: E701
    return x


def nested(x: Number) -> Number:
    for _ in range(2):
        x = x + 1
        for _ in range(3):
            x = x * 2
    return x


def two_loops(x: Number) -> Number:
    for _ in range(2):
        x = x * 2
        x = x.tanh()
    for _ in range(3):
        x = x + 2
        x = x.tanh()
    return x


def alternating(x: Number) -> Number:
    for number in range(4):
        if number % 2:
            x = x * 2
        else:
            x = x + 2
    return x


def until(x: Number, limit: float = 10.0) -> Number:
    while x.sum() < limit:
        x = x * 2
    return x


def cell(h: Number, x: Number) -> Number:
    h = h * x
    return h.tanh()


def calls(x: Number) -> Number:
    h = x
    for _ in range(3):
        h = cell(h, x)
    return h + 1


def two_calls(x: Number) -> Number:
    return cell(x, x) + cell(x, x)


def comprehension(x: Number) -> list[Number]:
    return [cell(x, x) for _ in range(3)]


def mapped(x: Number) -> list[Number]:
    return list(map(lambda y: cell(y, x), [x, x, x]))  # noqa: C417


def recursion(x: Number, depth: int = 2) -> Number:
    if depth == 0:
        return x * 2
    left = recursion(x, depth - 1)
    right = recursion(x, depth - 1)
    return (left + right).tanh()


def recursion_in_a_loop(x: Number, depth: int = 2) -> Number:
    h = x * 3
    if depth:
        for _ in range(depth):
            h = h + recursion_in_a_loop(x, depth - 1)
    return h


def steps(x: Number) -> Iterator[Number]:
    for _ in range(3):
        x = x * 2
        yield x


def generator(x: Number) -> Number:
    total = x
    for y in steps(x):
        total = total + y
    return total


def composites(x: Number) -> Number:
    x = x.twice("mul", "add", "mul")
    for _ in range(2):
        x = x.twice("mul", "add", "mul")
    return x


def caught(x: Number) -> Number:
    try:
        x = x * 2
        raise KeyError
    except KeyError:
        x = x + 1
    return x.tanh()


class Net(Layer):
    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self.first = Layer("first")
        self.second = Layer("second")

    def forward(self, x: Any) -> Any:
        x = self.first(x).tanh()
        return self.second(x)


def module(x: Number) -> Any:
    return Net()(x)


def module_while(x: Number) -> Any:
    net = Net("net")
    while x.sum() < 600:
        x = net(x) * 3 + x * 20
    return x


def layers(x: Number) -> Any:
    for layer in Chain("", Layer("0"), Layer("1"), Layer("2")):
        x = layer(x)
    return x


def chain(x: Number) -> Any:
    return Chain("net", Layer("0"), Layer("1"))(x).tanh()


def examples(x: Number) -> list[Number]:
    results = [x, x]
    for _ in range(2):
        for number in range(2):  # as fibers do: by turns
            with example(number):
                results[number] = results[number] * 2
    return results


def branch(x: Number) -> Number:
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 2
    return y


def branch_then(x: Number) -> Number:
    if x.sum() > 0:
        y = x * 2
    else:
        y = (x - 2).tanh()
    return (y * y).sum()


def without_else(x: Number) -> Number:
    if x.sum() > 0:
        x = x * 2
    return x.tanh()


def nested_branches(x: Number) -> Number:
    if x.sum() > 0:
        if x.sum() > 10:
            y = x * 3
        else:
            y = x + 3
    else:
        y = x - 2
    return y.tanh()


def early(x: Number) -> Number:
    y = x * 2
    if y.sum() > 10:
        return y
    z = y.tanh()
    return z + 1


def counted(x: Number) -> Number:
    n = int(x.sum().item())
    for _ in range(n):
        x = x * 2
    return x.tanh()


def loop_with_branch(x: Number) -> Number:
    for _ in range(3):
        if x.sum() > 0:
            x = x * 2 - 10
        else:
            x = x + 3
    return x.tanh()


def failing(x: Number) -> Number:
    y = x * 2
    z = y.tanh()
    raise ValueError(f"no way on from {len(z.value)} numbers")


def continued(x: Number) -> Number:
    for turn in range(4):
        if turn == 1:
            x = x.tanh()
            continue
        x = x + 1
    return x


def left_behind_a_break(x: Number) -> Number:
    for turn in range(3):
        if turn == 1:
            x = x.tanh()
            if turn:
                break
            continue
        x = x + 1
    return x * 2


def returned(x: Number) -> Number:
    for turn in range(3):
        x = _one_of_two(x, turn)
    return x


def _one_of_two(x: Number, turn: int) -> Number:
    if turn == 1:
        return x.tanh()
    return x + 1


def matched(x: Number) -> Number:
    for turn in range(4):
        match turn:
            case 1:
                x = x.tanh()
            case 2: x = x * 2  # noqa: E701
            case _:
                x = x + 1
    return x
