"""Modules as functions of their parameters and buffers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from weft import _core
from weft._tensor import Tensor
from weft.batching.mapping import held
from weft.nn.module import Module, note_change


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers than its own.

    What the module writes into a buffer that was given, it writes into that one.

    Args:
        module: The module; it is as before afterwards.
        parameter_and_buffer_dicts: Tensors by their names in the module, in one dict or several.
            The others are the module's own.
        args: A tuple of arguments, or one argument.
        kwargs: Keyword arguments.
        tie_weights: A tensor that the module has under several names is replaced under all of them.
        strict: Raise unless exactly the module's parameters and buffers are given.

    Returns:
        What the module returns.

    Raises:
        ValueError: If a name is given twice.
        RuntimeError: With strict, if names are missing or unknown.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> linear = nn.Linear(2, 1)
        >>> given = {"weight": weft.ones(1, 2), "bias": weft.zeros(1)}
        >>> weft.func.functional_call(linear, given, weft.tensor([1.0, 2.0]))
        tensor([3.])
    """
    given = _merged(parameter_and_buffer_dicts)
    own = _named_tensors(module)
    if strict:
        _check_names(module, given, own)
    if tie_weights:
        given = _tied(given, own)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)  # pyright: ignore[reportUnknownVariableType]
    with _replaced(module, given) as (restore, replace), held(restore, replace):
        return module(*arguments, **(kwargs or {}))


def stack_module_state(
    models: Sequence[Module],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Stack the parameters and buffers of models of one kind, for `vmap` over models.

    Args:
        models: Modules of one class, all training or all not.

    Returns:
        Parameters, as new leaves, and buffers, each with the models in dimension 0.

    Raises:
        RuntimeError: If there are no models, or of several classes or modes.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> from weft.func import functional_call, stack_module_state, vmap
        >>> models = [nn.Linear(2, 1) for _ in range(3)]
        >>> parameters, buffers = stack_module_state(models)
        >>> def call(parameters, buffers, x):
        ...     return functional_call(models[0], (parameters, buffers), x)
        >>> vmap(call, in_dims=(0, 0, None))(parameters, buffers, weft.ones(4, 2)).shape
        weft.Size([3, 4, 1])
    """
    if not models:
        raise RuntimeError("stack_module_state: expected at least one model, got none")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: expected all models to be in one mode")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: expected all models to be of one class")
    own = [dict(model.named_parameters()) for model in models]
    parameters = {
        name: _core.ops.stack([one[name] for one in own])
        .detach()
        .requires_grad_(given.requires_grad)
        for name, given in own[0].items()
    }
    held = [dict(model.named_buffers()) for model in models]
    buffers = {name: _core.ops.stack([one[name] for one in held]) for name in held[0]}
    return parameters, buffers


def _merged(dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    parts = [dicts] if isinstance(dicts, Mapping) else dicts
    merged: dict[str, Tensor] = {}
    for part in parts:
        for name, tensor in part.items():
            if name in merged:
                raise ValueError(f"functional_call: {name} is given twice")
            merged[name] = tensor
    return merged


def _named_tensors(module: Module) -> dict[str, Tensor]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _check_names(module: Module, given: dict[str, Tensor], own: dict[str, Tensor]) -> None:
    missing, unknown = sorted(own.keys() - given.keys()), sorted(given.keys() - own.keys())
    if missing or unknown:
        raise RuntimeError(
            f"functional_call: with strict=True the names must be those of "
            f"{type(module).__name__}; missing: {missing}, unknown: {unknown}"
        )


def _tied(given: dict[str, Tensor], own: dict[str, Tensor]) -> dict[str, Tensor]:
    """Add the other names of tensors that the module has under several."""
    by_tensor = {id(own[name]): tensor for name, tensor in given.items() if name in own}
    others = {
        name: by_tensor[id(tensor)] for name, tensor in own.items() if id(tensor) in by_tensor
    }
    return {**others, **given}


@contextmanager
def _replaced(
    module: Module, given: dict[str, Tensor]
) -> Generator[tuple[Callable[[], None], Callable[[], None]]]:
    """Put tensors into the places of parameters and buffers, and those back afterwards.

    Yields what puts the module's own back, and the others in their place again.
    """
    places: list[tuple[dict[str, Any], str]] = []
    kept: list[Any] = []

    def exchange(order: Iterable[int]) -> None:
        for i in order:
            state, name = places[i]
            kept[i], tensor = state.get(name), kept[i]
            _put(state, name, tensor)

    def restore() -> None:
        exchange(reversed(range(len(places))))

    def replace() -> None:
        exchange(range(len(places)))

    try:
        for path, tensor in given.items():
            prefix, _, name = path.rpartition(".")
            state = module.get_submodule(prefix).__dict__
            if name not in state["_parameter_names"] and name not in state["_buffer_names"]:
                raise AttributeError(
                    f"functional_call: {type(module).__name__} has no parameter or buffer {path}"
                )
            places.append((state, name))
            kept.append(state[name])
            _put(state, name, tensor)
        yield restore, replace
    finally:
        restore()


def _put(state: dict[str, Any], name: str, tensor: Any) -> None:
    state[name] = tensor
    note_change(state)
