"""Programs of functions over one example that run lazily, mapped, as cells and by rows.

Thresholds are part of a program: after how many repetitions strands begin, and after how many
examples a function is replayed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from textwrap import indent

from tests.fuzz import pool
from tests.fuzz.bodies import AFTER, EXAMPLES, PURE, RESULTS, RUNS, WILD, WRAPPERS

SIZES = ((), (1,), (2,), (3,), (3,), (4,), (0,), (3, 3), (2, 3), (5, 2), (2, 2, 2))
THRESHOLDS = (0, 0, 1, 2, 3, 5, 8, 20, "NEVER")
STARTS = """\
w = weft.randn({s})
w = weft.randn({s}).requires_grad_()
w = weft.nn.Parameter(weft.randn({s}))
w = {a}
""".splitlines()
GIVEN = ("c", "m", "net")
Add = Callable[[Random], list[str]]


class Dynamic:
    """Writes one such program.

    Args:
        random: What is chosen comes from here.
        add: Returns lines that do anything to the tensors x and w.
    """

    def __init__(self, random: Random, add: Add) -> None:
        self.random = random
        self.add = add
        self.sizes = random.choice(SIZES)
        self.dtype = "float32" if random.random() < 0.85 else pool.dtype(random)
        self.functions: list[str] = []
        self.lines: list[str] = []
        self.names = 0

    def make(self) -> list[str]:
        random = self.random
        thresholds = ", ".join(str(random.choice(THRESHOLDS)) for _ in range(4))
        last = self.sizes[-1] if self.sizes else 1
        self.lines = [
            f"set_thresholds({thresholds})",
            f"m, net = nn.Linear({last}, {last}), Net({last})",
        ]
        self.lines.append(self.fill(random.choice(STARTS)))
        self.lines.append(f"u, kept, c = {self.tensor()}, [], weft.cell(lambda t: t.tanh() * 2)")
        self.lines.append("c = weft.cell(Net)(3)" if random.random() < 0.03 else "net.eval()")
        for _ in range(random.choice((1, 1, 2, 3))):
            self.define()
        while random.random() < 0.4:
            name = f"h{len(self.functions)}"
            self.lines.append(f"{name} = {self.fill(random.choice(WRAPPERS))}")
            self.functions.append(name)
        self.lines.append("r = []")
        self.lines.append(f"xs = {self.fill(random.choice(EXAMPLES))}")
        for _ in range(random.choice((1, 1, 2, 3))):
            after = [random.choice(AFTER) for _ in range(random.choice((0, 1, 2)))]
            for form in (random.choice(RUNS), *after):
                lines = self.fill(form).split("\n")
                go_on = random.random() < 0.7
                self.lines.append("\n".join(guard(lines) if go_on else lines))
        return self.lines

    def define(self) -> None:
        """Write a function of one example."""
        random = self.random
        name = f"f{len(self.functions)}"
        harm = random.choice((0.0, 0.0, 0.2, 0.5, 0.8))  # how much of it is not pure
        guarded = random.random() < 0.6  # what is not pure may fail, and the rest goes on
        local, body = ["x"], []
        for _ in range(random.choice((1, 2, 3, 5, 8))):
            pure = random.random() >= harm
            if pure or random.random() < 0.85:
                lines = self.fill(random.choice(PURE if pure else WILD), local).split("\n")
            else:
                lines = self.add(random)
            body += lines if pure or not guarded else guard(lines)
        body.append(f"return {self.fill(random.choice(RESULTS), local)}")
        if random.random() < 0.3:
            body = [f"def {name}(x, w=w, u=u):", *indented(body)]
        elif random.random() < 0.4:
            inner = [f"def {name}(x):", *indented(body)]
            body = ["def make(w, u):", *indented([*inner, f"return {name}"])]
            body.append(f"{name} = make(w, u)")
        else:
            body = [f"def {name}(x):", *indented(body)]
        self.lines.append("\n".join(body))
        self.functions.append(name)

    def tensor(self) -> str:
        random = self.random
        if random.random() < 0.8:
            return pool.tensor(random, self.sizes, self.dtype)
        return pool.tensor(random)

    def function(self) -> str:
        own = [name for name in self.functions if name not in GIVEN]
        return self.random.choice(own if own and self.random.random() < 0.9 else GIVEN)

    def fill(self, form: str, local: list[str] | None = None) -> str:
        """Fill in the holes of a form; `local` are the tensors that a function has."""
        random = self.random
        local = local if local is not None else ["xs[0]"]
        new = ""
        if "{new}" in form:
            self.names += 1
            new = f"y{self.names}"
        known = {
            "x": local[-1] if random.random() < 0.7 else random.choice(local),
            "y": random.choice(local),
            "new": new,
            "w": "w",
            "u": "u" if random.random() < 0.8 else "w",
            "s": str(list(self.sizes)),
            "f": self.function(),
        }

        def hole(match: re.Match[str]) -> str:
            name = match[1]
            if name in "ab":
                return self.tensor()
            if name == "v":
                return f"({pool.wild(random) if random.random() < 0.7 else self.function()})"
            if name == "i":
                return pool.index(random, self.sizes)
            if name == "n":
                return random.choice("1 2 2 3 3 5 7 12 20 40".split())
            return known[name]

        text = re.sub(r"\{(\w+)\}", hole, form).replace("{{", "{").replace("}}", "}")
        if new:
            local.append(new)
        return text.replace("\\n", "\n")


def indented(lines: list[str]) -> list[str]:
    return indent("\n".join(lines), "    ").split("\n")


def guard(lines: list[str]) -> list[str]:
    return ["try:", *indented(lines), "except Exception as error: harmless(error)"]
