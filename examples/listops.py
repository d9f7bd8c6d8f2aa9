"""Train a Tree-LSTM on ListOps: plain recursion over one expression, batched by `weft.map`.

    python examples/listops.py                  # about two minutes on two cores
    python examples/listops.py --minutes 0.5    # or as long as you like

The model reads one expression and knows nothing of batches. `weft.map` runs it over 128 of them,
all of different shapes, and what is alike in them runs together, forward and backward.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from demo_page import write_index
from listops_data import (
    DEEPEST,
    OPERATORS,
    Call,
    Example,
    Expression,
    draw_batch,
    draw_held_out,
    majority,
    text,
)
from listops_page import Report, write_page
from progress import progress_bar

import weft
from weft import Tensor, nn

State = tuple[Tensor, Tensor]


# ---- The model: one expression, plain Python -----------------------------------------------------


@weft.cell
class Embed(nn.Module):
    """Turn a digit, given as ten probabilities, into a state of the tree."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.states = nn.Linear(10, 2 * hidden)
        nn.init.normal_(self.states.weight)

    def forward(self, digit: Tensor) -> State:
        hidden, memory = self.states(digit).chunk(2, -1)
        return hidden, memory


class TreeLSTM(nn.Module):
    """Fold an operator's arguments with a cell, from left to right; arguments may be expressions.

    An inner expression's answer enters the one around it as ten probabilities, as a digit does.
    Only the answer of the whole expression is ever taught.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.embed = Embed(hidden)
        self.fold = nn.TreeLSTMCell(len(OPERATORS), hidden)
        self.answer = nn.Linear(hidden, 10)
        self.digits = weft.eye(10).unbind()
        self.operators = dict(zip(OPERATORS, weft.eye(len(OPERATORS)).unbind(), strict=True))
        self.nothing = weft.zeros(hidden)

    def forward(self, expression: Call) -> Tensor:
        """Return ten scores, one for each possible answer."""
        operator, arguments = expression
        state = (self.nothing, self.nothing)
        for argument in arguments:
            state = self.fold(self.operators[operator], (state, self.read(argument)))
        return self.answer(state[0])

    def read(self, expression: Expression) -> State:
        """Return the state of an argument: a digit, or what an inner expression comes to."""
        if isinstance(expression, int):
            return self.embed(self.digits[expression])
        return self.embed(self(expression).softmax(-1))


# ---- Training ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """How long, how large, and where to."""

    steps: int = 3000
    minutes: float = 2.0
    seed: int = 0
    batch: int = 128
    hidden: int = 64
    learning_rate: float = 3e-3
    held_out: int = 200  # of each depth
    looks: int = 25  # at the held-out expressions
    page: Path = Path("build/demo/listops.html")


@dataclass
class Trainer:
    """A model with its optimizer, and how both change while training goes on."""

    settings: Settings
    model: TreeLSTM = field(init=False)
    optimizer: weft.optim.Adam = field(init=False)

    def __post_init__(self) -> None:
        self.model = TreeLSTM(self.settings.hidden)
        self.optimizer = weft.optim.Adam(self.model.parameters(), lr=self.settings.learning_rate)

    def loss(self, example: Example) -> Tensor:
        """Return the loss of one example."""
        return nn.functional.cross_entropy(
            self.model(example.expression), weft.tensor(example.answer)
        )

    def is_right(self, example: Example) -> bool:
        """Answer one example; reading the answer's value lets the other examples go on."""
        return int(self.model(example.expression).argmax()) == example.answer

    def step(self, examples: Sequence[Example], batch: bool = True) -> float:
        """Make one training step, of all examples at once or one by one."""
        self.optimizer.zero_grad()
        loss = weft.stack(weft.map(self.loss, examples, batch=batch)).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def set_learning_rate(self, step: int, done: float) -> None:
        """Warm up for 50 steps; from the middle on, fall to nearly nothing."""
        factor = min(1.0, step / 50, max(0.02, 2 - 2 * done))
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate * factor


def deepest_at(done: float) -> int:
    """Return how deep expressions are: first flat ones, and all depths in the second half."""
    return 1 if done < 0.25 else min(DEEPEST, 2 + int((done - 0.25) / 0.05))


def accuracy_by_depth(trainer: Trainer, examples: Sequence[Example]) -> dict[int, float]:
    """Return the part of right answers for each depth."""
    with weft.no_grad():
        right = weft.map(trainer.is_right, examples)
    by_depth: dict[int, list[bool]] = {}
    for example, is_right in zip(examples, right, strict=True):
        by_depth.setdefault(example.depth, []).append(is_right)
    return {depth: statistics.mean(found) for depth, found in sorted(by_depth.items())}


def train(
    trainer: Trainer, generator: random.Random, held_out: list[Example], report: Report
) -> None:
    """Train until the steps or the minutes are used up, and note what happens."""
    settings = trainer.settings
    forbidden = {example.expression for example in held_out}
    start, step, done, looks = time.perf_counter(), 0, 0.0, 0
    with progress_bar("training") as show:
        while done < 1:
            deepest = deepest_at(done)
            trainer.set_learning_rate(step, done)
            batch = draw_batch(generator, settings.batch, deepest, forbidden)
            begin = time.perf_counter()
            report.losses.append(trainer.step(batch))
            report.step_seconds.append(time.perf_counter() - begin)
            report.deepest.append(deepest)
            step += 1
            report.seconds = time.perf_counter() - start
            done = min(1.0, max(step / settings.steps, report.seconds / (60 * settings.minutes)))
            if done * settings.looks >= looks + 1 or done == 1:
                looks = int(done * settings.looks)
                report.by_depth = accuracy_by_depth(trainer, held_out)
                report.accuracies.append((step, statistics.mean(report.by_depth.values())))
            show(done, _state(step, deepest, report))


def _state(step: int, deepest: int, report: Report) -> str:
    loss = statistics.mean(report.losses[-50:])
    accuracy = f"{report.accuracies[-1][1]:.1%}" if report.accuracies else "-"
    return f"step {step}, depth to {deepest}, loss {loss:.3f}, held out {accuracy}"


# ---- The same step, batched and one by one -------------------------------------------------------


def time_step(settings: Settings, generator: random.Random, report: Report) -> None:
    """Time one step of all depths both ways, from the same weights, and keep its plan."""
    batch = draw_batch(generator, settings.batch, DEEPEST, ())
    report.batched, gradients, report.plan = _best_step(settings, batch, 20, batch_it=True)
    report.unbatched, expected, _ = _best_step(settings, batch, 4, batch_it=False)
    report.difference = max(
        (found - right).abs().max().item() for found, right in zip(gradients, expected, strict=True)
    )


def _best_step(
    settings: Settings, examples: Sequence[Example], times: int, *, batch_it: bool
) -> tuple[float, list[Tensor], str]:
    """Return the seconds of the fastest step, the gradients of the first, and the last plan."""
    weft.manual_seed(settings.seed)
    trainer = Trainer(settings)
    seconds: list[float] = []
    gradients: list[Tensor] = []
    for _ in range(times):
        start = time.perf_counter()
        trainer.step(examples, batch=batch_it)
        seconds.append(time.perf_counter() - start)
        gradients = gradients or [
            parameter.grad.clone()
            for parameter in trainer.model.parameters()
            if parameter.grad is not None
        ]
    return min(seconds), gradients, short_plan()


def short_plan(lines: int = 9) -> str:
    """Return the beginning of what `weft.explain` says of the last step's largest plan."""
    explanation = weft.explain(plans=4)
    plan = max(explanation.plans, key=lambda plan: plan.nodes)
    written = str(replace(explanation, plans=(plan,)))
    first, *middle, last = written.splitlines()
    more = [f"  ... and {len(middle) - lines} more batches"] if len(middle) > lines else []
    return "\n".join([first, *middle[:lines], *more, last])


# ---- The program ---------------------------------------------------------------------------------


def table(report: Report, held_out: list[Example]) -> str:
    """Write accuracy by depth, beside what the majority answer would get."""
    lines = [f"{'depth':>7}{'expressions':>13}{'accuracy':>10}{'majority':>10}"]
    for depth, accuracy in report.by_depth.items():
        examples = [example for example in held_out if example.depth == depth]
        right = statistics.mean(example.answer == report.majority[0] for example in examples)
        lines.append(f"{depth:>7}{len(examples):>13}{accuracy:>10.1%}{right:>10.1%}")
    accuracy = report.accuracies[-1][1]
    lines.append(f"{'all':>7}{len(held_out):>13}{accuracy:>10.1%}{report.majority[1]:>10.1%}")
    return "\n".join(lines)


def show_answers(trainer: Trainer, examples: Sequence[Example]) -> None:
    """Print some expressions with the model's answers."""
    with weft.no_grad():
        scores = weft.map(trainer.model, [example.expression for example in examples])
    for example, found in zip(examples, scores, strict=True):
        mark = "" if int(found.argmax()) == example.answer else f" (it is {example.answer})"
        print(f"  {text(example.expression)} -> {int(found.argmax())}{mark}")


def run(settings: Settings) -> None:
    """Train, tell how it went, and write the pages."""
    weft.manual_seed(settings.seed)
    generator = random.Random(settings.seed)
    held_out = draw_held_out(generator, settings.held_out)
    report = Report(majority=majority(held_out), batch=settings.batch)
    trainer = Trainer(settings)

    size = sum(parameter.numel() for parameter in trainer.model.parameters())
    print(f"A Tree-LSTM of {size} numbers learns ListOps, {settings.batch} expressions a step.\n")
    train(trainer, generator, held_out, report)
    print(f"\n{len(report.losses)} steps in {report.seconds:.0f} s. Held-out expressions:\n")
    print(table(report, held_out))
    print("\nThree of them:\n")
    shortest = sorted(held_out, key=lambda example: len(text(example.expression)))
    show_answers(trainer, [example for example in shortest if example.depth == 3][:3])

    time_step(settings, generator, report)
    print(
        f"\nOne training step of {settings.batch} expressions of all depths:\n\n"
        f"  batched by weft.map   {report.batched * 1e3:8.1f} ms\n"
        f"  one by one            {report.unbatched * 1e3:8.1f} ms, "
        f"{report.unbatched / report.batched:.1f} times as long; "
        f"no gradient differs by more than {report.difference:.0e}\n\n"
        f"What weft.explain() says of it:\n\n{report.plan}\n"
    )
    write_page(settings.page, report, table(report, held_out))
    print(f"Curves: {settings.page.resolve()}")
    index = write_index(settings.page.with_name("index.html"), trainer.loss, report)
    if index is None:
        print("The viewer's page is not built, so there is no page of graphs: run `make viewer`.")
    else:
        print(f"Graphs, their difference, the batched plan and the curves: {index.resolve()}")


def read_settings() -> Settings:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Train a Tree-LSTM on ListOps.")
    usual = Settings()
    parser.add_argument("--minutes", type=float, default=usual.minutes, help="train no longer")
    parser.add_argument("--steps", type=int, default=usual.steps, help="nor more steps than this")
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--page", type=Path, default=usual.page, help="where to write the curves")
    parser.add_argument("--quick", action="store_true", help="a few small steps, to see it run")
    given = parser.parse_args()
    if given.minutes <= 0 or given.steps < 1:
        parser.error("--minutes and --steps must be positive")
    if given.quick:
        return Settings(
            min(given.steps, 40), given.minutes, given.seed, 16, 32, held_out=5, looks=8,
            page=given.page,
        )  # fmt: skip
    return Settings(given.steps, given.minutes, given.seed, page=given.page)


if __name__ == "__main__":
    run(read_settings())
