"""Changes numbers in routines that the front end wrote; runs what the grammar lets pass."""

from __future__ import annotations

import os
import random
import signal
import sys
import warnings
from collections import Counter
from types import FunctionType
from typing import Any

import pytest

from tests.compiling.generator import write_program
from tests.compiling.oracle import load, make_arguments
from weft import _core
from weft.compiling.lower import lower

MUTANTS = 60
PATIENCE = 3  # alarms until a mutant that catches all of them is left alone


def sample(value, table=(), *rest, key=1, **options):  # type: ignore[no-untyped-def]
    total = [item for item in rest if item]
    try:
        for item in table:
            total.append(item + key)
    except TypeError:

        def texts():  # type: ignore[no-untyped-def]
            return [str(error), *total]

        total = texts()
    return total, options, value


def parts_of(function: FunctionType) -> dict[str, Any]:
    """Return what the front end makes a function's routine from."""
    made: list[dict[str, Any]] = []

    def note(**given: Any) -> Any:
        made.append(given)
        return original(**given)

    original = _core.make_routine
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_core, "make_routine", note)
        lower(function)
    return made[-1]


def mutated(parts: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return the parts with a few numbers changed."""
    made = parts | {"code": list(parts["code"])}
    for _ in range(chance.choice([1, 1, 2, 5])):
        place = chance.randrange(len(made["code"]))
        near = made["code"][place] + chance.choice([-2, -1, 1, 2])
        made["code"][place] = chance.choice(
            [near, chance.choice(made["code"]), chance.getrandbits(4)]
        )
    return made


class TooLongError(Exception):
    """A mutant that goes round for ever."""


def run(function: FunctionType, parts: dict[str, Any], given: list[object]) -> str:
    """Run a function as this routine; return how it went."""
    try:
        made = _core.make_routine(**parts)
    except ValueError:
        return "refused"
    copied = FunctionType(  # a code of its own, which has no routine yet
        function.__code__.replace(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    parts["source"] = copied.__code__
    made = _core.make_routine(**parts)
    before = _core.set_front_end(lambda other: made if other is copied else None)
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    try:
        _core.CompiledCall(copied)(*given)
    except BaseException as error:  # noqa: BLE001 - errors are as good as results
        return type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        _core.set_front_end(before)
    return "ran"


def main() -> None:
    """Run the mutants of one random program and of a few fixed ones; count what came of them."""
    seed = int(sys.argv[1])
    outcomes: Counter[str] = Counter()
    alarms = 0

    def end(*_: object) -> None:
        nonlocal alarms
        alarms += 1
        if alarms % PATIENCE == 0:
            print(dict(outcomes), "and one that did not end", flush=True)
            os._exit(0)
        raise TooLongError

    signal.signal(signal.SIGALRM, end)
    warnings.simplefilter("ignore")
    chance = random.Random(seed)
    module = load(write_program(seed), seed)
    for function in (module.program, sample, module.forward, module.descend):
        parts = parts_of(function)
        for _ in range(MUTANTS):
            given = make_arguments(module, seed)
            given = given if function is module.program else given[:1]
            outcomes[run(function, mutated(parts, chance), given)] += 1
    print(dict(outcomes))


if __name__ == "__main__":
    main()
