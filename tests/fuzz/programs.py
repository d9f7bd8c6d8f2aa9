"""Programs of a few lines, made from a seed. A program is a list of lines of Python."""

from __future__ import annotations

import re
from random import Random

from tests.fuzz import bodies, pool
from tests.fuzz.dynamic import Dynamic, indented
from tests.fuzz.forms import FORMS, STATEMENTS
from tests.fuzz.targets import (
    Argument,
    Example,
    Parameter,
    Slot,
    Target,
    all_targets,
    examples,
)

WHOLE = ("index", "indices", "target", "labels", "lengths", "repeats", "boundaries", "offsets")
LOGICAL = ("mask", "condition", "attn_mask")


class Writer:
    """Writes one program."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.tensors: list[str] = []
        self.results = 0
        # Tensors of one call usually fit together, or no kernel would ever run.
        self.sizes = pool.shape(random)
        self.dtype = pool.dtype(random)
        self.harm = random.choice((0.02, 0.1, 0.25))  # how often a value is of no kind at all

    # ---- values ----------------------------------------------------------------------------------

    def name(self, text: str) -> str:
        """Give a value a name of its own, so that it can appear twice."""
        name = f"a{len(self.tensors)}"
        self.tensors.append(name)
        self.lines.append(f"{name} = {text}")
        return name

    def tensor(self, hint: str = "") -> str:
        random = self.random
        if self.tensors and random.random() < 0.12:
            return random.choice(self.tensors)
        friendly = random.random() < 0.7
        sizes = self.sizes if friendly else None
        kind = self.dtype if friendly and random.random() < 0.8 else None
        if hint in WHOLE and random.random() < 0.8:
            kind = "int64"
        elif hint in LOGICAL and random.random() < 0.8:
            kind = "bool"
        return self.name(pool.tensor(random, sizes, kind))

    def value(self, parameter: Parameter) -> str:
        random = self.random
        kind = parameter.kind
        if random.random() < self.harm:
            return self.name(pool.wild(random)) if random.random() < 0.5 else pool.wild(random)
        if kind == "tensor":
            return self.tensor(parameter.name)
        if kind == "number":
            if random.random() < 0.7:
                return self.tensor(parameter.name)
            return random.choice(random.choice((pool.INTEGERS, pool.REALS)))
        if kind == "tensors":
            items = [self.tensor(parameter.name) for _ in range(random.choice((0, 1, 2, 2, 3)))]
            return f"[{', '.join(items)}]"
        if kind == "int":
            return random.choice(pool.SMALL if random.random() < 0.7 else pool.INTEGERS)
        if kind == "ints":
            return self.integers()
        if kind == "float":
            return random.choice(pool.REALS)
        if kind == "bool":
            return random.choice(("True", "False"))
        if kind == "str":
            return random.choice(pool.STRINGS)
        if kind == "dtype":
            return f"weft.{random.choice(pool.DTYPES)}"
        if kind == "generator":
            return random.choice(("None", "weft.Generator()"))
        return self.tensor(parameter.name) if random.random() < 0.4 else pool.wild(random)

    def integers(self) -> str:
        random = self.random
        choice = random.random()
        if choice < 0.3:
            return random.choice(pool.LISTS)
        if choice < 0.5:
            return str(list(pool.shape(random)))
        if choice < 0.6:
            return str(list(self.sizes))
        if choice < 0.75:
            return random.choice(pool.SMALL)
        few = [random.choice(pool.SMALL) for _ in range(random.choice((1, 2, 2, 3, 4)))]
        return f"[{', '.join(few)}]"

    def arguments(self, parameters: tuple[Parameter, ...]) -> str:
        random = self.random
        texts: list[str] = []
        by_name = False
        for parameter in parameters:
            if random.random() < (0.03 if parameter.required else 0.6):
                by_name = True
                continue
            if parameter.several:
                count = random.choice((0, 1, 2, 3))
                if not by_name:
                    one = Parameter(parameter.name, "int" if parameter.kind == "ints" else "any")
                    whole = parameter.kind == "ints" and random.random() < 0.6
                    several = [self.value(one) for _ in range(count)]
                    texts += [self.value(parameter)] if whole else several
                by_name = by_name or parameter.kind != "ints" or count != 1
                continue
            prefix = f"{parameter.name}=" if by_name or parameter.by_name else ""
            texts.append(prefix + self.value(parameter))
            by_name = by_name or bool(prefix)
        if random.random() < 0.02:
            texts.append(f"{random.choice(('unknown', 'dim', 'out', 'axis'))}={pool.wild(random)}")
        if random.random() < 0.02:
            texts = [text for text in texts if "=" not in text] + [pool.wild(random)]
        return ", ".join(texts)

    # ---- calls -----------------------------------------------------------------------------------

    def result(self, call: str) -> None:
        name = f"r{self.results}"
        self.results += 1
        self.lines.append(f"{name} = {call}")
        self.lines.append(f"keep_small({name})")
        self.tensors.append(name)

    def call(self, target: Target) -> None:
        random = self.random
        if target.form == "method":
            owner = self.tensor()
            self.result(f"{owner}.{target.name}({self.arguments(target.parameters)})")
        elif target.form == "module":
            self.lines.append(f"m = {target.name}({self.arguments(target.parameters)})")
            count = random.choice((1, 1, 1, 2, 3))
            self.result(f"m({', '.join(self.tensor() for _ in range(count))})")
        elif target.form == "optimizer":
            first = self.tensor()
            settings = self.arguments(target.parameters[1:])
            self.lines.append(f"o = {target.name}([{first}]{', ' if settings else ''}{settings})")
            self.lines.append(f"{first}.grad = {self.tensor()}")
            self.lines.append("o.step()")
            self.lines.append("o.step()")
        else:
            self.result(f"{target.name}({self.arguments(target.parameters)})")

    def compound(self, form: str, statement: bool) -> None:
        """Fill in one of FORMS or STATEMENTS."""

        def fill(match: re.Match[str]) -> str:
            if match[1] == "v":
                return f"({pool.wild(self.random)})"
            if match[1] == "i":
                return pool.index(self.random, self.sizes)
            return known[match[1]]

        known = {letter: self.tensor() for letter in "abc" if f"{{{letter}}}" in form}
        text = re.sub(r"\{(\w)\}", fill, form)
        if statement:
            self.lines += [text] if form.startswith("with ") else text.split("; ")
        else:
            self.result(text)

    def example(self, given: Example) -> None:
        """Write a call that is right but for some of its arguments."""
        random = self.random
        harm = random.choice((0.0, 0.15, 0.4))

        def written(value: Argument) -> str:
            if isinstance(value, list):
                if random.random() < harm / 2:
                    return pool.wild(random)
                return f"[{', '.join(written(item) for item in value)}]"
            hurt = random.random() < harm
            if isinstance(value, Slot):
                if not hurt:
                    gradient = ".requires_grad_()" if value.dtype.startswith("float") else ""
                    return self.name(value.text() + gradient)
                same = value.dtype if random.random() < 0.7 else None
                sizes = value.sizes if random.random() < 0.6 else None
                return self.name(pool.tensor(random, sizes, same))
            if not hurt:
                return value
            return random.choice(pool.INTEGERS) if random.random() < 0.6 else pool.wild(random)

        texts = [written(value) for value in given.args]
        texts += [f"{key}={written(value)}" for key, value in given.kwargs]
        self.result(f"{given.name}({', '.join(texts)})")

    def backward(self) -> None:
        if self.results:
            again = ", True" if self.random.random() < 0.3 else ""
            self.lines.append(f"back(r{self.results - 1}{again})")


class Programs:
    """All programs of a seed, by number."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.targets = all_targets()
        self.examples = examples()

    def count(self) -> dict[str, int]:
        """Say how many different things can be called."""
        return {form: len(found) for form, found in self.targets.items()} | {
            "forms": len(FORMS) + len(STATEMENTS),
            "lines": sum(len(lines) for lines in bodies.ALL),
            "examples": len(self.examples),
        }

    def make(self, number: int) -> list[str]:
        """Write program `number`."""
        random = Random(f"{self.seed}:{number}")
        writer = Writer(random)
        # Every function and method gets its turn; the rest is chance.
        turn = [*self.targets["function"], *self.targets["method"]]
        if number % 3 == 0:
            writer.call(turn[number // 3 % len(turn)])
        elif number % 3 == 1:
            self.add(writer, random)
        else:
            return Dynamic(random, self.lines_of_example).make()
        while random.random() < 0.3 and len(writer.lines) < 20:
            self.add(writer, random)
        writer.backward()
        return within(random, writer.lines)

    def lines_of_example(self, random: Random) -> list[str]:
        """Write lines about an example's tensor x and one of all examples, w."""
        writer = Writer(random)
        writer.tensors = ["x", "w"]
        self.add(writer, random)
        return writer.lines

    def add(self, writer: Writer, random: Random) -> None:
        choice = random.random()
        if choice < 0.35:
            writer.example(random.choice(self.examples))
        elif choice < 0.55:
            writer.compound(random.choice(FORMS), statement=False)
        elif choice < 0.75:
            writer.compound(random.choice(STATEMENTS), statement=True)
        elif choice < 0.8:
            writer.call(random.choice(self.targets["optimizer"]))
        elif choice < 0.88:
            writer.call(random.choice(self.targets["module"]))
        else:
            form = "function" if choice < 0.94 else "method"
            writer.call(random.choice(self.targets[form]))


def within(random: Random, lines: list[str]) -> list[str]:
    """Put some programs into a mode, or make examples of them."""
    choice = random.random()
    if choice > 0.25:
        return lines
    body = "\n".join(indented(lines))
    if choice < 0.1:
        mode = random.choice(("no_grad", "inference_mode", "enable_grad", "lazy", "lazy"))
        return [f"with weft.{mode}():\n{body}"]
    run = random.choice(("weft.map(main, range(3))", "look(weft.map(main, [None] * 2, width=1))"))
    lazily = "with weft.lazy(): main(0)"
    return [f"def main(_):\n{body}", lazily if choice < 0.18 else run]
