"""Run a script as `python script.py` does, inside a process that does more."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

from weft.cli.command import CommandError
from weft.cli.tracebacks import clean


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a script ended: its exit code, and what it raised, if anything."""

    code: int
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """A script that could be read, and the arguments it will find in `sys.argv[1:]`."""

    path: str
    source: bytes
    arguments: Sequence[str]


def read_script(path: str, arguments: Sequence[str]) -> Script:
    """Read a script.

    Raises:
        CommandError: If it cannot be read.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - the name stays as it was given
            return Script(path, file.read(), arguments)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None


def run_script(script: Script, around: AbstractContextManager[Any]) -> Outcome:
    """Run a script as the main module.

    `sys.argv`, `sys.path[0]` and `__main__` are what they would be; an exception is printed as
    Python prints it.

    Args:
        script: What to run.
        around: Entered before the script's first line, left after its last.
    """
    path = script.path
    sys.argv[:] = [path, *script.arguments]
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - as Python does
    place = os.path.abspath(path)  # noqa: PTH100 - as Python does
    module = _main_module(place)
    try:
        code = compile(script.source, place, "exec", dont_inherit=True)
        with around:
            exec(code, vars(module))
    except SystemExit as error:
        return Outcome(_exit_code(error), error)
    except BaseException as error:  # noqa: BLE001 - printed as Python does, and told
        clean(error)
        sys.excepthook(type(error), error, error.__traceback__)
        return Outcome(1, error)
    return Outcome(0)


def end_by_interrupt() -> None:
    """End the process as Python does after Ctrl-C: by the signal, so that a shell sees it."""
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def _main_module(place: str) -> ModuleType:
    module = ModuleType("__main__")
    names = vars(module)
    names["__file__"] = place
    names["__loader__"] = SourceFileLoader("__main__", place)
    names["__builtins__"] = sys.modules["builtins"]
    names["__cached__"] = None
    names["__annotations__"] = {}
    sys.modules["__main__"] = module
    return module


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1
