"""User-written functions: an own forward and an own backward."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from weft import _core
from weft._tensor import Tensor
from weft.autograd.function_rows import VmapInfo, apply_to_rows, has_rule, take_rows

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]

# Kinds of outputs, as the core numbers them.
_PLAIN, _DIRTY, _NOT_DIFFERENTIABLE = range(3)


class _State:
    """What one application of a Function knows, apart from what the user puts into ctx."""

    __slots__ = (
        *("argument_count", "dirty", "function", "inputs_at", "link", "materialize"),
        *("not_differentiable", "output_count", "outputs_at", "position", "to_save"),
    )

    def __init__(self, function: type[Function], args: tuple[Any, ...]) -> None:
        self.function = function
        self.to_save: tuple[Tensor | None, ...] = ()
        self.dirty: tuple[Tensor, ...] = ()
        self.not_differentiable: tuple[Tensor, ...] = ()
        self.materialize = True
        self.link: _core.NodeLink | None = None
        self.position = 0
        # Which arguments and outputs are tensors, and how many of each there are in all.
        self.inputs_at = tuple(i for i, item in enumerate(args) if isinstance(item, Tensor))
        self.argument_count = len(args)
        self.outputs_at: tuple[int, ...] = ()
        self.output_count = 0

    def describe(self) -> str:
        """Name the function and the line that applied it."""
        file, line, _ = _core.resolve_position(self.position)
        return f"the backward of {self.function.__name__}, applied at {file}:{line}"


class FunctionCtx:
    """What forward hands to backward: saved tensors, and attributes of any name.

    Attributes:
        needs_input_grad: One bool for each argument of forward: whether its gradient is wanted.
    """

    def __init__(self, state: _State, needs_input_grad: tuple[bool, ...]) -> None:
        self._state = state
        self.needs_input_grad = needs_input_grad

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward, where `saved_tensors` gives them back.

        An in-place change of one of them before backward raises there, naming both lines. Inputs
        and outputs keep their part in the graph, for higher derivatives; other tensors have none.

        Args:
            tensors: Tensors or None; a second call replaces those of the first.
        """
        given: tuple[Any, ...] = tensors
        for item in given:
            if item is not None and not isinstance(item, Tensor):
                raise TypeError(
                    f"save_for_backward can only save tensors and None, not {type(item).__name__}; "
                    "set an attribute of ctx for anything else"
                )
        self._state.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Do nothing: there is no forward-mode differentiation yet."""

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Name the inputs that forward changes in place; it must return them.

        Args:
            tensors: Inputs of forward.
        """
        self._state.dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Name the outputs that have no gradient.

        Args:
            tensors: Outputs of forward.
        """
        self._state.not_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose what backward gets for outputs without a gradient: zeros (True), or None.

        Args:
            value: Whether to make zeros.
        """
        self._state.materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to `save_for_backward`.

        Raises:
            RuntimeError: If one was changed in place since, or an earlier backward freed them.
        """
        state = self._state
        return state.to_save if state.link is None else _core.saved_tensors(state.link)


class Function:
    """Base of functions with a gradient of their own: subclass it and call `apply`.

    Define the static methods `forward(ctx, *args)` and `backward(ctx, *grad_outputs)`; or
    `forward(*args)`, `setup_context(ctx, inputs, output)` and `backward`. Forward runs without
    recording. Backward gets one gradient per output and returns one per argument of forward, None
    for arguments that are no tensors or need none. It is recorded under `create_graph`, so it can
    be differentiated again.

    Example:
        >>> import weft
        >>> class Square(weft.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...
        ...     @staticmethod
        ...     def backward(ctx, gradient):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * gradient
        >>> x = weft.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)
    """

    def __init__(self) -> None:
        raise RuntimeError(
            f"{type(self).__name__}: a Function is never instantiated; its methods are static, and "
            f"it is called through {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; subclasses define it.

        Args:
            args: The context (unless there is a `setup_context`), then what `apply` was given.
            kwargs: Not used: `apply` takes positional arguments.

        Example:
            >>> import weft
            >>> class Twice(weft.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return 2 * x
            ...
            ...     @staticmethod
            ...     def backward(ctx, gradient):
            ...         return 2 * gradient
            >>> Twice.apply(weft.tensor([1.0]))
            tensor([2.])
        """
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what backward needs, when forward does not take the context.

        Args:
            ctx: The context.
            inputs: What `apply` was given.
            output: What forward returned.

        Example:
            >>> import weft
            >>> class Square(weft.autograd.Function):
            ...     @staticmethod
            ...     def forward(x):
            ...         return x * x
            ...
            ...     @staticmethod
            ...     def setup_context(ctx, inputs, output):
            ...         ctx.save_for_backward(*inputs)
            ...
            ...     @staticmethod
            ...     def backward(ctx, gradient):
            ...         (x,) = ctx.saved_tensors
            ...         return 2 * x * gradient
            >>> x = weft.tensor([3.0], requires_grad=True)
            >>> Square.apply(x).backward()
            >>> x.grad
            tensor([6.])
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of forward's arguments; subclasses define it (or `vjp`).

        Args:
            ctx: The context that forward filled.
            grad_outputs: One gradient per output.

        Example:
            >>> import weft
            >>> class Twice(weft.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return 2 * x
            ...
            ...     @staticmethod
            ...     def backward(ctx, gradient):
            ...         return 2 * gradient
            >>> x = weft.tensor([1.0], requires_grad=True)
            >>> Twice.apply(x).backward()
            >>> x.grad
            tensor([2.])
        """
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: VmapInfo, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        """Compute the outputs for all examples of `weft.vmap`; subclasses may define it.

        Without it, a function with a gradient is applied to one example after the other.

        Args:
            info: How many examples there are, and what random ops are to do.
            in_dims: Where each argument has its examples; None for those that have none.
            args: The arguments, with all examples.

        Returns:
            The outputs, and where they have their examples.

        Example:
            >>> import weft
            >>> class Twice(weft.autograd.Function):
            ...     @staticmethod
            ...     def forward(x):
            ...         return 2 * x
            ...
            ...     @staticmethod
            ...     def setup_context(ctx, inputs, output):
            ...         pass
            ...
            ...     @staticmethod
            ...     def vmap(info, in_dims, x):
            ...         print(info.batch_size, "examples at once")
            ...         return Twice.apply(x), in_dims[0]
            >>> weft.vmap(Twice.apply)(weft.ones(2, 3)).shape
            2 examples at once
            weft.Size([2, 3])
        """
        raise NotImplementedError("vmap is not implemented.")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward on the arguments, and connect its outputs with the graph.

        Args:
            args: Tensors and anything else, as forward takes them.

        Returns:
            What forward returned, its tensors as results of one graph node.

        Example:
            >>> import weft
            >>> class Twice(weft.autograd.Function):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         return 2 * x
            ...
            ...     @staticmethod
            ...     def backward(ctx, gradient):
            ...         return 2 * gradient
            >>> Twice.apply(weft.tensor([1.0], requires_grad=True)).grad_fn.name()
            'TwiceBackward'
        """
        if cls.setup_context is not Function.setup_context:
            args = _with_defaults(cls, args)
        rows = None
        if any(map(_core.is_row, args)):
            if not any(map(_core.has_rows, args)):
                return _core.call_outside(cls.apply, *args)
            rows = apply_to_rows(cls, args)
        state = _State(cls, args)
        needs = tuple(isinstance(item, Tensor) and item.requires_grad for item in args)
        ctx = FunctionCtx(state, needs)
        is_recording = _core.set_grad_enabled(False)
        try:
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args)
            else:
                output = cls.forward(*args) if rows is None or not has_rule(cls) else rows
                cls.setup_context(ctx, args, output)
        finally:
            _core.set_grad_enabled(is_recording)
        outputs = _as_tuple(output)
        if rows is not None:
            take_rows(outputs, _as_tuple(rows))
        if is_recording and any(needs):
            outputs = _attach(ctx, state, args, outputs)
        else:
            outputs = _without_history(args, outputs, state.dirty)
        return outputs if isinstance(output, tuple) else outputs[0]


def _with_defaults(function: type[Function], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of forward, with the defaults of those that were not given."""
    forward: Any = function.forward
    code = getattr(forward, "__code__", None)
    defaults = getattr(forward, "__defaults__", None) or ()
    missing = code.co_argcount - len(args) if code else 0
    return args + defaults[len(defaults) - missing :] if 0 < missing <= len(defaults) else args


def _as_tuple(given: Any) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) else (given,)  # pyright: ignore[reportUnknownVariableType]


def _is_one_of(item: Any, items: tuple[Any, ...]) -> bool:
    return any(item is other for other in items)


def _attach(
    ctx: FunctionCtx, state: _State, args: tuple[Any, ...], outputs: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Give the tensors among the outputs a node."""
    state.position = _core.position_now()
    state.outputs_at = tuple(i for i, item in enumerate(outputs) if isinstance(item, Tensor))
    state.output_count = len(outputs)
    tensors = tuple(outputs[i] for i in state.outputs_at)
    for tensor in state.dirty:
        if not _is_one_of(tensor, tensors):
            raise _core.GradientError(
                f"{state.function.__name__}: a tensor that was marked dirty must be returned: an "
                "in-place change has to be an output of the function"
            )
    kinds = tuple(
        _DIRTY
        if _is_one_of(tensor, state.dirty)
        else _NOT_DIFFERENTIABLE
        if _is_one_of(tensor, state.not_differentiable)
        else _PLAIN
        for tensor in tensors
    )
    state.link, bound = _core.attach_function(
        f"{state.function.__name__}Backward",
        partial(_run_backward, ctx, state),
        tuple(args[i] for i in state.inputs_at),
        tensors,
        kinds,
        state.to_save,
        state.materialize,
    )
    # The node holds them now; the lists of forward must not keep anything alive.
    state.to_save = state.dirty = state.not_differentiable = ()
    if len(bound) == len(outputs):
        return bound
    result = list(outputs)
    for position, tensor in zip(state.outputs_at, bound, strict=True):
        result[position] = tensor
    return tuple(result)


def _run_backward(
    ctx: FunctionCtx, state: _State, *gradients: Tensor | None
) -> tuple[Tensor | None, ...]:
    """Call backward with a gradient per output; return one per tensor argument."""
    function = state.function
    if len(gradients) != state.output_count:
        spread: list[Tensor | None] = [None] * state.output_count
        for position, gradient in zip(state.outputs_at, gradients, strict=True):
            spread[position] = gradient
        gradients = tuple(spread)
    # `vjp` is another name for backward: the one that a subclass wrote is meant.
    is_vjp = function.backward is Function.backward
    try:
        given: Any = (function.vjp if is_vjp else function.backward)(ctx, *gradients)
    except Exception as error:
        # The traceback shows the line in backward; forward's is the other half.
        error.add_note(f"in {state.describe()}")
        raise
    results = _as_tuple(given)
    count = state.argument_count
    if len(results) > count and all(result is None for result in results[count:]):
        results = results[:count]
    if len(results) != count:
        raise _core.GradientError(
            f"function {function.__name__}Backward returned an incorrect number of gradients "
            f"(expected {count}, got {len(results)}): {state.describe()}"
        )
    for position, result in enumerate(results):
        if result is not None and position not in state.inputs_at:
            raise _core.GradientError(
                f"function {function.__name__}Backward returned a gradient different from None at "
                f"position {position + 1}, but the corresponding forward input was not a Tensor: "
                f"{state.describe()}"
            )
    return tuple(results[position] for position in state.inputs_at)


def _without_history(
    args: tuple[Any, ...], outputs: tuple[Any, ...], dirty: tuple[Tensor, ...]
) -> tuple[Any, ...]:
    """Return outputs where nothing is recorded: a returned input is still a new tensor."""
    return tuple(
        item.detach()
        if isinstance(item, Tensor) and _is_one_of(item, args) and not _is_one_of(item, dirty)
        else item
        for item in outputs
    )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Declare that a Function's backward cannot be differentiated itself.

    Args:
        backward: The static method `backward`; it then runs without recording.

    Returns:
        A backward whose results raise when somebody differentiates them.
    """

    @wraps(backward)
    def run(ctx: Any, *gradients: Any) -> Any:
        is_recording = _core.set_grad_enabled(False)
        try:
            results = backward(ctx, *gradients)
        finally:
            _core.set_grad_enabled(is_recording)
        given = tuple(item for item in gradients if isinstance(item, Tensor) and item.requires_grad)
        if not is_recording or not given:
            return results
        several = _as_tuple(results)
        tensors = tuple(item.detach() for item in several if isinstance(item, Tensor))

        def refuse(*_: Any) -> Any:
            raise _core.GradientError(
                "trying to differentiate twice a function that was marked with "
                f"@once_differentiable: {ctx._state.describe()}"
            )

        _, bound = _core.attach_function(
            "OnceDifferentiable", refuse, given, tensors, (), (), False
        )
        next_bound = iter(bound)
        tied = tuple(next(next_bound) if isinstance(item, Tensor) else item for item in several)
        return tied if isinstance(results, tuple) else tied[0]

    return run
