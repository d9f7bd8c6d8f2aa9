"""The `lazy` scope."""

from __future__ import annotations

import gc
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from weft import _core, pytree


class lazy(_core.LazyScope):  # noqa: N801 - used like a function, as no_grad is
    """Record ops without running them; a value is computed when somebody needs it.

    Reading a number, printing, NumPy, `backward`, or an optimizer step demands values. What is
    demanded runs in as few batched steps as its structure allows; what nobody demands never runs.
    Shapes, dtypes and their errors are known at once. Leaving the scope demands nothing.

    Args:
        enabled: False switches back to running each op at once.

    Example:
        >>> import weft
        >>> with weft.lazy():
        ...     sums = [(weft.ones(3) * i).sum() for i in range(4)]
        >>> sums[3].item()
        9.0
    """

    __signature__ = Signature(  # which the core's types hide
        [Parameter("enabled", Parameter.POSITIONAL_OR_KEYWORD, default=True, annotation=bool)]
    )

    def __init__(self, enabled: bool = True) -> None:
        super().__init__(enabled)


class at_once(_core.LazyScope):  # noqa: N801 - used like a function
    """Run ops at once, after all tensors in `needed` have been computed.

    For what reads state that examples of a map share and writes it again: nobody waits for a value
    in between, so no other example's write is undone.
    """

    def __init__(self, *needed: Any) -> None:
        super().__init__(False)
        if not _core.is_lazy():
            return
        tensors = [leaf for leaf in pytree.tree_leaves(needed) if isinstance(leaf, _core.Tensor)]
        while any(
            _core.is_pending(tensor) for tensor in tensors
        ):  # others may write them meanwhile
            _core.run_tensors(tensors)


def set_memory_limit(bytes: int) -> int:
    """Set how many bytes the results of pending ops may add up to; return what it was before.

    When recording goes above it, everything that is pending and that somebody still holds runs at
    once, in one plan. The limit is 1 GiB at first.

    Example:
        >>> import weft
        >>> weft.batching.set_memory_limit(2**28)
        1073741824
        >>> weft.batching.set_memory_limit(2**30)
        268435456
    """
    return _core.set_pending_limit(bytes)


def _trim_batches(
    phase: str, info: dict[str, Any], trim: Callable[[], None] = _core.trim_batches
) -> None:
    """Let a full garbage collection also find what only dead rows of a batch need."""
    if phase == "stop" and info["generation"] == 2:
        trim()


gc.callbacks.append(_trim_batches)
