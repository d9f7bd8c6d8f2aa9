"""REINFORCE on a cart with a pole: an agent that acts, and learns from whole episodes.

    python examples/reinforce.py            # a minute; where PyTorch is installed, that too
    python examples/reinforce.py --quick    # a few seconds

The environment is plain NumPy, one state at a time, and every action is one pass through a small
network: the work that a dynamic graph's overhead hurts most. Both libraries run the same code for
the same number of actions; times are wall times with the environment in them.
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


class CartPole:
    """A pole on a cart: it has fallen at 12 degrees, and the track ends at 2.4 metres."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.state = np.zeros(4)

    def reset(self) -> np.ndarray:
        """Begin near the middle, nearly upright."""
        self.state = self.random.uniform(-0.05, 0.05, 4)
        return self.state.astype(np.float32)

    def step(self, action: int) -> tuple[np.ndarray, float, bool]:
        """Push to the left or to the right; return the state, the reward and whether it is over."""
        _, speed, angle, spin = self.state
        force = 10.0 if action == 1 else -10.0
        sine, cosine = np.sin(angle), np.cos(angle)
        push = (force + 0.05 * spin**2 * sine) / 1.1
        turning = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        moving = push - 0.05 * turning * cosine / 1.1
        self.state = self.state + 0.02 * np.array([speed, moving, spin, turning])
        over = abs(self.state[0]) > 2.4 or abs(self.state[2]) > np.pi / 15
        return self.state.astype(np.float32), 1.0, bool(over)


@dataclass
class Run:
    """What a run did."""

    lengths: list[int] = field(default_factory=list)  # of episodes
    seconds: float = 0.0

    @property
    def actions(self) -> int:
        return sum(self.lengths)

    @property
    def per_action(self) -> float:
        """Return the microseconds an action took, with its part of environment and learning."""
        return self.seconds / self.actions * 1e6


def train(torch: Any, actions: int, show: Show, seed: int = 1) -> Run:
    """Play and learn for so many actions, with `torch` being Weft or PyTorch."""
    nn = torch.nn
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    environment = CartPole(seed)
    policy = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    run = Run()
    start = time.perf_counter()
    while run.actions < actions:
        state, log_probabilities, rewards, over = environment.reset(), [], [], False
        while not over and len(rewards) < 500:
            choice = torch.distributions.Categorical(logits=policy(torch.from_numpy(state)))
            action = choice.sample()
            log_probabilities.append(choice.log_prob(action))
            state, reward, over = environment.step(action.item())
            rewards.append(reward)

        total, returns = 0.0, []
        for reward in reversed(rewards):
            total = reward + 0.99 * total
            returns.append(total)
        advantages = torch.tensor(returns[::-1])
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
        loss = -(torch.stack(log_probabilities) * advantages).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.lengths.append(len(rewards))
        show(min(run.actions / actions, 1.0), f"mean length {np.mean(run.lengths[-20:]):5.1f}")
    run.seconds = time.perf_counter() - start
    return run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="only some thousand actions")
    actions = 3_000 if parser.parse_args().quick else 60_000
    runs: dict[str, Run] = {}
    for name in ("weft", "torch"):
        if importlib.util.find_spec(name):
            with progress_bar(name) as show:
                runs[name] = train(importlib.import_module(name), actions, show)
    print(f"\n{'':6} {'actions':>8} {'episodes':>9} {'last lengths':>13} {'us an action':>13}")
    for name, run in runs.items():
        print(
            f"{name:6} {run.actions:8,} {len(run.lengths):9} {np.mean(run.lengths[-20:]):13.1f} "
            f"{run.per_action:13.1f}"
        )
    if "torch" in runs:
        print(f"Weft took 1/{runs['torch'].per_action / runs['weft'].per_action:.1f} of the time.")
    else:
        print("PyTorch is not installed; there is nothing to compare with.")


if __name__ == "__main__":
    main()
