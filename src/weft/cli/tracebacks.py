"""Take the lines that stand between Python and a script out of its tracebacks."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

_WEFT = Path(__file__).parents[1]
_OWN = tuple(str(_WEFT / name) for name in ("cli", "compat", "tracing/boundaries.py"))


def clean(error: BaseException) -> None:
    """Take those frames out of an error's traceback, and out of its causes'."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.__traceback__ = _without_own(each.__traceback__)
        waiting += [each.__cause__, each.__context__]


def _without_own(trace: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while trace is not None:
        if not _is_own(trace.tb_frame.f_code.co_filename):
            kept.append(trace)
        trace = trace.tb_next
    rest: TracebackType | None = None
    for each in reversed(kept):
        rest = TracebackType(rest, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return rest


def _is_own(filename: str) -> bool:
    return filename.startswith((*_OWN, "<frozen importlib"))
