"""Random programs of plain Python: what CPython does with them, a routine has to do, too."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

# What every program may use. `note` is an effect whose order matters.
PRELUDE = """\
import math
from dataclasses import dataclass
from typing import NamedTuple

import weft

SCALE = 2
NAMES = ["a", "b", "c"]
LOG = []


def note(value):
    LOG.append(str(value))
    return value


@dataclass
class Point:
    x: int
    y: float = 0.5

    def moved(self, by=1, *, twice=False):
        return Point(self.x + by * (2 if twice else 1), self.y)

    @property
    def total(self):
        return self.x + self.y


class Pair(NamedTuple):
    first: object
    second: object


class Shape:
    sides = 0

    def __init__(self, size):
        self.size = size

    def area(self):
        return self.size * self.sides

    def __len__(self):
        return self.size

    def __add__(self, other):
        if not isinstance(other, Shape):
            return NotImplemented
        return type(self)(self.size + other.size)

    def __eq__(self, other):
        return isinstance(other, Shape) and self.size == other.size


class Square(Shape):
    sides = 4

    def area(self):
        return super().area() + self.__class__.sides


class Net(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = weft.nn.ModuleList([weft.nn.Linear(3, 3), weft.nn.Linear(3, 3)])
        self.whole = weft.nn.Sequential(weft.nn.Linear(3, 3), weft.nn.Tanh(), weft.nn.Dropout(0.3))
        self.norm = weft.nn.BatchNorm1d(3)
        self.calls = 0

    def forward(self, x, *, rounds=1):
        self.calls += 1
        for part in self.parts:
            for _ in range(rounds):
                x = part(x).relu() + x * 0.1
        if self.training and x.dim() == 1:
            x = self.norm(weft.stack([x, x * 2, x - 1])).sum(0)
        return self.whole(x)


class Tally(Exception):
    def __init__(self, text, count=1):
        super().__init__(text, count)
        self.count = count


class Holder:
    def __init__(self):
        self.entered = 0

    def __enter__(self):
        self.entered += 1
        note("enter")
        return self

    def __exit__(self, kind, error, trace):
        note("exit " + ("fine" if kind is None else kind.__name__))
        return kind is KeyError


weft.manual_seed(5)
NET = Net()
HOLDER = Holder()
TOTAL = 0


def count(by=1):
    global TOTAL
    TOTAL += by
    return TOTAL


def gather(a, b=2, /, c=3, *rest, d=4, e=5, **options):
    return a + b + c + sum(rest) + d * e + len(options)


def forward(*args, **kwargs):
    return gather(*args, **kwargs)


def descend(n, seen=()):
    if n <= 0:
        return len(seen)
    return descend(n - 1, (*seen, n)) + descend(n - 2)
"""

INT, FLOAT, BOOL, TEXT = "int", "float", "bool", "text"
INTS, TUPLE, TABLE, POINT, VECTOR, SCALAR = "ints", "tuple", "table", "point", "vector", "scalar"
KINDS = (INT, FLOAT, BOOL, TEXT, INTS, TUPLE, TABLE, POINT, VECTOR, SCALAR)
PLAIN = (INT, FLOAT, BOOL, TEXT, INTS, TUPLE, TABLE, POINT)
NAMES = ("'x'", "'z'")


@dataclass
class Scope:
    """The variables of one function, by kind, as far as it has been written."""

    names: dict[str, list[str]] = field(default_factory=dict)
    read_only: set[str] = field(default_factory=set)
    loops: int = 0
    depth: int = 0

    def of(self, kind: str) -> list[str]:
        """Return the variables of a kind."""
        return self.names.get(kind, [])

    def copy(self) -> Scope:
        """Return a scope whose further variables are its own."""
        names = {kind: list(found) for kind, found in self.names.items()}
        return Scope(names, set(self.read_only), self.loops, self.depth)


class Writer:
    """Writes one program."""

    def __init__(self, seed: int, *, tensors: bool = True) -> None:
        self.random = random.Random(seed)
        self.tensors = tensors
        self.lines: list[str] = []
        self.indent = 0
        self.made = 0
        self.budget = self.random.randint(8, 45)
        self.functions: list[tuple[str, list[str], str]] = []  # name, kinds, kind of the result

    # ---- Tools

    def chance(self, share: float) -> bool:
        """Throw a coin."""
        return self.random.random() < share

    def pick(self, *choices: Callable[[], str]) -> str:
        """Write one of several forms."""
        return self.random.choice(choices)()

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.indent + text)

    def fresh(self) -> str:
        """Return a new name."""
        self.made += 1
        return f"v{self.made}"

    def kind(self) -> str:
        """Return some kind of value."""
        return self.random.choice(KINDS if self.tensors else PLAIN)

    # ---- Expressions

    def expression(self, kind: str, scope: Scope, depth: int = 0) -> str:
        """Return an expression of a kind; sometimes of another, for its error."""
        if self.chance(0.004):
            kind = self.kind()
        names = scope.of(kind)
        if names and (depth > 2 or self.chance(0.35)):
            return self.random.choice(names)
        if depth > 3:
            return self.literal(kind)
        method: Callable[[Scope, int], str] = getattr(self, f"{kind}_expression")
        text = method(scope, depth + 1)
        if self.chance(0.03):
            return f"note({text})"
        if self.chance(0.03):
            condition = self.condition(scope, depth + 1)
            return f"({text} if {condition} else {self.expression(kind, scope, depth + 1)})"
        return text

    def literal(self, kind: str) -> str:
        """Return a constant."""
        number = self.random.randint(-3, 7)
        return {
            INT: str(number),
            FLOAT: str(self.random.choice([0.0, -0.0, 1.5, 2.0, -3.25, 1e10])),
            BOOL: str(self.chance(0.5)),
            TEXT: repr(self.random.choice(["", "a", "bc", "Hello", "x y"])),
            INTS: f"[{number}, {number + 1}, 2]",
            TUPLE: f"({number}, 1.5, 'a')",
            TABLE: f"{{'a': {number}, 'b': 1}}",
            POINT: f"Point({number})",
            VECTOR: f"weft.tensor([{number}.0, 0.5, -1.0])",
            SCALAR: f"weft.tensor({number}.5)",
        }[kind]

    def int_expression(self, scope: Scope, depth: int) -> str:
        def of(kind: str) -> str:
            return self.expression(kind, scope, depth)

        operator = self.random.choice(["+", "-", "*", "//", "%", "&", "|", "^"])
        return self.pick(
            lambda: self.literal(INT),
            lambda: f"({of(INT)} {operator} {of(INT)})",
            lambda: f"-{of(INT)}" if depth < 3 else f"-({of(INT)})",
            lambda: f"len({of(self.random.choice([INTS, TUPLE, TABLE, TEXT]))})",
            lambda: f"int({of(FLOAT)} * 0.5)",
            lambda: f"{of(INTS)}[{self.random.choice([0, 1, -1, 2])}]",
            lambda: f"sum({of(INTS)})",
            lambda: f"sum({self.comprehension(scope, depth)})",
            lambda: f"max({of(INT)}, {of(INT)})",
            lambda: f"min({of(INTS)})",
            lambda: f"{of(TABLE)}.get({of(TEXT)}, {of(INT)})",
            lambda: f"{of(TABLE)}['a']",
            lambda: f"{of(POINT)}.x",
            lambda: f"abs({of(INT)})",
            lambda: f"({of(INT)} ** 2) % 1000",
            lambda: f"round({of(FLOAT)} % 97.0)",
            lambda: "SCALE",
            lambda: f"descend({of(INT)} % 5)",
            lambda: self.call(INT, scope, depth),
            lambda: self.binding(scope, depth),
            lambda: f"Square({of(INT)} % 9).area()",
            lambda: f"(Square(abs({of(INT)})) + Square(2)).size",
            lambda: f"divmod({of(INT)}, 7)[1]",
            lambda: f"({self.walrus(INT, scope, depth)})",
            lambda: f"(lambda q, r=2: q + r)({of(INT)})",
            lambda: f"math.floor({of(FLOAT)} % 50.0)",
            lambda: f"({of(INT)} * {of(INT)} ** 7 << 40) % 1013",
            lambda: f"count({of(INT)})",
            lambda: f"max({of(INTS)}, key=lambda q: -q)",
            lambda: f"({of(INT)} >> 1 | 4)",
            lambda: f"{of(TEXT)}.find({of(TEXT)}) + {of(TEXT)}.count('a')",
            lambda: f"next((q for q in {of(INTS)} if q > {of(INT)}), -1)",
            lambda: f"sum(a * b for a in {of(INTS)}[:3] for b in {of(INTS)}[:3] if a != b) % 1009",
            lambda: f"HOLDER.entered + int({of(BOOL)})",
            lambda: f"{of(INTS)}.index({of(INT)})",
            lambda: f"(lambda *q, **r: len(q) - len(r))(*{of(INTS)}, **{of(TABLE)})",
        )

    def float_expression(self, scope: Scope, depth: int) -> str:
        def of(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.pick(
            lambda: self.literal(FLOAT),
            lambda: f"({of(FLOAT)} {self.random.choice(['+', '-', '*'])} {of(INT)})",
            lambda: f"({of(FLOAT)} * {of(FLOAT)})",
            lambda: f"({of(INT)} / {of(INT)})",
            lambda: f"({of(FLOAT)} // 3 + {of(FLOAT)} % 3)",
            lambda: f"float({of(INT)})",
            lambda: f"max({of(INT)}, {of(FLOAT)})",
            lambda: f"math.sqrt(abs({of(FLOAT)}))",
            lambda: f"{of(POINT)}.total",
            lambda: f"round({of(FLOAT)}, 2)",
            lambda: f"{of(SCALAR)}.item()" if self.tensors else self.literal(FLOAT),
        )

    def condition(self, scope: Scope, depth: int) -> str:
        """Return what may be asked for its truth."""
        return self.expression(self.random.choice([BOOL, BOOL, INT, INTS, TEXT]), scope, depth)

    def bool_expression(self, scope: Scope, depth: int) -> str:
        def of(kind: str) -> str:
            return self.expression(kind, scope, depth)

        compare = self.random.choice(["<", "<=", "==", "!=", ">", ">="])
        same = self.random.choice(PLAIN)
        return self.pick(
            lambda: self.literal(BOOL),
            lambda: f"({of(INT)} {compare} {of(INT)})",
            lambda: f"({of(INT)} {compare} {of(FLOAT)})",
            lambda: f"({of(INT)} < {of(INT)} {compare} {of(FLOAT)})",
            lambda: f"({of(same)} == {of(same)})",
            lambda: f"({of(BOOL)} and {of(BOOL)})",
            lambda: f"({of(BOOL)} or {of(BOOL)})",
            lambda: f"(not {self.condition(scope, depth)})",
            lambda: f"({of(INT)} {self.random.choice(['in', 'not in'])} {of(INTS)})",
            lambda: f"({of(TEXT)} in {of(TABLE)})",
            lambda: f"({of(TUPLE)} is {self.random.choice(['None', 'not None'])})",
            lambda: f"isinstance({of(same)}, (int, Point))",
            lambda: f"hasattr({of(POINT)}, {self.random.choice(NAMES)})",
            lambda: f"any({self.comprehension(scope, depth)})",
            lambda: f"all(q > -2 for q in {of(INTS)})",
            lambda: f"{of(TEXT)}.startswith({of(TEXT)})",
            lambda: f"(type({of(same)}) is {self.random.choice(['int', 'str', 'Point'])})",
            lambda: f"({of(INTS)} is {of(INTS)})",
            lambda: f"({of(FLOAT)} * float('nan') == {of(FLOAT)})",
            lambda: f"{of(TEXT)}.isdigit()",
            lambda: f"({of(TUPLE)} < {of(TUPLE)})",
            lambda: f"({of(INT)} in {{1, 2, 3}})",
            lambda: "NET.training",
            lambda: f"callable({of(same)})",
            lambda: (
                f"bool({of(VECTOR)}.sum() {compare} {of(FLOAT)})"
                if self.tensors
                else self.literal(BOOL)
            ),
            lambda: f"({of(SCALAR)} {compare} {of(FLOAT)})" if self.tensors else "True",
        )

    def text_expression(self, scope: Scope, depth: int) -> str:
        def of(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.pick(
            lambda: self.literal(TEXT),
            lambda: f"({of(TEXT)} + {of(TEXT)})",
            lambda: f"str({of(self.random.choice([INT, FLOAT, BOOL, INTS, TUPLE]))})",
            lambda: (
                f'f"{{{of(INT)}}}-{{{of(FLOAT)}:.2f}}{{{of(TUPLE)}!r}}"'
                if depth > 2
                else self.literal(TEXT)
            ),
            lambda: f"'-'.join(str(q) for q in {of(INTS)})",
            lambda: f"{of(TEXT)}.upper()[:3]",
            lambda: f"({of(TEXT)} * 2)",
            lambda: f"NAMES[{of(INT)} % 3]",
            lambda: f"type({of(POINT)}).__name__",
            lambda: f"{of(TEXT)}.replace('a', {of(TEXT)})[:9]",
            lambda: f"{of(TEXT)}.strip().lower()",
            lambda: f"' '.join({of(TEXT)}.split())",
            lambda: (
                f'f"{{{of(INT)}!s:>4}}{{{of(FLOAT)}:+.1e}}"' if depth > 2 else self.literal(TEXT)
            ),
            lambda: f"{of(TEXT)}[::-1]",
            lambda: f"repr({of(POINT)})",
        )

    def ints_expression(self, scope: Scope, depth: int) -> str:
        def of(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.pick(
            lambda: self.literal(INTS),
            lambda: f"[{of(INT)}, {of(INT)}, *{of(INTS)}]",
            lambda: f"[{self.comprehension(scope, depth)}]",
            lambda: f"{of(INTS)}[{of(INT)} % 3:]",
            lambda: f"({of(INTS)} + {of(INTS)})[:9]",
            lambda: f"sorted({of(INTS)})",
            lambda: f"list(range({of(INT)} % 6))",
            lambda: f"list(reversed({of(INTS)}))",
            lambda: f"[a * b for a, b in zip({of(INTS)}, {of(INTS)})]",
            lambda: f"[i + v for i, v in enumerate({of(INTS)}) if v != {of(INT)}]",
            lambda: f"list({of(TABLE)}.values())",
            lambda: f"[*map(abs, {of(INTS)})]",
            lambda: f"sorted({of(INTS)}, key=lambda q: (q % 3, -q), reverse={of(BOOL)})",
            lambda: f"[q for p in [{of(INTS)}, {of(INTS)}] for q in p if q][:8]",
            lambda: f"list(filter(None, {of(INTS)}))",
            lambda: f"{of(INTS)}[::-1]",
            lambda: f"[len([r for r in range(abs(q) % 4)]) for q in {of(INTS)}]",
            lambda: f"sorted({{q % 4 for q in {of(INTS)}}})",
            lambda: f"{of(VECTOR)}.argsort().tolist()" if self.tensors else self.literal(INTS),
        )

    def tuple_expression(self, scope: Scope, depth: int) -> str:
        def of(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.pick(
            lambda: f"({of(INT)}, {of(FLOAT)}, {of(TEXT)})",
            lambda: f"({of(INT)}, *{of(INTS)})",
            lambda: f"tuple({of(INTS)})",
            lambda: f"Pair({of(INT)}, {of(TEXT)})",
            lambda: f"Pair({of(INT)}, second={of(FLOAT)})._replace(first={of(INT)})",
            lambda: f"divmod({of(INT)}, {of(INT)})",
            lambda: f"({of(TUPLE)} + (1,))[:4]",
            lambda: f"tuple((i, v) for i, v in {of(TABLE)}.items())",
        )

    def table_expression(self, scope: Scope, depth: int) -> str:
        def of(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.pick(
            lambda: f"{{'a': {of(INT)}, {of(TEXT)}: {of(INT)}}}",
            lambda: f"{{'a': 1, **{of(TABLE)}}}",
            lambda: f"{{'a': 0}} | {{str(q): q for q in {of(INTS)} if q > {of(INT)}}}",
            lambda: f"dict(a={of(INT)}, z={of(INT)})",
            lambda: f"{{**{of(TABLE)}, 'a': {of(INT)}}}",
        )

    def point_expression(self, scope: Scope, depth: int) -> str:
        def of(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.pick(
            lambda: f"Point({of(INT)}, {of(FLOAT)})",
            lambda: f"Point(y={of(FLOAT)}, x={of(INT)})",
            lambda: f"{of(POINT)}.moved({of(INT)}, twice={of(BOOL)})",
        )

    def vector_expression(self, scope: Scope, depth: int) -> str:
        def of(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.pick(
            lambda: self.literal(VECTOR),
            lambda: f"({of(VECTOR)} {self.random.choice(['+', '-', '*'])} {of(VECTOR)})",
            lambda: f"({of(VECTOR)} * {of(FLOAT)}).tanh()",
            lambda: f"({of(VECTOR)} + {of(SCALAR)}).sigmoid()",
            lambda: f"{of(VECTOR)}.relu()",
            lambda: f"weft.stack([{of(SCALAR)}, {of(SCALAR)}, {of(SCALAR)}])",
            lambda: f"weft.cat([{of(VECTOR)}[1:], {of(VECTOR)}[:1]])",
            lambda: f"weft.where({of(VECTOR)} > 0, {of(VECTOR)}, {of(VECTOR)} * 0.5)",
            lambda: f"{of(VECTOR)}.reshape(3, -1).squeeze(1)",
            lambda: f"-{of(VECTOR)}.clone()",
            lambda: f"NET({of(VECTOR)})",
            lambda: f"NET({of(VECTOR)}, rounds={of(INT)} % 3)",
            lambda: f"NET.parts[{of(INT)} % 2]({of(VECTOR)})",
            lambda: f"({of(VECTOR)} + weft.rand(3))",
            lambda: f"weft.nn.functional.dropout({of(VECTOR)}, 0.5, training={of(BOOL)})",
            lambda: f"{of(VECTOR)}[weft.tensor([2, 0, 1])]",
            lambda: f"{of(VECTOR)}[{of(VECTOR)} > {of(FLOAT)}].sum() * weft.ones(3)",
            lambda: f"{of(VECTOR)}[None, ::1][0, ...]",
            lambda: f"weft.softmax({of(VECTOR)}, dim=-1)",
            lambda: f"sum([{of(VECTOR)}, {of(VECTOR)}])",
            lambda: f"{of(VECTOR)}.masked_fill({of(VECTOR)} < 0, {of(FLOAT)})",
            lambda: f"weft.stack([q * {of(FLOAT)} for q in {of(VECTOR)}])",
        )

    def scalar_expression(self, scope: Scope, depth: int) -> str:
        def of(kind: str) -> str:
            return self.expression(kind, scope, depth)

        return self.pick(
            lambda: f"{of(VECTOR)}.sum()",
            lambda: f"{of(VECTOR)}[{self.random.choice([0, 1, -1])}]",
            lambda: f"({of(SCALAR)} * {of(FLOAT)}).tanh()",
            lambda: f"({of(VECTOR)} * {of(VECTOR)}).mean()",
            lambda: f"{of(VECTOR)}.max()",
            lambda: f"({of(SCALAR)} + {of(INT)})",
            lambda: f"({of(SCALAR)} if {of(SCALAR)} > {of(SCALAR)} else {of(SCALAR)})",
        )

    def comprehension(self, scope: Scope, depth: int) -> str:
        """Return the inside of a comprehension of numbers."""
        inner = scope.copy()
        inner.names.setdefault(INT, []).append("q")
        inner.read_only.add("q")
        text = f"{self.expression(INT, inner, depth + 1)} for q in "
        text += self.expression(INTS, scope, depth + 1)
        if self.chance(0.4):
            text += f" if {self.condition(inner, depth + 1)}"
        return text

    def walrus(self, kind: str, scope: Scope, depth: int) -> str:
        """Return `name := value`; the name may stay unbound elsewhere."""
        if "q" in scope.read_only or scope.depth > 50:
            return self.expression(kind, scope, depth)
        value = self.expression(kind, scope, depth)
        name = self.fresh()
        return f"{name} := {value}"

    def binding(self, scope: Scope, depth: int) -> str:
        """Return a call with arguments of every kind, which may not fit."""

        def of(kind: str) -> str:
            return self.expression(kind, scope, depth)

        function = self.random.choice(["gather", "forward"])
        return self.pick(
            lambda: f"{function}({of(INT)})",
            lambda: f"{function}({of(INT)}, {of(INT)}, c={of(INT)}, e={of(INT)})",
            lambda: f"{function}(*{of(INTS)}, d={of(INT)})",
            lambda: f"{function}(1, **{of(TABLE)})",
            lambda: f"{function}({of(INT)}, {of(INT)}, {of(INT)}, *{of(INTS)}, z={of(INT)})",
        )

    def call(self, kind: str, scope: Scope, depth: int) -> str:
        """Return a call of a function of the program."""
        fitting = [item for item in self.functions if item[2] == kind]
        if not fitting or scope.depth > 50:
            return self.literal(kind)
        name, kinds, _ = self.random.choice(fitting)
        given = [self.expression(item, scope, depth + 1) for item in kinds]
        if self.chance(0.3) and given:
            given[-1] = f"p{len(given) - 1}={given[-1]}"
        return f"{name}({', '.join(given)})"

    # ---- Statements

    def statements(self, scope: Scope, most: int) -> None:
        """Write a block."""
        for _ in range(self.random.randint(1, most)):
            self.budget -= 1
            self.statement(scope)

    def statement(self, scope: Scope) -> None:
        """Write one statement."""
        plain = [self.assign, self.assign, self.assign, self.augment, self.mutate, self.effect]
        nested = [self.branch, self.branch, self.loop, self.loop, self.while_loop]
        rare = [
            self.unpack,
            self.delete,
            self.check,
            self.closure,
            self.attempt,
            self.leave,
            self.mode,
            self.annotate,
            self.manage,
            self.give_up,
            self.write_around,
            self.keep_generator,
            self.in_place if self.tensors else self.mutate,
            self.switch if self.tensors else self.augment,
        ]
        choices = plain * 2 + rare
        if self.budget > 0 and self.indent < 5:
            choices += nested * 2
        self.random.choice(choices)(scope)

    def bind(self, scope: Scope, kind: str) -> str:
        """Return a variable of a kind to write: an old one or a new one."""
        old = [name for name in scope.of(kind) if name not in scope.read_only]
        if old and self.chance(0.5):
            return self.random.choice(old)
        name = self.fresh()
        scope.names.setdefault(kind, []).append(name)
        return name

    def assign(self, scope: Scope) -> None:
        kind = self.kind()
        value = self.expression(kind, scope)
        name = self.bind(scope, kind)
        if self.chance(0.05):
            other = self.bind(scope, kind)
            self.line(f"{name} = {other} = {value}")
        else:
            self.line(f"{name} = {value}")

    def annotate(self, scope: Scope) -> None:
        value = self.expression(INT, scope)
        self.line(f"{self.bind(scope, INT)}: int = {value}")

    def augment(self, scope: Scope) -> None:
        kind = self.random.choice([INT, FLOAT, TEXT, INTS])
        names = [name for name in scope.of(kind) if name not in scope.read_only]
        if not names:
            return self.assign(scope)
        name = self.random.choice(names)
        operator = self.random.choice(["+=", "-=", "*="]) if kind in (INT, FLOAT) else "+="
        value = self.expression(kind, scope, 1)
        if kind == INT:
            value = f"{value} % 11"
        self.line(f"{name} {operator} {value}")
        if kind in (TEXT, INTS):
            self.line(f"{name} = {name}[:12]")
        return None

    def mutate(self, scope: Scope) -> None:
        def of(kind: str) -> str:
            return self.expression(kind, scope, 1)

        lists, tables, points = scope.of(INTS), scope.of(TABLE), scope.of(POINT)
        choices: list[Callable[[], str]] = []
        if lists:
            name = self.random.choice(lists)
            choices += [
                lambda: f"{name}.append({of(INT)} % 1000)",
                lambda: f"{name}[0] = {of(INT)}",
                lambda: f"{name}[-1] += {of(INT)}",
                lambda: f"{name}.insert(0, {of(INT)})",
                lambda: f"{name}[1:2] = {of(INTS)}[:2]",
                lambda: f"{name}.pop()",
                lambda: f"{name}.sort()",
            ]
        if tables:
            table = self.random.choice(tables)
            choices += [
                lambda: f"{table}[{of(TEXT)}] = {of(INT)}",
                lambda: f"{table}['a'] += 1",
                lambda: f"{table}.setdefault({of(TEXT)}, 3)",
                lambda: f"{table}.update(b={of(INT)})",
                lambda: f"{table}.pop({of(TEXT)}, None)",
            ]
        if points:
            point = self.random.choice(points)
            choices += [
                lambda: f"{point}.x = {of(INT)}",
                lambda: f"{point}.x += 1",
            ]
        if choices:
            self.line(self.random.choice(choices)())
        else:
            self.assign(scope)

    def effect(self, scope: Scope) -> None:
        kind = self.random.choice(PLAIN)
        self.line(f"note({self.expression(kind, scope)})")

    def block(self, scope: Scope, most: int = 3) -> None:
        self.indent += 1
        self.statements(scope, most)
        self.indent -= 1

    def branch(self, scope: Scope) -> None:
        self.line(f"if {self.condition(scope, 0)}:")
        inner = scope if self.chance(0.15) else scope.copy()  # its names may stay unbound
        self.block(inner)
        if self.chance(0.3):
            self.line(f"elif {self.condition(scope, 0)}:")
            self.block(scope.copy())
        if self.chance(0.5):
            self.line("else:")
            self.block(scope.copy())

    def loop(self, scope: Scope) -> None:
        inner = scope.copy()
        inner.loops += 1
        name = self.fresh()
        iterable = self.expression(INTS, scope, 1)
        form = self.random.randrange(6)
        if form == 0:
            self.line(f"for {name} in range({self.expression(INT, scope, 1)} % 5):")
        elif form == 1:
            other = self.fresh()
            self.line(f"for {other}, {name} in enumerate({iterable}[:5]):")
            inner.names.setdefault(INT, []).append(other)
        elif form == 2:
            other = self.fresh()
            self.line(f"for {other}, {name} in list({self.expression(TABLE, scope, 1)}.items()):")
            inner.names.setdefault(TEXT, []).append(other)
        elif form == 3 and self.tensors:
            self.line(f"for {name} in {self.expression(VECTOR, scope, 1)}:")
            inner.names.setdefault(SCALAR, []).append(name)
        else:
            self.line(f"for {name} in {iterable}[:5]:")
        if form != 3 or not self.tensors:
            inner.names.setdefault(INT, []).append(name)
        inner.read_only.add(name)
        self.block(inner)
        if self.chance(0.3):
            self.indent += 1
            self.line(f"if {self.condition(inner, 1)}:")
            self.indent += 1
            self.line(self.random.choice(["break", "continue"]))
            self.indent -= 2
        if self.chance(0.2):
            self.line("else:")
            self.block(scope.copy(), 2)

    def while_loop(self, scope: Scope) -> None:
        count = self.fresh()
        self.line(f"{count} = {self.random.randint(0, 4)}")
        self.line(f"while {count} > 0 and {self.condition(scope, 1)}:")
        self.indent += 1
        self.line(f"{count} -= 1")
        self.indent -= 1
        inner = scope.copy()
        inner.loops += 1
        self.block(inner)
        if self.chance(0.2):
            self.line("else:")
            self.block(scope.copy(), 2)

    def unpack(self, scope: Scope) -> None:
        def of(kind: str) -> str:
            return self.expression(kind, scope, 1)

        first, second = self.fresh(), self.fresh()
        form = self.random.randrange(4)
        if form == 0:
            self.line(f"{first}, {second} = {of(INT)}, {of(INT)}")
            scope.names.setdefault(INT, []).extend((first, second))
        elif form == 1:
            self.line(f"{first}, *{second} = {of(INTS)}")
            scope.names.setdefault(INT, []).append(first)
            scope.names.setdefault(INTS, []).append(second)
        elif form == 2:
            self.line(f"({first}, {second}), _ = {of(INTS)}[:2], {of(TUPLE)}")
            scope.names.setdefault(INT, []).extend((first, second))
        else:
            self.line(f"[{first}, {second}, _] = {of(VECTOR if self.tensors else INTS)}")
            scope.names.setdefault(SCALAR if self.tensors else INT, []).extend((first, second))

    def delete(self, scope: Scope) -> None:
        kind = self.random.choice([INT, FLOAT])
        names = [name for name in scope.of(kind) if name not in scope.read_only]
        if not names or not self.chance(0.5):
            self.line(f"del {self.expression(INTS, scope, 1)}[0]")
            return
        name = self.random.choice(names)
        self.line(f"del {name}")
        if self.chance(0.7):  # else it is read although it is gone
            scope.names[kind].remove(name)

    def check(self, scope: Scope) -> None:
        text = self.expression(TEXT, scope, 1)
        self.line(f"assert {self.condition(scope, 0)} or True, {text}")
        if self.chance(0.15):
            self.line(f"assert {self.condition(scope, 0)}, {text}")

    def closure(self, scope: Scope) -> None:
        if self.indent > 3:
            return self.effect(scope)
        name = f"inner{self.made}"
        self.made += 1
        default = self.expression(INT, scope, 1)
        self.line(f"def {name}(p0, p1={default}):")
        inner = scope.copy()
        inner.depth = 99  # no calls of others, which might not end
        names = {kind: list(found) for kind, found in inner.names.items()}
        names.setdefault(INT, []).extend(("p0", "p1"))
        for found in names.values():
            inner.read_only.update(found)
        inner.names = names
        inner.read_only -= {"p0", "p1"}
        self.indent += 1
        self.line(f"return {self.expression(INT, inner, 0)}")
        self.indent -= 1
        argument = self.expression(INT, scope, 1)
        self.line(f"{self.bind(scope, INT)} = {name}({argument})")
        return None

    def attempt(self, scope: Scope) -> None:
        self.line("try:")
        self.block(scope.copy(), 2)
        kinds = self.random.choice(["ZeroDivisionError", "(KeyError, IndexError)", "Exception"])
        self.line(f"except {kinds} as error:")
        self.indent += 1
        self.line("note(type(error).__name__)")
        self.indent -= 1
        if self.chance(0.3):
            self.line("else:")
            self.block(scope.copy(), 1)
        if self.chance(0.3):
            self.line("finally:")
            self.block(scope.copy(), 1)

    def leave(self, scope: Scope) -> None:
        self.line(f"if {self.condition(scope, 0)}:")
        self.indent += 1
        if self.chance(0.15):
            self.line(f"raise ValueError({self.expression(TEXT, scope, 1)}, SCALE)")
        elif scope.loops and self.chance(0.5):
            self.line(self.random.choice(["break", "continue"]))
        else:
            self.line(f"return {self.result(scope)}")
        self.indent -= 1

    def mode(self, scope: Scope) -> None:
        if not self.tensors:
            return self.effect(scope)
        self.line(f"with {self.random.choice(['weft.no_grad()', 'weft.enable_grad()'])}:")
        self.block(scope if self.chance(0.5) else scope.copy(), 2)
        return None

    def manage(self, scope: Scope) -> None:
        self.line("with HOLDER as held:")
        self.block(scope if self.chance(0.3) else scope.copy(), 2)
        if self.chance(0.2):
            self.indent += 1
            self.line(f"{self.expression(TABLE, scope, 1)}['missing']")
            self.indent -= 1
        self.line("note(held.entered)")

    def give_up(self, scope: Scope) -> None:
        self.line("try:")
        self.indent += 1
        self.statements(scope.copy(), 1)
        self.line(f"if {self.condition(scope, 1)}:")
        cause = self.random.choice(["", " from None", " from KeyError('cause')"])
        self.line(f"    raise Tally({self.expression(TEXT, scope, 2)}){cause}")
        if scope.loops and self.chance(0.5):
            self.line(self.random.choice(["break", "continue"]))
        elif self.chance(0.3):
            self.line(f"return {self.result(scope)}")
        self.indent -= 1
        if self.chance(0.6):
            self.line("except Tally as tally:")
            self.indent += 1
            self.line("note((tally.count, type(tally.__cause__).__name__))")
            if self.chance(0.3):
                self.line(self.random.choice(["raise", "raise ValueError from tally", "pass"]))
            self.indent -= 1
        self.line("finally:")
        self.block(scope.copy(), 1)

    def write_around(self, scope: Scope) -> None:
        name = self.bind(scope, INT)
        if self.indent != 1 or name in ("p0", "p1") or scope.depth > 50:
            return self.effect(scope)
        self.line(f"{name} = {self.expression(INT, scope, 1)}")
        self.line(f"def more{self.made}(by=1):")
        self.line(f"    nonlocal {name}")
        self.line(f"    {name} += by")
        self.line(f"    return {name}")
        self.line(f"note([more{self.made}(q) for q in (1, 2)])")
        self.made += 1
        return None

    def keep_generator(self, scope: Scope) -> None:
        name = self.fresh()
        self.line(f"{name} = ({self.comprehension(scope, 1)})")
        self.line(f"for _ in {name}:")
        self.line("    break")
        self.line(f"note(list({name}))")

    def in_place(self, scope: Scope) -> None:
        name = self.bind(scope, VECTOR)
        self.line(f"{name} = {self.expression(VECTOR, scope, 1)} * 1.5")
        number = self.expression(FLOAT, scope, 1)
        self.line(
            self.random.choice(
                [
                    f"{name} += {number}",
                    f"{name}[1] = {number}",
                    f"{name}[{self.expression(INT, scope, 2)} % 3:] *= 2",
                    f"{name}.mul_({number})",
                    f"{name}[weft.tensor([True, False, True])] = 0.5",
                    f"{name}.clamp_(-1, 1).add_(1)",
                ]
            )
        )

    def switch(self, scope: Scope) -> None:
        self.line(self.random.choice(["NET.train()", "NET.eval()", "NET.calls = 0"]))
        self.assign(scope)
        self.line("note((NET.calls, NET.norm.num_batches_tracked.item()))")

    # ---- The whole

    returns = ""

    def result(self, scope: Scope) -> str:
        """Return what a function gives."""
        if self.returns:
            return self.expression(self.returns, scope, 1)
        kinds = self.random.sample(KINDS if self.tensors else PLAIN, 3)
        return "(" + ", ".join(self.expression(kind, scope, 1) for kind in kinds) + ")"

    def function(self, name: str, kinds: list[str], returns: str) -> None:
        """Write a function of parameters of these kinds."""
        self.line("")
        self.line("")
        self.line(f"def {name}({', '.join(f'p{i}' for i in range(len(kinds)))}):")
        scope = Scope()
        for place, kind in enumerate(kinds):
            scope.names.setdefault(kind, []).append(f"p{place}")
        self.returns = returns
        self.indent += 1
        self.budget = self.random.randint(4, 30)
        self.statements(scope, 7)
        self.line(f"return {self.result(scope)}")
        self.indent -= 1

    def program(self) -> str:
        """Return the text of a module whose function `program` is the whole."""
        for place in range(self.random.randint(0, 2)):
            kinds = [self.kind() for _ in range(self.random.randint(1, 3))]
            returns = self.random.choice([INT, self.kind()])
            self.function(f"f{place}", kinds, returns)
            self.functions.append((f"f{place}", kinds, returns))
        parameters = [INT, FLOAT, INTS, TABLE, POINT]
        if self.tensors:
            parameters += [VECTOR, VECTOR, SCALAR]
        self.function("program", parameters, "")
        return PRELUDE + "\n".join(self.lines) + "\n"


def write_program(seed: int, *, tensors: bool | None = None) -> str:
    """Return the text of a random program; half of them have no tensors."""
    wanted = seed % 2 == 0 if tensors is None else tensors
    while True:
        text = Writer(seed, tensors=wanted).program()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)  # `1 is None`, `2[0]`
                compile(text, "program", "exec", dont_inherit=True)
        except SyntaxError:  # `:=` where Python allows none, or quotes inside quotes
            seed += 1_000_003
        else:
            return text
