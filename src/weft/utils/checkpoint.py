"""Trade time for memory: forget what a function saved for backward, and run it again there."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from weakref import ref

from weft import _core
from weft._missing import explain_missing
from weft._tensor import Tensor
from weft.autograd.graph import saved_tensors_hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn"]


class CheckpointError(RuntimeError):
    """A checkpointed function that did something else when it ran again.

    Example:
        >>> import weft
        >>> issubclass(weft.utils.checkpoint.CheckpointError, RuntimeError)
        True
    """


def noop_context_fn() -> tuple[Any, Any]:
    """Return two contexts that do nothing: the default of `checkpoint`'s context_fn.

    Example:
        >>> import weft
        >>> forward, recomputation = weft.utils.checkpoint.noop_context_fn()
        >>> with forward:
        ...     pass
    """
    return nullcontext(), nullcontext()


class _Holder:
    """Stands in the graph for a tensor that was not kept."""

    __slots__ = ("__weakref__", "dtype", "frame", "position", "shape", "tensor")

    def __init__(self, frame: _Frame, tensor: Tensor) -> None:
        self.frame = frame
        self.shape = tensor.shape
        self.dtype = tensor.dtype
        self.position = _core.position_now()
        self.tensor: Tensor | None = None


class _Frame:
    """One call of `checkpoint`: how to run it again, and what it saved the first time."""

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: _Arguments,
        preserve_random: bool,
        recompute_context: Any,
        is_checked: bool,
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.random_state = _core.default_generator.get_state() if preserve_random else None
        self.recompute_context = recompute_context
        self.is_checked = is_checked
        # Weak: what the graph does not need any more is not made again.
        self.holders: list[ref[_Holder]] = []
        self.is_complete = False
        self.position = _core.position_now()

    def pack(self, tensor: Tensor) -> _Holder:
        holder = _Holder(self, tensor)
        self.holders.append(ref(holder))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        if holder.tensor is None:
            self.run_again()
        tensor, holder.tensor = holder.tensor, None
        if tensor is None:
            raise CheckpointError(self.complaint("saved fewer tensors than the first time"))
        return tensor

    def run_again(self) -> None:
        """Run the function again, and put what it saves into the holders that are still there."""
        counter = 0

        def pack(tensor: Tensor) -> Tensor:
            nonlocal counter
            kept = tensor.detach()
            if counter < len(self.holders):
                self.fill(counter, kept)
            counter += 1
            return kept

        before = _core.default_generator.get_state()
        is_recording = _core.set_grad_enabled(True)
        try:
            if self.random_state is not None:
                _core.default_generator.set_state(self.random_state)
            args, kwargs = self.arguments.restore()
            with self.recompute_context, saved_tensors_hooks(pack, _same):
                self.function(*args, **kwargs)
        finally:
            _core.set_grad_enabled(is_recording)
            if self.random_state is not None:
                _core.default_generator.set_state(before)
        # While the first run is still going on, the second one is ahead of it.
        if self.is_checked and self.is_complete and counter != len(self.holders):
            raise CheckpointError(
                self.complaint(f"saved {counter} tensors, and {len(self.holders)} the first time")
            )

    def fill(self, number: int, tensor: Tensor) -> None:
        holder = self.holders[number]()
        if holder is None:
            return
        if self.is_checked and (holder.shape != tensor.shape or holder.dtype is not tensor.dtype):
            file, line, _ = _core.resolve_position(holder.position)
            raise CheckpointError(
                self.complaint(
                    f"saved a tensor of shape {tuple(tensor.shape)} and dtype {tensor.dtype} where "
                    f"it first saved one of shape {tuple(holder.shape)} and dtype {holder.dtype}, "
                    f"at {file}:{line}"
                )
            )
        holder.tensor = tensor

    def complaint(self, what: str) -> str:
        file, line, _ = _core.resolve_position(self.position)
        return (
            "checkpoint: when it ran again for backward, the function checkpointed at "
            f"{file}:{line} {what}. It must do the same both times: what it decides may depend on "
            "its arguments and on Weft's random numbers, not on anything that changes in between."
        )


def _same(tensor: Tensor) -> Tensor:
    return tensor


class _Arguments:
    """The arguments of a call, their tensors kept as the graph keeps saved ones.

    So an in-place change of one is noticed, and inside another checkpoint they are not kept at all.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        everything = [*args, *kwargs.values()]
        self.tensors_at = [i for i, item in enumerate(everything) if isinstance(item, Tensor)]
        tensors = tuple(everything[i] for i in self.tensors_at)
        for i in self.tensors_at:
            everything[i] = None
        self.others = everything
        self.names = tuple(kwargs)
        # A node of its own holds them; nothing is ever differentiated through it.
        self.anchor = _core.ops.zeros(0)
        self.link, _ = _core.attach_function(
            "CheckpointArguments", _unused, tensors, (self.anchor,), (), tensors, False
        )

    def restore(self) -> tuple[list[Any], dict[str, Any]]:
        everything = list(self.others)
        tensors = _core.saved_tensors(self.link)
        for i, tensor in zip(self.tensors_at, tensors, strict=True):
            everything[i] = tensor
        count = len(everything) - len(self.names)
        return everything[:count], dict(zip(self.names, everything[count:], strict=True))


def _unused(*_: Any) -> Any:
    raise _core.InternalError("checkpoint: nothing depends on this node")


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call a function without keeping what its ops save; backward runs it a second time for that.

    Args:
        function: Any function of tensors; it may branch, call checkpoint itself, and use random
            numbers, which are the same both times. It must not depend on anything that changes
            between forward and backward.
        args: Its arguments.
        use_reentrant: Accepted for compatibility; there is one way, and it works with
            `autograd.grad`, keyword arguments and nesting.
        context_fn: Returns two context managers: one for the first run, one for the second.
        determinism_check: "none" does not compare shapes and dtypes of the two runs.
        debug: Accepted and not used: errors name the lines anyway.
        preserve_rng_state: False lets the second run draw other random numbers.
        kwargs: Its keyword arguments.

    Returns:
        What the function returned.

    Raises:
        CheckpointError: In backward, if the second run saved other tensors than the first.

    Example:
        >>> import weft
        >>> from weft.utils.checkpoint import checkpoint
        >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
        >>> checkpoint(lambda x: (x * x).sum(), x).backward()
        >>> x.grad
        tensor([2., 4.])
    """
    del use_reentrant, debug
    if determinism_check not in {"default", "none"}:
        raise ValueError(
            f"checkpoint: determinism_check must be 'default' or 'none', not {determinism_check!r}"
        )
    forward_context, recompute_context = context_fn()
    if not _core.is_grad_enabled():
        with forward_context:
            return function(*args, **kwargs)
    frame = _Frame(
        function,
        _Arguments(args, kwargs),
        preserve_rng_state,
        recompute_context,
        determinism_check == "default",
    )
    with forward_context, saved_tensors_hooks(frame.pack, _unpack):
        result = function(*args, **kwargs)
    frame.is_complete = True
    return result


def _unpack(holder: _Holder) -> Tensor:
    return holder.frame.unpack(holder)


def checkpoint_sequential(
    functions: Iterable[Callable[[Any], Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run functions one after the other, in checkpointed segments.

    Args:
        functions: Functions or modules of one argument; a Sequential is one such.
        segments: How many checkpoints to make; the last segment is not checkpointed.
        input: The first one's argument.
        use_reentrant: As in `checkpoint`.
        kwargs: preserve_rng_state, as in `checkpoint`.

    Returns:
        What the last one returned.

    Example:
        >>> import weft
        >>> layers = weft.nn.Sequential(*(weft.nn.Linear(4, 4) for _ in range(4)))
        >>> x = weft.ones(2, 4, requires_grad=True)
        >>> weft.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=False).shape
        weft.Size([2, 4])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(
            f"checkpoint_sequential: unexpected keyword arguments: {', '.join(kwargs)}"
        )
    steps = list(functions)
    if segments < 1:
        raise ValueError(f"checkpoint_sequential: segments must be at least 1, not {segments}")
    size = max(len(steps) // segments, 1)

    def run(first: int, last: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for step in steps[first:last]:
                value = step(value)
            return value

        return forward

    start = 0
    for _ in range(min(segments, len(steps)) - 1):
        input = checkpoint(
            run(start, start + size),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
        start += size
    return run(start, len(steps))(input)


explain_missing(__name__)
