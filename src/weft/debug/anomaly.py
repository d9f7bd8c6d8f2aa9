"""`detect_anomaly`: PyTorch's name for a backward that stops at the first NaN."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from types import TracebackType
from typing import Self

from weft import _core
from weft.debug.wording import place_of, place_text
from weft.tracing import Recording


class detect_anomaly:  # noqa: N801 - PyTorch's name
    """Let backward raise where a gradient rule gives NaN, and name the line that recorded the op.

    It works as a `with` block and, by `set_detect_anomaly`, as a switch. `weft.debug.find_nan` says
    more: also of the forward run, with the numbers that were read.

    Args:
        check_nan: Look for NaN. Without it nothing is done: every node knows its line anyway.

    Example:
        >>> import weft
        >>> x = weft.tensor([0.0], requires_grad=True)
        >>> try:
        ...     with weft.autograd.detect_anomaly():
        ...         (x.sqrt() * 0).sum().backward()
        ... except RuntimeError as error:
        ...     print(str(error).split(" (")[0])
        Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._run = Recording(values=False, on_event=_check, rules=True) if check_nan else None

    def __enter__(self) -> Self:
        if self._run is not None:
            self._run.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._run is not None:
            self._run.__exit__(kind, error, trace)


# Examples of a map have a context each.
_switch: ContextVar[detect_anomaly | None] = ContextVar("switch", default=None)


class set_detect_anomaly:  # noqa: N801 - PyTorch's name
    """Switch the search for NaN in backward on or off, for good or as a `with` block.

    Args:
        mode: On or off.
        check_nan: As for `detect_anomaly`.

    Example:
        >>> import weft
        >>> switch = weft.autograd.set_detect_anomaly(True)
        >>> weft.autograd.is_anomaly_enabled()
        True
        >>> switch = weft.autograd.set_detect_anomaly(False)
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = is_anomaly_enabled()
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        _set(self._before, True)


def is_anomaly_enabled() -> bool:
    """Tell whether `set_detect_anomaly` is on.

    Example:
        >>> import weft
        >>> weft.autograd.is_anomaly_enabled()
        False
    """
    return _switch.get() is not None


def _set(mode: bool, check_nan: bool) -> None:
    before = _switch.get()
    if before is not None:
        # Switched on around a map, it stays on for its examples.
        with suppress(ValueError):
            before.__exit__(None, None, None)
    _switch.set(detect_anomaly(check_nan).__enter__() if mode else None)


def _check(run: Recording, kind: str) -> None:
    if kind == "backward":
        run.clear()
    if kind != "rule":
        return
    for number, gradient in enumerate(run.outputs):
        if gradient is None or not gradient.is_floating_point() or not gradient.isnan().any():
            continue
        trace = run.trace()
        step = trace.backwards[-1].steps[-1]
        places = [place_of(trace, trace.nodes[node]) for node in step.nodes]
        run.clear()
        raise _core.GradientError(
            f"Function '{step.name}' returned nan values in its {number}th output. "
            f"(The op was recorded at {place_text(places[0] if places else None)})"
        )
