"""Networks that decide by values how much of them runs."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.cliffs.model import Model, normal

CLASSES = 4


def early_exit(library: Any, hidden: int) -> Any:
    """Layers until one of them is sure enough."""
    nn = library.nn

    class EarlyExit(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(6))
            self.heads = nn.ModuleList(nn.Linear(hidden, CLASSES) for _ in range(6))

        def forward(self, example: tuple[Any, int]) -> Any:
            h, label = example
            scores = h
            for layer, head in zip(self.layers, self.heads, strict=True):
                h = h + layer(h).relu()
                scores = head(h)
                if scores.softmax(-1).max() > 0.7:
                    break
            return nn.functional.cross_entropy(scores, library.tensor(label))

    return EarlyExit()


def experts(library: Any, hidden: int) -> Any:
    """A mixture of experts: `if` chooses one of three, which are different."""
    nn = library.nn

    class Mixture(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.output = nn.Linear(hidden, 3), nn.Linear(hidden, CLASSES)
            self.narrow = nn.Linear(hidden, hidden)
            self.wide = nn.Sequential(
                nn.Linear(hidden, 2 * hidden), nn.GELU(), nn.Linear(2 * hidden, hidden)
            )

        def forward(self, example: tuple[Any, int]) -> Any:
            x, label = example
            for _ in range(3):
                p = self.gate(x).softmax(-1)
                choice = p.argmax().item()
                if choice == 0:
                    x = x + p[0] * self.narrow(x).tanh()
                elif choice == 1:
                    x = x + p[1] * self.wide(x)
                else:
                    x = x * p[2]
            return nn.functional.cross_entropy(self.output(x), library.tensor(label))

    return Mixture()


def experts_by_hand(torch: Any, model: Any, batch: list[Any]) -> Any:
    """Each expert over the rows that chose it."""
    x, labels = torch.stack([x for x, _ in batch]), torch.tensor([label for _, label in batch])
    for _ in range(3):
        p = model.gate(x).softmax(-1)
        choices = p.argmax(-1)
        parts = [(choices == k).nonzero()[:, 0] for k in range(3)]
        new = [
            x[parts[0]] + p[parts[0], 0:1] * model.narrow(x[parts[0]]).tanh(),
            x[parts[1]] + p[parts[1], 1:2] * model.wide(x[parts[1]]),
            x[parts[2]] * p[parts[2], 2:3],
        ]
        x = torch.cat(new)[torch.cat(parts).argsort()]
    return torch.nn.functional.cross_entropy(model.output(x), labels)


def draw_vector(rng: random.Random, hidden: int) -> tuple[Any, int]:
    return 2 * normal(rng, hidden), rng.randrange(CLASSES)


def routing(library: Any, hidden: int) -> Any:
    """Each token goes to the two best of four experts, weighted anew."""
    nn = library.nn

    class Routing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Linear(hidden, 4)
            self.experts = nn.ModuleList(
                nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU()) for _ in range(4)
            )
            self.output = nn.Linear(hidden, 1)

        def forward(self, tokens: Any) -> Any:
            outputs = []
            for token in tokens:
                scores, chosen = self.gate(token).topk(2)
                weights = scores.softmax(-1)
                mixed = library.zeros(hidden)
                for weight, k in zip(weights, chosen.tolist(), strict=True):
                    mixed = mixed + weight * self.experts[k](token)
                outputs.append(token + mixed)
            return self.output(library.stack(outputs)).pow(2).mean()

    return Routing()


def mixture_of_depths(library: Any, hidden: int) -> Any:
    """Only the better half of a sequence's tokens takes part in each block."""
    nn = library.nn

    class Depths(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.routers = nn.ModuleList(nn.Linear(hidden, 1) for _ in range(3))
            self.blocks = nn.ModuleList(
                nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, hidden), nn.GELU())
                for _ in range(3)
            )
            self.output = nn.Linear(hidden, 1)

        def forward(self, x: Any) -> Any:
            for router, block in zip(self.routers, self.blocks, strict=True):
                weights = router(x).squeeze(-1)
                chosen = weights.topk(max(1, len(x) // 2)).indices.sort().values
                y = x[chosen]
                x = x.index_add(0, chosen, block(y) * weights[chosen].sigmoid().unsqueeze(-1))
            return self.output(x).pow(2).mean()

    return Depths()


def draw_tokens(rng: random.Random, hidden: int) -> Any:
    return normal(rng, rng.randint(3, 9), hidden)


def differential_equation(library: Any, hidden: int) -> Any:
    """A neural ODE by Heun's method: steps that are too coarse are taken again."""
    nn = library.nn

    class Flow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.field = nn.Sequential(
                nn.Linear(hidden + 1, hidden), nn.Tanh(), nn.Linear(hidden, hidden)
            )

        def slope(self, t: float, y: Any) -> Any:
            return 2 * self.field(library.cat([y, library.tensor([t])]))

        def forward(self, y: Any) -> Any:
            t, step = 0.0, 0.5
            while t < 1.0:
                step = min(step, 1.0 - t)
                first = self.slope(t, y)
                second = self.slope(t + step, y + step * first)
                error = (step * (second - first) / 2).abs().max().item()
                if error < 0.05 or step < 0.05:
                    y = y + step * (first + second) / 2
                    t += step
                step *= 1.5 if error < 0.02 else 0.5 if error >= 0.05 else 1.0
            return y.pow(2).mean()

    return Flow()


MODELS = [
    Model("early-exit", early_exit, draw_vector, 32, forward=True),
    Model("experts", experts, draw_vector, 32, forward=True, by_hand=experts_by_hand),
    Model("top-k-routing", routing, draw_tokens, 8),
    Model("mixture-of-depths", mixture_of_depths, draw_tokens, 16),
    Model("ode", differential_equation, normal, 16, forward=True),
]
