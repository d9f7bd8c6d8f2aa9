"""What users attach to modules: functions called around forward and backward."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NamedTuple, Self, cast

from weft._core import Tensor
from weft.autograd import Function


class RemovableHandle:
    """Take a hook away again; also usable as a context manager."""

    _next_id = 0

    def __init__(self, table: dict[int, Any], hook: Any, prepend: bool = False) -> None:
        self._table = table
        self.id = RemovableHandle._next_id
        RemovableHandle._next_id += 1
        if prepend:
            others = list(table.items())
            table.clear()
            table[self.id] = hook
            table.update(others)
        else:
            table[self.id] = hook

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        self._table.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.remove()


class ForwardHook(NamedTuple):
    """A function to call before or after forward, and how to call it."""

    function: Callable[..., Any]
    with_kwargs: bool
    always_call: bool = False


class HookFunctions(MutableMapping[int, Any]):
    """The functions of one table of hooks, by number, as PyTorch's modules show them."""

    def __init__(self, table: dict[int, Any]) -> None:
        self._table = table

    def __getitem__(self, key: int) -> Any:
        hook = self._table[key]
        return hook.function if isinstance(hook, ForwardHook) else hook

    def __setitem__(self, key: int, value: Any) -> None:
        old = self._table.get(key)
        self._table[key] = old._replace(function=value) if isinstance(old, ForwardHook) else value

    def __delitem__(self, key: int) -> None:
        del self._table[key]

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._table))

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return repr(OrderedDict(self))


class Hooks:
    """All hooks of one module; modules without hooks have none of these."""

    __slots__ = ("backward", "backward_pre", "forward", "forward_pre")

    def __init__(self) -> None:
        self.forward_pre: dict[int, ForwardHook] = {}
        self.forward: dict[int, ForwardHook] = {}
        self.backward_pre: dict[int, Callable[..., Any]] = {}
        self.backward: dict[int, Callable[..., Any]] = {}


def call_with_hooks(module: Any, hooks: Hooks, args: tuple[Any, ...], kwargs: Any) -> Any:
    """Run a module's forward with its hooks around it."""
    result: Any = None
    called: set[int] = set()
    try:
        args, kwargs = _before(module, hooks, args, kwargs)
        watch = _Watch(module, hooks) if hooks.backward or hooks.backward_pre else None
        if watch:
            args = watch.inputs(args)
        result = module.forward(*args, **kwargs)
        for key, hook in list(hooks.forward.items()):
            called.add(key)
            result = _after(module, hook, args, kwargs, result)
        return watch.outputs(result) if watch else result
    except Exception:
        for key, hook in list(hooks.forward.items()):
            if hook.always_call and key not in called:
                result = _after(module, hook, args, kwargs, result)
        raise


def _before(module: Any, hooks: Hooks, args: tuple[Any, ...], kwargs: Any) -> tuple[Any, Any]:
    for hook in list(hooks.forward_pre.values()):
        if hook.with_kwargs:
            changed = hook.function(module, args, kwargs)
            if changed is not None:
                try:
                    args, kwargs = changed
                except (TypeError, ValueError):
                    raise RuntimeError(
                        "A forward pre-hook with kwargs must return None or a pair "
                        f"(args, kwargs), not {changed!r}."
                    ) from None
        else:
            changed = hook.function(module, args)
            if changed is not None:
                args = _as_tuple(changed)
    return args, kwargs


def _after(module: Any, hook: ForwardHook, args: Any, kwargs: Any, result: Any) -> Any:
    if hook.with_kwargs:
        changed = hook.function(module, args, kwargs, result)
    else:
        changed = hook.function(module, args, result)
    return result if changed is None else changed


class _Watch:
    """Carries the gradients of one forward call from its outputs to its inputs."""

    def __init__(self, module: Any, hooks: Hooks) -> None:
        self.module = module
        self.hooks = hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.input_places: list[int] = []
        self.input_count = 0

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.input_count = len(args)
        self.input_places = [i for i, arg in enumerate(args) if _carries_gradient(arg)]
        if not self.input_places:
            return args
        passed = _AtInputs.apply(self, *[args[i] for i in self.input_places])
        replaced = list(args)
        for place, tensor in zip(self.input_places, _as_tuple(passed), strict=True):
            replaced[place] = tensor
        return tuple(replaced)

    def outputs(self, result: Any) -> Any:
        items = _as_tuple(result)
        places = [i for i, item in enumerate(items) if _carries_gradient(item)]
        if not places:
            return result
        passed = _AtOutputs.apply(self, len(items), places, *[items[i] for i in places])
        replaced = list(items)
        for place, tensor in zip(places, _as_tuple(passed), strict=True):
            replaced[place] = tensor
        if not isinstance(result, list | tuple):
            return replaced[0]
        kind = cast("type[Any]", type(cast("Any", result)))
        return kind(*replaced) if hasattr(kind, "_fields") else kind(replaced)

    def at_outputs(self, count: int, places: list[int], grads: tuple[Any, ...]) -> tuple[Any, ...]:
        full: list[Any] = [None] * count
        for place, grad in zip(places, grads, strict=True):
            full[place] = grad
        for hook in list(self.hooks.backward_pre.values()):
            changed = hook(self.module, tuple(full))
            if changed is not None:
                full = list(_as_tuple(changed))
        self.grad_outputs = tuple(full)
        if not self.input_places:
            # Nothing flows further back, so this is the moment for the module's backward hooks.
            for hook in list(self.hooks.backward.values()):
                changed = hook(self.module, (None,) * self.input_count, self.grad_outputs)
                if any(grad is not None for grad in _as_tuple(changed)):
                    raise RuntimeError(
                        "A backward hook of a module of whose inputs none requires a gradient must "
                        "return None."
                    )
            self.grad_outputs = None
        return tuple(full[place] for place in places)

    def at_inputs(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_outputs is None:
            # A gradient that came from the module's gradients, and not through its outputs.
            return grads
        full: list[Any] = [None] * self.input_count
        for place, grad in zip(self.input_places, grads, strict=True):
            full[place] = grad
        for hook in list(self.hooks.backward.values()):
            changed = hook(self.module, tuple(full), self.grad_outputs)
            if changed is not None:
                full = list(_as_tuple(changed))
        self.grad_outputs = None
        return tuple(full[place] for place in self.input_places)


def _carries_gradient(item: Any) -> bool:
    return isinstance(item, Tensor) and item.requires_grad


def _as_tuple(result: Any) -> tuple[Any, ...]:
    return tuple(cast("Any", result)) if isinstance(result, list | tuple) else (result,)


class _AtInputs(Function):
    """Pass tensors through; in backward, call the hooks with the gradients of a module's inputs."""

    @staticmethod
    def forward(ctx: Any, watch: _Watch, *tensors: Any) -> Any:
        ctx.watch = watch
        ctx.set_materialize_grads(False)
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.watch.at_inputs(grads))


class _AtOutputs(Function):
    """Pass tensors through; in backward, keep the gradients of a module's outputs."""

    @staticmethod
    def forward(ctx: Any, watch: _Watch, count: int, places: list[int], *tensors: Any) -> Any:
        ctx.watch, ctx.count, ctx.places = watch, count, places
        ctx.set_materialize_grads(False)
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, None, None, *ctx.watch.at_outputs(ctx.count, ctx.places, grads))
