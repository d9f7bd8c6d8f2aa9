"""What fuzz programs may use. A reproduction starts with `from tests.fuzz.kit import *`."""

from __future__ import annotations

import array
import contextlib
import copy
import functools
import gc
import math
import operator
import pickle
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from greenlet import GreenletExit

import weft
from weft import _core, nn
from weft.batching import mapping
from weft.batching.replaying import Mapped
from weft.batching.worth import Engine, Worth
from weft.tracing.recording import _running

__all__ = [
    "NEVER",
    "Calling",
    "Custom",
    "GreenletExit",
    "Holder",
    "Index",
    "Net",
    "Parameter",
    "Shrinking",
    "Skip",
    "array",
    "attempt",
    "back",
    "copy",
    "cyclic",
    "deep",
    "functools",
    "gc",
    "harmless",
    "hostile_dlpack",
    "in_inference",
    "in_threads",
    "inf",
    "keep_small",
    "lazily",
    "look",
    "math",
    "nan",
    "nn",
    "np",
    "operator",
    "optim",
    "pickle",
    "read_only",
    "set_thresholds",
    "tensors_in",
    "total",
    "traced",
    "weft",
]

warnings.simplefilter("ignore")
inf, nan = math.inf, math.nan
optim, Parameter = weft.optim, weft.nn.Parameter
LARGEST = 1 << 22  # elements of a result that later lines may work on
NEVER = 2**62
WARM = Mapped.warm
LEARNING, FIBERS = Worth.learning, Engine.fibers
STRANDS = _core.set_strand_threshold(0)
_core.set_strand_threshold(STRANDS)


class Skip(Exception):
    """The rest of the program would only take long."""


def deep(levels: int) -> list[Any]:
    """Return a list in a list in a list."""
    made: list[Any] = [1.0]
    for _ in range(levels):
        made = [made]
    return made


def cyclic() -> list[Any]:
    """Return a list that contains itself."""
    made: list[Any] = [1.0]
    made.append(made)
    return made


def read_only(values: Any) -> np.ndarray:
    """Return an array that may not be written."""
    made = np.array(values)
    made.flags.writeable = False
    return made


def in_inference(*size: int) -> weft.Tensor:
    """Return a tensor made in inference mode."""
    with weft.inference_mode():
        return weft.ones(*size)


class Index:
    """An object whose __index__, __float__ and __bool__ misbehave."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __index__(self) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    __float__ = __int__ = __bool__ = __len__ = __index__


class Shrinking(list):
    """A list that loses its items when somebody looks at one of them."""

    def __init__(self) -> None:
        super().__init__([_Clearer(self), 1, 2, 3])


class _Clearer:
    def __init__(self, owner: list[Any]) -> None:
        self.owner = owner

    def __index__(self) -> int:
        self.owner.clear()
        return 1

    __float__ = __int__ = __index__


class hostile_dlpack:
    """An object whose __dlpack__ returns what it should not."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def __dlpack__(self, **_: Any) -> Any:
        return self.answer

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def in_threads(function: Callable[[], Any]) -> None:
    """Call a function in three threads at the same time; what they raise is lost."""

    def call() -> None:
        with contextlib.suppress(Exception):
            function()

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _make_custom() -> Any:
    class Custom(weft.autograd.Function):
        """Returns a given answer from backward."""

        answer: Any = None

        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.save_for_backward(*[arg for arg in args if isinstance(arg, weft.Tensor)])
            return args[0].clone() if isinstance(args[0], weft.Tensor) else weft.ones(2)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            _ = ctx.saved_tensors
            return Custom.answer if Custom.answer is not None else grads[0]

    return Custom


Custom: Any = _make_custom() if hasattr(weft.autograd, "Function") else None


def is_internal(error: BaseException | None) -> bool:
    """Tell whether an exception, or one that it came of, is Weft's own fault."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        if isinstance(error, (SystemError, _core.InternalError)):
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__
    return False


def harmless(error: BaseException) -> None:
    """Raise an exception again if nothing may go on after it."""
    if is_internal(error) or isinstance(error, Skip):
        raise error


def attempt(function: Callable[[], Any]) -> Any:
    """Return what a function does, or what it raises."""
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - anything may go wrong
        harmless(error)
        return error


def set_thresholds(strands: int, warm: int, learning: int, fibers: int) -> None:
    """Set when strands begin, when maps replay, step aside, and try routines."""
    _core.set_strand_threshold(strands)
    Mapped.warm = warm
    Worth.learning = learning
    Engine.fibers = fibers


class Net(nn.Module):
    """A module of a user's own, which decides by a value."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.inner = nn.Linear(size, size)
        self.scale = nn.Parameter(weft.ones(size))
        self.register_buffer("mean", weft.zeros(size))
        self.flag: Any = 2

    def forward(self, x: Any) -> Any:
        x = self.inner(x) * self.scale - self.mean
        if x.sum() > 0:
            x = x.tanh() * self.flag
        return x


class Holder:
    """An object of a user's own with a tensor."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


class Calling:
    """An object that is called, and that holds a function."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def lazily(function: Any) -> Any:
    """Return a function that records."""

    def run(*args: Any) -> Any:
        with weft.lazy():
            return function(*args)

    return run


def traced(function: Any) -> Any:
    """Return a function that is watched."""

    def run(*args: Any) -> Any:
        with weft.tracing.Recording():
            return function(*args)

    return run


def tensors_in(value: Any, depth: int = 3) -> list[weft.Tensor]:
    """Return the tensors of a result."""
    if isinstance(value, weft.Tensor):
        return [value]
    if isinstance(value, Holder):
        value = [value.tensor]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple) and depth:
        return [found for item in value[:8] for found in tensors_in(item, depth - 1)]
    return []


def total(value: Any) -> Any:
    """Return the sum of all numbers of a result."""
    return sum(tensor.sum() for tensor in tensors_in(value))


def look(value: Any) -> None:
    """Read a result's values; what was raised for an example is raised if it is Weft's fault."""
    keep_small(value)
    for item in value if isinstance(value, list | tuple) else [value]:
        if isinstance(item, BaseException):
            harmless(item)
    for tensor in tensors_in(value):
        tensor.tolist()
        repr(tensor)


def keep_small(value: Any) -> None:
    """End the program if a result is so large that working on it would only take long."""
    if any(tensor.numel() > LARGEST for tensor in tensors_in(value)):
        raise Skip


def back(value: Any, again: bool = False) -> None:
    """Differentiate a result, once or twice."""
    roots = [tensor for tensor in tensors_in(value) if tensor.requires_grad]
    keep_small(roots)
    for root in roots[:2]:
        if not again:
            root.sum().backward(retain_graph=True)
            continue
        leaves = [found for found in _leaves(root) if found.numel() <= LARGEST]
        grads = weft.autograd.grad(root.sum(), leaves, create_graph=True, allow_unused=True)
        total = [grad.sum() for grad in grads if grad is not None and grad.requires_grad]
        if total:
            weft.stack(total).sum().backward()


def _leaves(root: weft.Tensor) -> list[weft.Tensor]:
    found, stack, seen = [], [root.grad_fn], set()
    while stack and len(seen) < 1000:
        node = stack.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if node.name() == "AccumulateGrad":
            found.append(node.variable)
        stack += [parent for parent, _ in node.next_functions]
    return found or [root]


def reset() -> None:
    """Undo what a program may have switched."""
    for _ in range(8):
        _core.pop_save_hooks()
    for recording in reversed(list(_running.stack)):  # a breakpoint is one
        with suppress(ValueError):  # that of an example that has ended
            recording.__exit__(None, None, None)
    _running.stack.clear()
    _core.set_lazy(False)
    _core.set_pending_limit(1 << 30)
    set_thresholds(STRANDS, WARM, LEARNING, FIBERS)
    _core.set_inference_mode(False)
    _core.set_grad_enabled(True)
    _core.set_default_dtype(_core.float32)
    _core.set_num_threads(2)
    weft.set_printoptions(profile="default")
    weft.manual_seed(0)
    if Custom is not None:
        Custom.answer = None


def canary() -> str:
    """Compute something known; say what is wrong with the answer, or nothing."""
    x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = ((x * 2 + 1) * x).sum()
    y.backward()
    if y.item() != 34.0 or x.grad is None or x.grad.tolist() != [5.0, 9.0, 13.0]:
        return f"a small sum is {y.item()} with gradient {x.grad}, not 34 with [5, 9, 13]"
    z = weft.arange(6).reshape(2, 3)[:, 1:].sum()
    if z.item() != 12:
        return f"a small integer sum is {z.item()}, not 12"
    found = weft.map(lambda t: t * 2 if t > 1 else t - 1, list(x.detach()), replay=False)
    if weft.stack(found).tolist() != [0.0, 4.0, 6.0]:
        return f"a small map is {found}, not [0, 4, 6]"
    return ""


def left_behind() -> str:
    """Say what a program has left that it should not, or nothing."""
    if mapping.is_running():
        return "a map still runs"
    return ""
