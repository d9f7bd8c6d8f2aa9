"""Learn from a stream, one sample at a time, while what it says drifts.

    python examples/online.py            # a minute; where PyTorch is installed, that too
    python examples/online.py --quick    # a few seconds

Each sample is first predicted, then learned from: one forward pass, one backward pass and one step
of the optimizer, timed together. The line between the two classes turns all the time, so a
model that stops learning after the first quarter falls behind; both errors are printed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from progress import Show, progress_bar

FEATURES = 8


def stream(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw samples whose class is the side of a line that turns once round over the stream."""
    random = np.random.default_rng(seed)
    samples = random.normal(size=(count, FEATURES)).astype(np.float32)
    angle = np.linspace(0, 2 * np.pi, count)
    side = samples[:, 0] * np.cos(angle) + samples[:, 1] * np.sin(angle)
    return samples, (side > 0).astype(np.float32)


@dataclass
class Run:
    """Whether each prediction was wrong, and the seconds that each update took."""

    wrong: list[bool] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def microseconds(self, percent: float) -> float:
        return float(np.percentile(self.seconds, percent)) * 1e6


def learn(torch: Any, samples: np.ndarray, labels: np.ndarray, until: int, show: Show) -> Run:
    """Predict all samples and learn from the first of them, with `torch` being Weft or PyTorch."""
    nn = torch.nn
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    loss_of = nn.BCEWithLogitsLoss()
    run = Run()
    for i, (sample, label) in enumerate(zip(samples, labels, strict=True)):
        start = time.perf_counter()
        score = model(torch.from_numpy(sample))
        run.wrong.append((score.item() > 0) != (label > 0))
        if i < until:
            optimizer.zero_grad()
            loss_of(score, torch.tensor([label])).backward()
            optimizer.step()
            run.seconds.append(time.perf_counter() - start)
        if i % 100 == 99:
            show((i + 1) / len(samples), f"{np.mean(run.wrong[-500:]):.1%} wrong")
    return run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a shorter stream")
    count = 4_000 if parser.parse_args().quick else 60_000
    samples, labels = stream(count)
    runs: dict[str, Run] = {}
    for name in ("weft", "torch"):
        if importlib.util.find_spec(name):
            with progress_bar(name) as show:
                runs[name] = learn(importlib.import_module(name), samples, labels, count, show)
    with progress_bar("weft, frozen") as show:
        frozen = learn(importlib.import_module("weft"), samples, labels, count // 4, show)

    print("\nwrong predictions, by tenths of the stream")
    learning, stopped = (np.array_split(run.wrong, 10) for run in (runs["weft"], frozen))
    print(f"{'':8} {'learning':>9} {'stopped at 25%':>15}")
    for i, (one, two) in enumerate(zip(learning, stopped, strict=True)):
        print(f"{i * 10:3}-{i * 10 + 10:3}% {np.mean(one):9.1%} {np.mean(two):15.1%}")
    print(f"\n{'an update':9} {'p50':>10} {'p99':>10}")
    for name, run in runs.items():
        print(f"{name:9} {run.microseconds(50):8.1f} us {run.microseconds(99):8.1f} us")


if __name__ == "__main__":
    main()
