"""Make layers larger while they train."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from weft import _following
from weft._core import Tensor
from weft._following import Growth
from weft.autograd import no_grad
from weft.functional.creation import zeros
from weft.nn import conv, normalization, recurrent
from weft.nn.activation import PReLU
from weft.nn.embedding import Embedding, EmbeddingBag
from weft.nn.linear import Bilinear, Linear
from weft.nn.module import Module
from weft.nn.parameter import Parameter

_Module = TypeVar("_Module", bound=Module)


class _Axis(NamedTuple):
    """One axis of a parameter."""

    size: str  # the attribute of the layer that says how long a block is
    blocks: int = 1
    reads: bool = False  # whether it runs over what the layer reads, and not over what it makes


# The axes of each parameter or buffer that have a name; the rest, such as a kernel's, stay.
_Layout: TypeAlias = dict[str, tuple[_Axis, ...]]


def _reading(size: str, blocks: int = 1) -> _Axis:
    return _Axis(size, blocks, reads=True)


def _layout(layer: Any) -> _Layout | None:
    """Say which sizes the parameters of a layer have, or None if that is not known."""
    match layer:
        case Linear():
            return _pair(_Axis("out_features"), _reading("in_features"))
        case Bilinear():
            ins = (_reading("in1_features"), _reading("in2_features"))
            return _pair(_Axis("out_features"), *ins)
        case Embedding() | EmbeddingBag():
            return {"weight": (_Axis("num_embeddings"), _Axis("embedding_dim"))}
        case conv.Convolution() if layer.groups == 1:
            made, read = _Axis("out_channels"), _reading("in_channels")
            return {"weight": (read, made) if layer.transposed else (made, read), "bias": (made,)}
        case normalization.RunningNorm():
            names = ("weight", "bias", "running_mean", "running_var")
            return {name: (_Axis("num_features"),) for name in names}
        case normalization.LayerNorm() | normalization.RMSNorm():
            if len(layer.normalized_shape) == 1:
                return _pair(_Axis("normalized_shape"))
        case PReLU() if layer.num_parameters > 1:  # one is for all channels
            return {"weight": (_Axis("num_parameters"),)}
        case recurrent.RNNCellBase():
            return _recurrent(layer.gate_count, _reading("input_size"), "")
        case recurrent.RNNBase():
            directions = ("", "_reverse") if layer.bidirectional else ("",)
            below = [_reading("input_size")]
            below += [_reading("hidden_size", len(directions))] * (layer.num_layers - 1)
            return {
                name: axes
                for number, read in enumerate(below)
                for direction in directions
                for name, axes in _recurrent(
                    layer.gate_count, read, f"_l{number}{direction}"
                ).items()
            }
        case _:
            pass
    return None


def _pair(made: _Axis, *read: _Axis) -> _Layout:
    return {"weight": (made, *read), "bias": (made,)}


def _recurrent(gates: int, read: _Axis, ending: str) -> _Layout:
    made = _Axis("hidden_size", gates)
    return {
        f"weight_ih{ending}": (made, read),
        f"weight_hh{ending}": (made, _reading("hidden_size")),
        f"bias_ih{ending}": (made,),
        f"bias_hh{ending}": (made,),
    }


def grow_(module: _Module, *, init: Callable[[Tensor], Any] | None = None, **sizes: int) -> _Module:
    """Make a layer larger, in place; optimizers that train it follow.

    The parameters stay the same objects. What they were stays at the front, bit by bit, and
    so do gradients and the moments that optimizers keep; what is new of those is zero.

    New outputs get the weights that a new layer of that size would draw. What old outputs read
    from new inputs is weighted zero. So the old outputs stay what they were, and growing the
    outputs of a layer together with the inputs of the next one does not change a model. Only
    LayerNorm and RMSNorm, which look at all features together, are another function afterwards.

    Linear, Bilinear, Embedding, EmbeddingBag, PReLU, convolutions of one group, batch and instance
    norms, LayerNorm, RMSNorm, recurrent cells and recurrent layers can grow.

    Args:
        module: the layer.
        init: fills the new part instead: called with a tensor of each grown parameter's new shape,
            into which the old values are then written.
        sizes: the new sizes, by the names that the layer's constructor has for them.

    Returns:
        The layer.

    Raises:
        TypeError: if the layer cannot grow, or has no such size.
        ValueError: if a size is smaller than it was.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        >>> before = model(weft.ones(2))
        >>> _ = nn.grow_(model[0], out_features=8)
        >>> nn.grow_(model[2], in_features=8)
        Linear(in_features=8, out_features=1, bias=True)
        >>> weft.allclose(model(weft.ones(2)), before)
        True
    """
    layout = _checked_layout(module)
    _check_sizes(module, layout, sizes)
    grown: dict[str, Growth] = {}
    for name, axes in layout.items():
        tensor = getattr(module, name, None)
        if tensor is not None and (growth := _growth(name, tensor, axes, sizes)):
            grown[name] = growth
    with no_grad():
        values = _new_values(module, layout, grown, sizes, init)
        parameters = {name: param for name, param in module.named_parameters() if name in grown}
        _following.grow((param, values[name], grown[name]) for name, param in parameters.items())
    for name in grown.keys() - parameters.keys():
        setattr(module, name, values[name])
    _set_sizes(module, sizes)
    return module


def _checked_layout(module: Any) -> _Layout:
    layout = _layout(module)
    if layout is None:
        raise TypeError(f"grow_(): a {type(module).__name__} like this one cannot grow: {module}.")
    for name, parameter in cast("Module", module).named_parameters():
        if name not in layout:
            raise TypeError(
                f"grow_(): {type(module).__name__} has a parameter {name}, and it is not known how "
                "that would grow."
            )
        if parameter.dim() < len(layout[name]):
            raise TypeError(
                f"grow_(): {name} of {type(module).__name__} has the shape "
                f"{tuple(parameter.shape)}; it must have got its sizes before it can grow."
            )
    return layout


def _check_sizes(module: Module, layout: _Layout, sizes: dict[str, int]) -> None:
    known = dict.fromkeys(axis.size for axes in layout.values() for axis in axes)
    if not sizes:
        raise TypeError(f"grow_(): say a new size: {' or '.join(known)}.")
    for name, size in sizes.items():
        if name not in known:
            raise TypeError(
                f"grow_(): {type(module).__name__} has no size {name}; it has {', '.join(known)}."
            )
        if not isinstance(cast("Any", size), int) or isinstance(size, bool):
            raise TypeError(f"grow_(): {name} must be an int, not a {type(size).__name__}.")
        present = _size(module, name)
        if size < present:
            raise ValueError(f"grow_(): {name} cannot shrink; it is {present}, wanted is {size}.")


def _growth(
    name: str, tensor: Tensor, axes: tuple[_Axis, ...], sizes: dict[str, int]
) -> Growth | None:
    """Say how one tensor grows; None if it has its new shape already."""
    before = tuple(tensor.shape)
    named = [
        axis.blocks * sizes[axis.size] if axis.size in sizes else length
        for axis, length in zip(axes, before, strict=False)
    ]
    after = (*named, *before[len(axes) :])
    if any(new < old for new, old in zip(after, before, strict=True)):
        raise ValueError(f"grow_(): {name} cannot shrink; it is {before}, wanted is {after}.")
    blocks = (*(axis.blocks for axis in axes), *(1 for _ in before[len(axes) :]))
    return Growth(before, after, blocks) if after != before else None


def _new_values(
    module: Module,
    layout: _Layout,
    grown: dict[str, Growth],
    sizes: dict[str, int],
    init: Callable[[Tensor], Any] | None,
) -> dict[str, Tensor]:
    """Return the tensors that grow, in their new shapes."""
    # A layer of the new size, whose own parameters are nobody else's.
    larger: Any = copy(module)
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        shape = grown[name].after if name in grown else tuple(tensor.shape)
        fresh = zeros(shape, dtype=tensor.dtype)
        larger.__dict__[name] = Parameter(fresh) if isinstance(tensor, Parameter) else fresh
    _set_sizes(larger, sizes)
    makes = any(not axis.reads and axis.size in sizes for axes in layout.values() for axis in axes)
    if makes:
        larger.reset_parameters()
    values: dict[str, Tensor] = {}
    for name, growth in grown.items():
        tensor, value = getattr(module, name), larger.__dict__[name].detach()
        if init is not None and isinstance(tensor, Parameter):
            init(value)
        else:
            _unread(value, growth, layout[name])
        values[name] = growth.write(tensor.detach(), value)
    return values


def _unread(value: Tensor, growth: Growth, axes: tuple[_Axis, ...]) -> None:
    """Let old outputs read nothing: neither from new inputs nor from old ones."""
    reads = [axis.reads for axis in axes] + [True] * (value.dim() - len(axes))
    ends = growth.in_blocks(growth.before)
    old = tuple(slice(None if reads[i // 2] else end) for i, end in enumerate(ends))
    value.view(growth.in_blocks(growth.after))[old] = 0


def _size(layer: Any, name: str) -> int:
    size = getattr(layer, name)
    return cast("tuple[int]", size)[0] if isinstance(size, tuple) else size


def _set_sizes(layer: Module, sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        setattr(layer, name, (size,) if isinstance(getattr(layer, name), tuple) else size)
