"""Networks inside searches, games and programs: plain Python that asks them what to do."""

from __future__ import annotations

import math
import random
from typing import Any

from benchmarks.cliffs.model import Model, normal

WORDS = 40
MOVES = 4


def beam(library: Any, hidden: int) -> Any:
    """Beam search: each hypothesis is a Python tuple; the loss is that of the best one."""
    nn = library.nn

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.cell = nn.Embedding(WORDS, hidden), nn.GRUCell(hidden, hidden)
            self.output = nn.Linear(hidden, WORDS)

        def forward(self, start: Any) -> Any:
            hypotheses = [(library.tensor(0.0), [0], start)]
            for _ in range(5):
                candidates = []
                for score, tokens, h in hypotheses:
                    h = self.cell(self.words(library.tensor(tokens[-1])), h)
                    best, chosen = self.output(h).log_softmax(-1).topk(3)
                    for log_p, token in zip(best, chosen.tolist(), strict=True):
                        candidates.append((score + log_p, [*tokens, token], h))
                candidates.sort(key=lambda item: item[0].item(), reverse=True)
                hypotheses = candidates[:3]
            return -hypotheses[0][0]

    return Decoder()


class Node:
    """A position that a tree search has reached."""

    def __init__(self, prior: float, state: Any) -> None:
        self.prior, self.state = prior, state
        self.visits, self.total = 0, 0.0
        self.children: list[Node] = []

    def best_child(self) -> Node:
        def bound(child: Node) -> float:
            value = child.total / child.visits if child.visits else 0.0
            return value + 1.5 * child.prior * math.sqrt(self.visits) / (1 + child.visits)

        return max(self.children, key=bound)


def tree_search(library: Any, hidden: int) -> Any:
    """Monte Carlo tree search with a learned model, and the policy loss against the visits."""
    nn = library.nn

    class Planner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dynamics = nn.Linear(hidden + MOVES, hidden)
            self.policy, self.value = nn.Linear(hidden, MOVES), nn.Linear(hidden, 1)

        def expand(self, node: Node) -> float:
            priors = self.policy(node.state).softmax(-1).tolist()
            for move, prior in enumerate(priors):
                one_hot = nn.functional.one_hot(library.tensor(move), MOVES).float()
                state = self.dynamics(library.cat([node.state, one_hot])).tanh()
                node.children.append(Node(prior, state))
            return self.value(node.state).tanh().item()

        def forward(self, state: Any) -> Any:
            root = Node(1.0, state)
            with library.no_grad():
                for _ in range(8):
                    path = [root]
                    while path[-1].children:
                        path.append(path[-1].best_child())
                    value = self.expand(path[-1])
                    for node in path:
                        node.visits += 1
                        node.total += value
            visits = library.tensor([float(child.visits) for child in root.children])
            log_p = self.policy(state).log_softmax(-1)
            outcome = root.total / root.visits
            loss = -(visits / visits.sum() * log_p).sum()
            return loss + (self.value(state).tanh().squeeze() - outcome) ** 2

    return Planner()


def rollout(library: Any, hidden: int) -> Any:
    """A policy that walks on a small board, and the loss of REINFORCE."""
    nn = library.nn

    class Walker(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.policy = nn.Sequential(
                nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
            )
            self.head = nn.Linear(hidden, MOVES)

        def forward(self, task: tuple[int, list[int], list[int]]) -> Any:
            seed, position, goal = task
            rng = random.Random(seed)
            log_ps, rewards = [], []
            x, y = position
            for _ in range(12):
                seen = library.tensor([x / 5, y / 5, goal[0] / 5, goal[1] / 5])
                p = self.head(self.policy(seen)).softmax(-1)
                (move,) = rng.choices(range(MOVES), p.tolist())
                log_ps.append(p[move].log())
                x = min(5, max(0, x + (move == 0) - (move == 1)))
                y = min(5, max(0, y + (move == 2) - (move == 3)))
                rewards.append(1.0 if [x, y] == goal else -0.1)
                if [x, y] == goal:
                    break
            returns, future = [], 0.0
            for reward in reversed(rewards):
                future = reward + 0.9 * future
                returns.insert(0, future)
            advantages = library.tensor(returns)
            advantages = advantages - advantages.mean()
            return -(library.stack(log_ps) * advantages).sum()

    return Walker()


def draw_task(rng: random.Random, _: int) -> tuple[int, list[int], list[int]]:
    places = [[rng.randrange(6), rng.randrange(6)] for _ in range(2)]
    return rng.randrange(1 << 30), *places


# ---- Programs ------------------------------------------------------------------------------------


def interpreter(library: Any, hidden: int) -> Any:
    """A machine with a stack of vectors that runs programs; instructions are networks."""
    nn = library.nn

    class Machine(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.constants = nn.Embedding(WORDS, hidden)
            self.add, self.multiply = nn.Linear(2 * hidden, hidden), nn.Linear(2 * hidden, hidden)
            self.negate, self.test = nn.Linear(hidden, hidden), nn.Linear(hidden, 1)
            self.output = nn.Linear(hidden, 1)

        def forward(self, example: tuple[list[tuple[str, int]], float]) -> Any:
            program, target = example
            stack: list[Any] = []
            place = 0
            while place < len(program):
                name, argument = program[place]
                place += 1
                if name == "push":
                    stack.append(self.constants(library.tensor(argument)))
                elif name == "add":
                    right, left = stack.pop(), stack.pop()
                    stack.append(self.add(library.cat([left, right])).relu())
                elif name == "multiply":
                    right, left = stack.pop(), stack.pop()
                    stack.append(self.multiply(library.cat([left, right])).tanh() * left)
                elif name == "negate":
                    stack.append(self.negate(stack.pop()).tanh())
                elif name == "skip_if" and self.test(stack[-1]) > 0:
                    place += argument
            return (self.output(stack[-1]).squeeze() - target) ** 2

    return Machine()


def draw_program(rng: random.Random, _: int) -> tuple[list[tuple[str, int]], float]:
    program, depth = [], 0
    for _ in range(rng.randint(6, 18)):
        name = rng.choice(["push", "push", "add", "multiply", "negate", "skip_if"])
        if depth < 2:
            name = "push"
        if name == "skip_if":
            program += [("skip_if", 1), ("negate", 0)]
            continue
        depth += {"push": 1, "add": -1, "multiply": -1, "negate": 0}[name]
        program.append((name, rng.randrange(WORDS) if name == "push" else 0))
    return program, rng.random()


MODELS = [
    Model("beam", beam, normal, 8, forward=True),
    Model("tree-search", tree_search, normal, 8, forward=True),
    Model("rollout", rollout, draw_task, 16, forward=True),
    Model("interpreter", interpreter, draw_program, 32, forward=True),
]
