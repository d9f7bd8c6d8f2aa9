"""Run a script as `python script.py` does, with Weft in the place of PyTorch."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from types import ModuleType

from weft.compat.finder import answering_torch
from weft.compat.tracebacks import clean


class ScriptError(Exception):
    """Says in one sentence why a script could not be started."""


def run_script(path: str, argv: Sequence[str] = ()) -> int:
    """Run a PyTorch script on Weft, as the main module of this process.

    `sys.argv`, `sys.path[0]` and `__main__` are what they would be; an exception is printed as
    Python prints it, without the lines of Weft that stand between Python and the script.

    Args:
        path: the script.
        argv: what it finds in `sys.argv[1:]`.

    Returns:
        The exit code that Python would have ended with.

    Raises:
        ScriptError: if the script cannot be read.
        TorchIsLoadedError: if PyTorch itself was imported before.
    """
    source = _read(path)
    place = os.path.abspath(path)  # noqa: PTH100 - as Python does
    with answering_torch():
        module = _main_module(place)
        sys.argv[:] = [path, *argv]
        if not sys.flags.safe_path:
            sys.path[0] = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - as Python does
        try:
            exec(compile(source, place, "exec", dont_inherit=True), vars(module))
        except SystemExit as error:
            return _exit_code(error)
        except BaseException as error:  # noqa: BLE001 - printed as Python does
            clean(error)
            sys.excepthook(type(error), error, error.__traceback__)
            if isinstance(error, KeyboardInterrupt):
                _end_by_interrupt()
            return 1
    return 0


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - the name stays as it was given
            return file.read()
    except OSError as error:
        raise ScriptError(f"{path} cannot be read: {error.strerror}.") from None


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


def _end_by_interrupt() -> None:
    """End the process by the signal, as Python does after Ctrl-C, so that a shell sees it."""
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
