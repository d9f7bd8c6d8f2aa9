"""One function, two inputs, two graphs: the graph is what ran, and you can see it."""

# ruff: noqa: SIM108 (the if is what this program is about)

from dataclasses import replace

import weft
import weft.debug


def branch(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = (x - 2).tanh()
    return y


def loss_of(x):
    y = branch(x)
    loss = (y * y).sum()
    loss.backward()
    return loss


POSITIVE = [1.0, -1.0, 2.0]
NEGATIVE = [-3.0, 2.5, 0.25]


def graph_of(title, numbers):
    """Run the function, forward and backward, and return what was recorded."""
    graph = weft.graph(loss_of, weft.tensor(numbers, requires_grad=True))
    return weft.graph(replace(graph.trace, title=title))


def show(title, numbers):
    x = weft.tensor(numbers, requires_grad=True)
    with weft.debug.keep_values():
        y = branch(x)
        loss = (y * y).sum()
    loss.backward()
    print(f"{title}: x = {numbers}")
    weft.debug.print_graph(loss, names={"loss": loss, "y": y, "x": x})
    print()


if __name__ == "__main__":
    print("The same function records another graph when its `if` goes the other way.\n")
    show("The sum is positive", POSITIVE)
    show("The sum is negative", NEGATIVE)
    print("What differs, says weft.diff:\n")
    print(weft.diff(graph_of("positive", POSITIVE), graph_of("negative", NEGATIVE)))
    print(
        "\nChange a number in examples/demo.py and run it again: .venv/bin/python examples/demo.py"
    )
    print()
