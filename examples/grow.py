"""Let a network grow while it trains: wider, deeper, and with another head.

    python examples/grow.py            # some seconds
    python examples/grow.py --quick    # fewer steps

Two spirals have to be told apart. Four units cannot do it; the network starts with them and grows
whenever it has trained for a while. Growing does not change what it computes, so the loss
is the same before and after, and Adam goes on with the moments it has (docs/changing-models.md).
"""

from __future__ import annotations

import argparse
from itertools import pairwise

from progress import Show, progress_bar

import weft
from weft import Tensor, nn


def spirals(count: int) -> tuple[Tensor, Tensor]:
    """Draw points on two spirals, and which of them each is on."""
    turn = weft.rand(count).sqrt() * 9
    side = weft.arange(count) % 2
    angle = turn + side * weft.pi
    points = weft.stack([angle.cos(), angle.sin()], 1) * turn.unsqueeze(1) / 5
    return points + 0.02 * weft.randn(count, 2), side


def widen(model: nn.Sequential, width: int) -> None:
    """Give all hidden layers so many units; outputs stay."""
    layers = [layer for layer in model if isinstance(layer, nn.Linear)]
    for layer, reader in pairwise(layers):
        nn.grow_(layer, out_features=width)
        nn.grow_(reader, in_features=width)


def deepen(model: nn.Sequential) -> None:
    """Insert a hidden layer before the last: behind a ReLU, the identity and a ReLU do nothing."""
    last = len(model) - 1
    width = model[last].in_features
    layer = nn.Linear(width, width, bias=False)
    nn.init.eye_(layer.weight)
    model.insert_(str(last), nn.ReLU()).insert_(str(last), layer)


class Training:
    """A model, its optimizer and what they learn from."""

    def __init__(self, show: Show, steps: int) -> None:
        self.show = show
        self.steps = steps
        self.done = 0
        self.points, self.labels = spirals(512)
        self.model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
        self.optimizer = weft.optim.Adam(self.model.parameters(), lr=0.01)
        self.scheduler = weft.optim.lr_scheduler.StepLR(self.optimizer, steps // 2)

    def loss(self) -> Tensor:
        return nn.functional.cross_entropy(self.model(self.points), self.labels)

    def right(self) -> float:
        return (self.model(self.points).argmax(1) == self.labels).float().mean().item()

    def run(self, share: float) -> None:
        """Train for a share of all steps."""
        for _ in range(round(self.steps * share)):
            self.optimizer.zero_grad()
            loss = self.loss()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.done += 1
            self.show(self.done / self.steps, f"loss {loss.item():.4f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    steps = 250 if parser.parse_args().quick else 4000
    weft.manual_seed(0)
    lines = []
    with progress_bar("training") as show:
        training = Training(show, steps)
        model = training.model
        growths = {
            "16 units": lambda: widen(model, 16),
            "64 units": lambda: widen(model, 64),
            "another layer": lambda: deepen(model),
            "128 units": lambda: widen(model, 128),
        }
        for name, grow in growths.items():
            training.run(1 / 5)
            before, right = training.loss().item(), training.right()
            grow()
            lines.append((name, before, training.loss().item(), right))
        training.run(1 / 5)
    print(f"\n{'grown to':14} {'loss before':>12} {'loss after':>12} {'right':>7}")
    for name, before, after, right in lines:
        print(f"{name:14} {before:12.7f} {after:12.7f} {right:7.1%}")
    print(f"{'at the end':14} {training.loss().item():12.7f} {'':12} {training.right():7.1%}")


if __name__ == "__main__":
    main()
