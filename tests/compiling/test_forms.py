"""Each form of tier 1 by itself: compiled, and the same as Python."""

from __future__ import annotations

import linecache
from types import FunctionType
from typing import Any

import pytest

import weft
from weft import _core

PRELUDE = """\
import enum, math, weft
from dataclasses import dataclass, field

class Color(enum.Enum):
    RED = 1
    BLUE = 2

@dataclass(frozen=True)
class Box:
    width: int
    items: list = field(default_factory=list)

    @property
    def size(self):
        return self.width * len(self.items)

    def __contains__(self, item):
        return item in self.items

class Base:
    def __init__(self, x):
        self.x = x
    def value(self, by=1):
        return self.x + by

class Derived(Base):
    __hidden = 3
    def value(self, by=1):
        return super().value(by) * self.__hidden

total = 10
big = 2**70

def deco(f):
    return lambda *a: ("decorated", f(*a))
"""

FORMS = {
    "positional only": "def g(a, b=2, /, *, c=3): return a, b, c\nreturn g(1), g(1, 5, c=x)",
    "forwarding": "def g(*a, **k): return a, k\nreturn g(*[1, 2], x, *(3,), k=1, **{'m': 2})",
    "a star before what is no iterable": "def g(*a): return a\nreturn g(*x)",
    "a star after others before what is no iterable": "def g(*a): return a\nreturn g(1, *x)",
    "a star is iterated last": "s = []\ndef g(*a, **k): return a, k, s\ndef each():\n"
    "    s.append('star')\n    yield 1\nreturn g(*each(), **{'k': s.append('keyword')})",
    "two stars": "s = []\ndef g(*a): return a, s\ndef each(n):\n    s.append(n)\n    yield n\n"
    "return g(*each(1), *each(s.append('between') or 2))",
    "two stars before what is no mapping": "def g(**a): return a\nreturn g(**x)",
    "wrong arguments": "return (lambda a: a)()",
    "unpacking": "(a, *b), [c, d] = [1, 2, 3], 'xy'\n*e, f = range(x + 3)\nreturn a, b, c, d, e, f",
    "too many": "a, b = range(x + 3)\nreturn a",
    "several targets": "a = b = [x]\nb.append(2)\nreturn a, a is b",
    "augmented": "a = [1, 2]\nb = a\na += (x,)\na[0] *= 3\nt = {'k': 1}\nt['k'] -= 4\nreturn a, b, t",
    "augmented attribute": "b = Base(x)\nb.x **= 2\nb.x |= 1\nreturn b.x",
    "walrus": "if (n := x + 1) > 1 and (m := n * 2):\n    return n, m\nreturn n",
    "walrus in a comprehension": "a = [last := v for v in range(x + 2)]\nreturn a, last",
    "annotated": "a: int = x\nb: undefined_name\nreturn a",
    "del": "a = [1, 2, 3]\ndel a[0], a[-1]\nb = x\ndel b\nreturn a, b",
    "del of parts": "a = {'k': 1}\ndel a['k']\nb = Base(1)\ndel b.x\nreturn a, hasattr(b, 'x')",
    "ternary": "return 'a' if x > 1 else 'b' if x else 'c'",
    "and or not": "return x and 'y', x or 'z', not x, (0 or None) and 1, x and 0 or 'end'",
    "chained": "return 0 < x < 10, 0 < x > 5 != 3, x in (1, 2) not in [[True]]",
    "is": "return x is None, type(x) is int, x is not Ellipsis, Color.RED is Color(1)",
    "while else": "n = x\nwhile n > 0:\n    n -= 1\nelse:\n    n = 'else'\nreturn n",
    "while break": "n = 9\nwhile True:\n    n -= 1\n    if n == x:\n        break\nelse:\n    return 0\nreturn n",
    "for else": "for v in range(x):\n    if v == 5:\n        break\nelse:\n    v = 'none'\nreturn v",
    "for over views": "t = {'a': 1, 'b': x}\nreturn [*t], [*t.items()], [v for v in t.values()]",
    "for and lists that grow": "a = [1]\nfor v in a:\n    if v < 4:\n        a.append(v + x)\nreturn a",
    "loops in loops": "s = []\nfor i in range(3):\n    for j in range(3):\n        if j > i: break\n"
    "        if j == x: continue\n        s.append((i, j))\nreturn s",
    "zip and others": "return list(zip('abc', range(x + 1))), list(enumerate('ab', x)), [*reversed([1, 2])]",
    "strict zip": "return list(zip([1], [1, 2], strict=True))",
    "early return": "for v in (1, 2):\n    if v > x:\n        return v\nreturn None",
    "no return": "x + 1",
    "recursion": "def fact(n): return 1 if n < 2 else n * fact(n - 1)\nreturn fact(x + 25)",
    "closures": "fs = [lambda: v for v in range(3)]\nreturn [f() for f in fs]",
    "nonlocal": "n = x\ndef more():\n    nonlocal n\n    n += 1\n    return n\nreturn more(), more(), n",
    "global": "global total\ntotal += x\nreturn total",
    "defaults of nested functions": "def g(a, s=[]):\n    s.append(a)\n    return s\nreturn g(1), g(x)",
    "decorated nested function": "@deco\ndef g(a): return a\nreturn g(x)",
    "annotations": "def g(a: int, *b: 'str', c: total = 1) -> float: return a\nreturn g.__annotations__",
    "unbound": "if x > 100:\n    a = 1\nreturn a",
    "free and unbound": "def g(): return a\nr = g()\na = 1\nreturn r",
    "super": "return Derived(x).value(), Derived.value(Derived(1), by=x)",
    "comprehensions": "return {v: w for v in 'ab' for w in range(2) if w}, {v % 2 for v in range(5)}, "
    "[[a for a in range(b)] for b in range(3)]",
    "scope of a comprehension": "v = 'outer'\na = [v for v in range(x)]\nreturn v, a",
    "generators consumed": "return sum(v * v for v in range(x + 3)), any(v > 1 for v in [0, 2]), "
    "tuple(v for v in 'ab'), sorted((-v for v in range(3)), reverse=True), '-'.join(c for c in 'xyz')",
    "a generator that is kept": "g = (v * 2 for v in range(4))\nreturn next(g), list(g)",
    "dataclass": "b = Box(x + 1, [1, 2])\nreturn b, b.size, 1 in b, b == Box(x + 1, [1, 2])",
    "frozen": "b = Box(1)\nb.width = 2",
    "texts": "s = 'a,b'\nreturn s.split(','), s * 2, s[::-1], s.upper().find('B'), 'a' in s, s < 'b', s.strip('a')",
    "f-strings": "return f'{x}', f'{x:>{x + 3}}|', f'{x!r:^5}', f'{1.5:.3e}{\"q\"}', f'{x=}'",
    "slices": "a = list(range(9))\na[1:3] = []\na[::2] = [0] * len(a[::2])\nreturn a, a[-3:], a[slice(1, None, 3)]",
    "sets": "a = {1, x}\na.add(5)\nreturn sorted(a | {7}), 5 in a, len(a & {5})",
    "dicts": "a = {'a': 1, **{'b': x}}\na |= {'c': 3}\nreturn a, a.pop('a'), a.setdefault('z', []), list(a)",
    "builtins": "return len('ab'), abs(-x), round(2.675, 2), divmod(-7, 2), min(3, x), max([1, 2]), bool(''), "
    "int(' 12_3 '), float('1e3'), isinstance(True, int), getattr(x, 'real'), math.floor(2.5)",
    "large ints": "return 2**62 + 2**62, -(2**63) - 1, big + x, (1 << 80) >> 70, 3**50 // 7, int(1e30), abs(-(2**63))",
    "exact comparison": "return 2**53 + 1 == float(2**53), 2**53 + 1 > float(2**53), 2**70 > 1e20, True == 1.0",
    "floats": "return -7.5 // 2, -7.5 % 2, -0.0 % 3, 1e308 * 10, 7 / 2, 2**-1, (2**60 + 1) / 3",
    "nan": "n = float('nan')\na = [n]\nreturn n in a, a == [n], a.index(n), n == n, {n: 1}[n], min(n, 1.0)",
    "division by zero": "return 1 // (x - x)",
    "float overflow": "return 10.0 ** 400",
    "negative shift": "return 1 << -x",
    "raise from": "try:\n    raise KeyError('a') from ValueError('b')\nexcept KeyError as e:\n"
    "    return type(e.__cause__).__name__, e.__suppress_context__, e.args",
    "context": "try:\n    try:\n        1 / 0\n    except ZeroDivisionError:\n        raise TypeError('x')\n"
    "except TypeError as e:\n    return type(e.__context__).__name__",
    "finally": "s = []\ntry:\n    try:\n        return s\n    finally:\n        s.append(x)\nfinally:\n    s.append('out')",
    "return in finally": "try:\n    1 / 0\nfinally:\n    return x",
    "else of try": "try:\n    a = 1\nexcept Exception:\n    a = 2\nelse:\n    a += 5\nreturn a",
    "an error in a handler": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    e.missing",
    "the name of a handler": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    pass\nreturn e",
    "with": "with weft.no_grad():\n    a = weft.is_grad_enabled()\nreturn a, weft.is_grad_enabled()",
    "enums": "return [c.name for c in Color], Color['RED'].value, Color.RED in (Color.BLUE, Color.RED)",
    "bytes and complex numbers": "return b'ab'[0], (1 + 2j) * x, b'a' + b'b', (-8.0) ** (1 / 3)",
    "tensors": "t = weft.arange(6.0).reshape(2, 3)\nreturn (t[0, 1:], t[:, x], t[t > 2], t[None, ..., -1], "
    "[r.sum().item() for r in t], t.max() > 4, len(t), x * t)",
    "tensors in place": "t = weft.zeros(4)\nu = t[1:]\nt += x\nu *= 2\nt[0] = 7\nt[weft.tensor([3])] = 9\n"
    "t.add_(1).clamp_(max=8)\nreturn t, u",
    "gradients": "t = weft.tensor([1.0, 2.0], requires_grad=True)\n((t * x) ** 2).sum().backward()\nreturn t.grad",
    "random draws": "weft.manual_seed(x)\nreturn weft.rand(2), weft.nn.functional.dropout(weft.ones(9), 0.5)",
    "an error of an op": "return weft.ones(2) + weft.ones(3)",
}  # fmt: skip


def function_of(name: str) -> FunctionType:
    body = "".join(f"    {line}\n" for line in FORMS[name].splitlines())
    text = f"{PRELUDE}\ndef form(x):\n{body}"
    file = f"<form: {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "forms"}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names["form"]


def outcome(name: str, compiled: bool) -> str:
    function = function_of(name)
    call = weft.compile(function) if compiled else function
    if compiled:
        assert _core.routine_of(function) is not None
    try:
        return repr(call(1))
    except Exception as error:  # noqa: BLE001 - errors are compared
        lines = []
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename.startswith("<form"):
                lines.append((trace.tb_frame.f_code.co_name, trace.tb_lineno))
            trace = trace.tb_next
        return f"{error!r} {lines}"


@pytest.mark.parametrize("name", FORMS)
def test_a_form_does_what_python_does(name: str) -> None:
    assert outcome(name, compiled=True) == outcome(name, compiled=False)


def same(a: object, b: object) -> bool:
    return a is b


def test_equal_numbers_have_no_identity() -> None:
    compiled = weft.compile(same)
    assert compiled(5, 5)
    assert not compiled(1000, 1001)
    assert not compiled(1.5, 2)
    assert compiled("text", "text")
    for number in (1000, 1.5):
        with pytest.raises(weft.UnsupportedError, match="`is` between two numbers"):
            compiled(number, number)
