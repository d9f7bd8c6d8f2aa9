"""One function, two inputs, two graphs: the graph is what ran, and you can see it."""

# ruff: noqa: SIM108 (the if is what this program is about)

import weft
import weft.debug


def branch(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = (x - 2).tanh()
    return y


def show(title, numbers):
    x = weft.tensor(numbers, requires_grad=True)
    with weft.debug.keep_values():
        y = branch(x)
        loss = (y * y).sum()
    loss.backward()
    print(f"{title}: x = {numbers}")
    weft.debug.print_graph(loss, names={"loss": loss, "y": y, "x": x})
    print()


print("The same function records another graph when its `if` goes the other way.\n")
show("The sum is positive", [1.0, -1.0, 2.0])
show("The sum is negative", [-3.0, 2.5, 0.25])
print("Change a number in examples/demo.py and run it again: .venv/bin/python examples/demo.py\n")
