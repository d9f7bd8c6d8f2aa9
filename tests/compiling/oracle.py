"""Runs a program twice, as Python and as routines, and compares all that can be seen."""

from __future__ import annotations

import linecache
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from types import FunctionType, ModuleType

import weft
from tests.compiling.generator import write_program
from weft import _core
from weft.compiling.lower import lower
from weft.compiling.refusals import RefusedError

FILE = "<random program>"


@dataclass
class Outcome:
    """What can be seen of a run."""

    result: object = None
    error: object = None
    log: list[str] = field(default_factory=list)
    arguments: object = None
    gradients: object = None
    stream: object = None


def load(text: str, seed: int) -> ModuleType:
    """Run a program's text as a module of its own, whose lines can be found."""
    name = f"{FILE[:-1]} {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    module = ModuleType("random_program")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(text, name, "exec", dont_inherit=True), module.__dict__)
    return module


def make_arguments(module: ModuleType, seed: int) -> list[object]:
    """Return the arguments of a program's main function, alike at each call."""
    number = seed % 7 - 2
    given: list[object] = [
        number,
        number * 0.75 + 0.5,
        [number, 4, 1, -2],
        {"a": number, "b": 2},
        module.Point(number, 1.5),
    ]
    if module.program.__code__.co_argcount > len(given):
        weights = weft.tensor([0.5, -1.0, 2.0]) + 0.125 * number
        given += [
            weights.requires_grad_(),
            weft.tensor([1.0, float(number), -0.5]),
            weft.tensor(0.75, requires_grad=True),
        ]
    return given


def plain(value: object, around: tuple[int, ...] = ()) -> object:
    """Return what is compared of a value: its type, and all that is in it."""
    if isinstance(value, weft.Tensor):
        numbers = [float(number).hex() for number in value.detach().reshape(-1).tolist()]
        return ("tensor", str(value.dtype), tuple(value.shape), value.requires_grad, numbers)
    if id(value) in around:  # a list may be in itself
        return ("inside", around.index(id(value)))
    around = (*around, id(value))
    if isinstance(value, dict):
        items = [(plain(key, around), plain(item, around)) for key, item in value.items()]
        return ("dict", items)
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [plain(item, around) for item in value])
    if is_dataclass(value) and not isinstance(value, type):
        parts = [plain(getattr(value, item.name), around) for item in fields(value)]
        return (type(value).__name__, parts)
    if isinstance(value, float):
        return ("float", value.hex())
    if value is None or isinstance(value, (bool, int, str)):
        return (type(value).__name__, value)
    return type(value).__name__


def seen_of_error(error: BaseException) -> object:
    """Return what is compared of an exception: type, arguments, causes, and the user's lines."""
    lines: list[tuple[str, int | None]] = [
        (frame.name, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(FILE[:-1])
    ]
    if lines and isinstance(error, UnboundLocalError):
        # Once it has run a while, CPython 3.11 takes two instructions as one and names the line of
        # the first: of `for x in e:` instead of its body's first line.
        lines[-1] = (lines[-1][0], None)
    causes = [
        seen_of_error(other) if other is not None else None
        for other in (error.__cause__, error.__context__)
    ]
    return (type(error).__name__, plain(error.args), lines, causes)


def tensors_in(value: object) -> list[weft.Tensor]:
    """Return the tensors in a result."""
    if isinstance(value, weft.Tensor):
        return [value]
    if isinstance(value, dict):
        return [found for item in value.values() for found in tensors_in(item)]
    if isinstance(value, (list, tuple)):
        return [found for item in value for found in tensors_in(item)]
    return []


def differentiate(result: object, given: list[object]) -> object:
    """Return first and second gradients of a result for the program's arguments."""
    results = [item.sum() for item in tensors_in(result) if item.requires_grad]
    inputs = [item for item in given if isinstance(item, weft.Tensor) and item.is_leaf]
    inputs = [item for item in inputs if item.requires_grad]
    if not results or not inputs:
        return None
    total = sum(results[1:], results[0])
    first = weft.autograd.grad(total, inputs, create_graph=True, allow_unused=True)
    again = [item.pow(2).sum() for item in first if item is not None and item.requires_grad]
    if not again:
        return plain(list(first))
    second = weft.autograd.grad(sum(again[1:], again[0]), inputs, allow_unused=True)
    return plain([*first, *second])


def must_compile(function: FunctionType) -> None:
    """Raise if a function is refused, but for code that never runs, of which Python has none."""
    try:
        lower(function)
    except RefusedError as error:
        unseen = [item for item in error.refusals if "since it never runs" not in item.reason]
        assert not unseen, unseen


def run(
    text: str, seed: int, wrap: Callable[[object], Callable[..., object]], calls: int = 2
) -> list[Outcome]:
    """Run a program some times; between the calls, change what it reads from outside."""
    module = load(text, seed)
    function = wrap(module.program)
    outcomes = []
    for call in range(calls):
        weft.manual_seed(seed)
        given = make_arguments(module, seed + call)
        outcome = Outcome()
        try:
            result = function(*given)
        except Exception as error:  # noqa: BLE001 - errors are what is compared
            outcome.error = seen_of_error(error)
        else:
            outcome.result = plain(result)
            try:
                outcome.gradients = differentiate(result, given)
            except RuntimeError as error:
                outcome.gradients = str(error)
        outcome.log = list(module.LOG)
        outcome.arguments = plain(given)
        outcome.stream = weft.rand(1).item()
        outcomes.append(outcome)
        module.SCALE = 3.5
        module.NAMES.append("changed")
        module.descend = lambda n: n + 1
        module.gather.__defaults__ = (7, 8)
        module.Shape.sides = 1
    return outcomes


def difference(seed: int, wrap: Callable[[object], Callable[..., object]]) -> str | None:
    """Return how a program's routine differs from CPython, with the program; or None."""
    text = write_program(seed)
    module = load(text, seed)
    for name in ("f0", "f1", "program"):
        if hasattr(module, name):
            must_compile(getattr(module, name))
    expected = run(text, seed, lambda function: function)  # type: ignore[arg-type,return-value]
    got = run(text, seed, wrap)
    for call, (one, other) in enumerate(zip(expected, got, strict=True)):
        for item in fields(one):
            before, after = getattr(one, item.name), getattr(other, item.name)
            if before != after:
                body = text.partition("descend(n - 2)\n")[2]
                return (
                    f"seed {seed}, call {call}: {item.name} differs\n"
                    f"  Python:   {before}\n  compiled: {after}\n{body}"
                )
    return None


def check(seed: int) -> str | None:
    """Return how one program differs, or that it broke the comparison itself."""
    try:
        return difference(seed, _core.CompiledCall)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is a finding
        return f"seed {seed}: {type(error).__name__}: {error}"
