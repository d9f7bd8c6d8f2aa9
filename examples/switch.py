"""Choose the model by the input, with a plain `if`.

    python examples/switch.py            # some seconds
    python examples/switch.py --quick    # fewer steps

Readings are either one number or a list of numbers of any length, and the task is to tell their
mean square. Numbers go through one network, lists through a recurrent cell, which stops early when
its state has settled. Nothing says so to the library: the graph is what ran. `weft.map` still runs
what is alike in a batch together, and a model that no reading chose keeps its gradients at None and
its moments untouched.
"""

from __future__ import annotations

import argparse
import random

import weft
from weft import Tensor, nn

Reading = float | list[float]


class Router(nn.Module):
    """One model for numbers, another for lists, and one that reads what they say."""

    def __init__(self, hidden: int = 16) -> None:
        super().__init__()
        self.number = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden))
        self.sequence = nn.GRUCell(1, hidden)
        self.answer = nn.Linear(hidden, 1)

    def forward(self, reading: Reading) -> Tensor:
        if not isinstance(reading, list):
            return self.answer(self.number(weft.tensor([reading])))
        state = self.sequence(weft.tensor([reading[:1]]))
        for value in reading[1:]:
            before, state = state, self.sequence(weft.tensor([[value]]), state)
            if (state - before).abs().max() < 0.02:  # a value decides, for this reading only
                break
        return self.answer(state).squeeze(0)


def draw(chance: random.Random, lists: bool) -> Reading:
    values = [chance.uniform(-1, 1) for _ in range(chance.randint(2, 8))]
    return values if lists else values[0]


def truth(reading: Reading) -> float:
    values = reading if isinstance(reading, list) else [reading]
    return sum(value * value for value in values) / len(values)


def used(module: nn.Module) -> str:
    """Say whether a module got gradients in the last step."""
    return "used" if all(param.grad is not None for param in module.parameters()) else "-"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    steps = 60 if parser.parse_args().quick else 600
    weft.manual_seed(0)
    chance = random.Random(0)
    model = Router()
    optimizer = weft.optim.Adam(model.parameters(), lr=0.01)
    print(f"{'step':>5} {'readings':9} {'loss':>8}  {'number':7} {'sequence':8} moments of")
    for step in range(1, steps + 1):
        # The first third has numbers only, the second lists only, the last both.
        part = 3 * (step - 1) // steps
        kinds = ((False,), (True,), (False, True))[part]
        batch = [draw(chance, chance.choice(kinds)) for _ in range(32)]
        answers = weft.stack(weft.map(model, batch)).squeeze(1)
        loss = (answers - weft.tensor([truth(reading) for reading in batch])).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % (steps // 6) == 0:
            known = [name for name, param in model.named_parameters() if param in optimizer.state]
            moments = ", ".join(dict.fromkeys(name.split(".")[0] for name in known))
            kind = ("numbers", "lists", "both")[part]
            print(
                f"{step:5} {kind:9} {loss.item():8.4f}  {used(model.number):7} "
                f"{used(model.sequence):8} {moments}"
            )


if __name__ == "__main__":
    main()
