"""Switches for recording: no_grad, enable_grad, set_grad_enabled, inference_mode."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from weft import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]


_GENERATOR = 0x20  # inspect.CO_GENERATOR; importing inspect takes longer than the rest of Weft


class _Mode:
    """A context manager that is also a decorator."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        self._before: list[Any] = []

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *_: object) -> None:
        raise NotImplementedError

    def _again(self) -> _Mode:
        return type(self)()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _GENERATOR:
            # The mode holds while the generator runs, not while its consumer does.
            @wraps(function)
            def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
                with self._again():
                    generator = function(*args, **kwargs)
                resume, given = generator.send, None
                while True:
                    with self._again():
                        try:
                            item = resume(given)
                        except StopIteration as stop:
                            return stop.value
                    try:
                        resume, given = generator.send, (yield item)
                    except GeneratorExit:
                        with self._again():
                            generator.close()
                        raise
                    except BaseException as error:  # noqa: BLE001 - what the consumer throws
                        resume, given = generator.throw, error

            return generate

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return call


_core.set_switch_type(_Mode)


class _GradMode(_Mode):
    __slots__ = ()
    _wanted = False

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()
        return made(function)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:  # noqa: ARG002
        super().__init__()

    def __enter__(self) -> None:
        self._before.append(_core.set_grad_enabled(self._wanted))

    def __exit__(self, *_: object) -> None:
        _core.set_grad_enabled(self._before.pop())


class no_grad(_GradMode):  # noqa: N801 - PyTorch's name
    """Do not record ops inside a block or function.

    Example:
        >>> import weft
        >>> x = weft.ones(2, requires_grad=True)
        >>> with weft.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    __slots__ = ()


class enable_grad(_GradMode):  # noqa: N801
    """Record ops inside a block or function, also within no_grad.

    Example:
        >>> import weft
        >>> x = weft.ones(1, requires_grad=True)
        >>> with weft.no_grad(), weft.enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """

    __slots__ = ()
    _wanted = True


class set_grad_enabled(_Mode):  # noqa: N801
    """Switch recording on or off, at once and, as a context manager, until the block ends.

    Args:
        mode: Whether ops are recorded.

    Example:
        >>> import weft
        >>> x = weft.ones(1, requires_grad=True)
        >>> with weft.set_grad_enabled(False):
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    __slots__ = ("_first", "mode")

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = bool(mode)
        self._first: list[bool] = [_core.set_grad_enabled(self.mode)]

    def __enter__(self) -> None:
        before = self._first.pop() if self._first else _core.set_grad_enabled(self.mode)
        self._before.append(before)
        _core.set_grad_enabled(self.mode)

    def __exit__(self, *_: object) -> None:
        _core.set_grad_enabled(self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function; the mode holds inside it only."""
        if self._first:
            _core.set_grad_enabled(self._first.pop())
        return super().__call__(function)

    def _again(self) -> _Mode:
        return set_grad_enabled(self.mode)


class inference_mode(_Mode):  # noqa: N801
    """Do not record ops, and mark results as never to be used where gradients are recorded.

    Args:
        mode: False switches it off inside a block.

    Example:
        >>> import weft
        >>> @weft.inference_mode()
        ... def predict(x):
        ...     return x * 2
        >>> predict(weft.ones(1, requires_grad=True)).requires_grad
        False
    """

    __slots__ = ("mode",)

    def __new__(cls, mode: Any = True) -> Any:
        """Make the context manager, or decorate a function."""
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__()
        return made(mode)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.mode = mode if isinstance(mode, bool) else True

    def __enter__(self) -> None:
        grad = _core.set_grad_enabled(False) if self.mode else _core.is_grad_enabled()
        self._before.append((_core.set_inference_mode(self.mode), grad))

    def __exit__(self, *_: object) -> None:
        inference, grad = self._before.pop()
        _core.set_inference_mode(inference)
        _core.set_grad_enabled(grad)

    def _again(self) -> _Mode:
        return inference_mode(self.mode)
