"""Give the core's Tensor type the methods that are easiest said in Python, and make tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from weft import _core, _printing
from weft._core import Tensor, dtype

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self, SupportsIndex

    import numpy as np

__all__ = [
    "Size",
    "Tensor",
    "as_tensor",
    "asarray",
    "device",
    "dtype",
    "from_dlpack",
    "from_numpy",
    "tensor",
]

_ops = _core.ops
_Function = TypeVar("_Function", bound="Callable[..., Any]")


class Size(tuple[int, ...]):
    """The sizes of a tensor's dimensions: a tuple of ints.

    Example:
        >>> import weft
        >>> weft.zeros(2, 3).shape
        weft.Size([2, 3])
    """

    __slots__ = ()

    def numel(self) -> int:
        """Return the number of elements of a tensor of this size.

        Example:
            >>> import weft
            >>> weft.zeros(2, 3).shape.numel()
            6
        """
        count = 1
        for size in self:
            count *= size
        return count

    def __repr__(self) -> str:
        return f"{_core.shown_package()}.Size({list(self)})"

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: SupportsIndex | slice) -> int | Size:
        item = super().__getitem__(index)
        return Size(item) if isinstance(item, tuple) else item

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]
        return Size(super().__add__(other))

    def __radd__(self, other: tuple[int, ...]) -> Size:
        return Size(other + tuple(self))

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)


_core.set_size_type(Size)


class device:  # noqa: N801 - PyTorch's name
    """Where a tensor's memory is. There is one device so far: the CPU.

    Args:
        type: "cpu", or "cpu:0".
        index: The number of the device.

    Raises:
        RuntimeError: For any other device.

    Example:
        >>> import weft
        >>> weft.device("cpu:0")
        device(type='cpu', index=0)
        >>> weft.zeros(2).device
        device(type='cpu')
    """

    __slots__ = ("index", "type")

    index: int | None
    type: str

    def __init__(self, type: str | device = "cpu", index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        name, _, number = str(type).partition(":")
        if name != "cpu" or (number and not number.isdigit()):
            raise _core.UnsupportedError(f"device({type!r}): only the CPU is supported so far")
        self.type = name
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        place = f", index={self.index}" if self.index is not None else ""
        return f"device(type='{self.type}'{place})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    def __enter__(self) -> Self:
        return self  # what is made inside is on the CPU anyway

    def __exit__(self, *_: object) -> None:
        pass


_CPU = device("cpu")

# --- NumPy and DLPack ---------------------------------------------------------------------------

_FROM_NUMPY = {
    "float32": _core.float32,
    "float64": _core.float64,
    "float16": _core.float16,
    "bfloat16": _core.bfloat16,
    "int8": _core.int8,
    "int16": _core.int16,
    "int32": _core.int32,
    "int64": _core.int64,
    "uint8": _core.uint8,
    "bool": _core.bool,
}


def dtype_of_numpy(kind: Any) -> dtype | None:
    """Return the dtype that has the elements of a dtype of NumPy's, or None."""
    import numpy as np  # noqa: PLC0415 - somebody has a dtype of it

    kind = np.dtype(kind)
    return _FROM_NUMPY.get(kind.name) if kind.isnative else None


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """Make a tensor that shares the memory of a NumPy array.

    Args:
        ndarray: The array; its dtype must be one that Weft has.

    Returns:
        A tensor over the same memory. Writing a tensor over a read-only array raises.

    Raises:
        TypeError: If it is no array, or its dtype is not supported.

    Example:
        >>> import numpy, weft
        >>> a = numpy.zeros(2)
        >>> weft.from_numpy(a)[0] = 1
        >>> a.tolist()
        [1.0, 0.0]
    """
    made = _core.from_array(ndarray)
    if made is not None:
        return made
    kind: Any = getattr(ndarray, "dtype", None)
    if kind is None or not hasattr(ndarray, "__array_interface__"):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    wanted = _FROM_NUMPY.get(kind.name)
    if wanted is None or not kind.isnative:
        supported = ", ".join(_FROM_NUMPY)
        complex_note = "; complex numbers come later" if kind.kind == "c" else ""
        raise TypeError(
            f"from_numpy(): can't convert np.ndarray of type {kind}. "
            f"The supported types are {supported}{complex_note}."
        )
    array: Any = ndarray if hasattr(ndarray, "ndim") and hasattr(ndarray, "view") else None
    if array is None or not hasattr(array, "flags"):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if wanted is _core.bfloat16:
        array = array.view("uint16")
    return _core.from_buffer(array, wanted)


def _read_odd_array(array: Any, wanted: dtype | None) -> Tensor | None:
    """Copy an array that the core cannot look at as it is; None if it should answer itself."""
    import numpy as np  # noqa: PLC0415 - the array is of it

    kind = cast("Any", type(array))
    if any(base.__module__.startswith("numpy.ma") for base in kind.__mro__):
        raise TypeError("tensors have no masks: give array.filled(value) for a masked array")
    if kind.__array_ufunc__ is not vars(np.ndarray)["__array_ufunc__"]:
        return None
    return from_numpy(_plain(array, wanted))


def _plain(array: Any, wanted: dtype | None) -> Any:
    """Copy an array into memory in order, in this machine's order of bytes."""
    import numpy as np  # noqa: PLC0415

    native = array.dtype.newbyteorder("=")
    # Unsigned numbers that no tensor has are read where they become something else.
    if wanted is not None and native.name in ("uint16", "uint32"):
        native = np.dtype(np.int64)
    return np.array(array, dtype=native, order="C", copy=True, subok=False)


_core.set_array_reader(_read_odd_array)


def from_dlpack(external: Any) -> Tensor:
    """Make a tensor that shares memory with any object that speaks DLPack.

    Args:
        external: An object with `__dlpack__`, or a DLPack capsule.

    Returns:
        A tensor over the same memory.

    Example:
        >>> import weft
        >>> import numpy
        >>> a = numpy.zeros(2)
        >>> weft.from_dlpack(a)[0] = 1
        >>> a.tolist()
        [1.0, 0.0]
    """
    capsule = external.__dlpack__() if hasattr(external, "__dlpack__") else external
    return _core.from_dlpack(capsule)


def _numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """Return a NumPy array over the same memory (a copy for bfloat16 without ml_dtypes).

    Args:
        force: Also accept a tensor that requires grad.

    Raises:
        RuntimeError: If the tensor requires grad.

    Example:
        >>> import weft
        >>> x = weft.zeros(2)
        >>> x.numpy()[0] = 1  # the same memory
        >>> x
        tensor([1., 0.])
    """
    if self.requires_grad and not force:
        raise _core.GradientError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    array = _core.array_of(self)
    if self.dtype is _core.bfloat16:
        try:
            import ml_dtypes  # noqa: PLC0415 # pyright: ignore[reportMissingImports] - optional
        except ImportError:
            raise TypeError(
                "numpy(): NumPy has no bfloat16; install ml_dtypes or call .float() first"
            ) from None
        return array.view(ml_dtypes.bfloat16)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType, reportUnknownVariableType]
    return array


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    array = _numpy(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("__array__: a copy is needed to change the dtype")
        return array.astype(dtype)
    return array.copy() if copy else array


def _dlpack(
    self: Tensor,
    *,
    stream: Any = None,  # noqa: ARG001 - part of the protocol; the CPU has none
    max_version: Any = None,  # noqa: ARG001
    dl_device: Any = None,  # noqa: ARG001
    copy: bool | None = None,
) -> Any:
    return _core.to_dlpack(self.detach().clone() if copy else self)


def _dlpack_device(self: Tensor) -> tuple[int, int]:  # noqa: ARG001 - the protocol's signature
    return 1, 0  # the CPU's kind in the protocol, and its number


# --- making tensors -----------------------------------------------------------------------------


def _check_device(where: Any) -> None:
    if where is not None:
        device(where)


def _read(data: Any, dtype: dtype | None) -> Tensor:
    if isinstance(data, Tensor):
        return data.detach().clone() if dtype is None else _ops.cast(data.detach(), dtype).clone()
    if hasattr(data, "__array_interface__") or hasattr(data, "__array__"):
        import numpy as np  # noqa: PLC0415

        if not isinstance(data, np.generic):
            made = from_numpy(_plain(np.asarray(data), dtype))
            return made if dtype is None else _ops.cast(made, dtype)
    elif _is_foreign(data) or (
        isinstance(data, (list, tuple)) and any(map(_is_foreign, cast("list[Any]", data)))
    ):
        data = _as_lists(data)
    return _core.tensor(data, dtype)


_PLAIN = (bool, int, float, list, tuple, str, bytes, Tensor)


def _is_foreign(data: Any) -> bool:
    """Tell whether the core does not know this kind of list: a range, a deque, an image."""
    if isinstance(data, _PLAIN) or type(data).__module__ == "numpy":
        return False
    return hasattr(data, "__array_interface__") or isinstance(data, Sequence)


def _as_lists(data: Any) -> Any:
    """Replace all kinds of lists inside each other by lists, but for arrays."""
    if hasattr(data, "__array_interface__"):
        if type(data).__module__ == "numpy":
            return data
        import numpy as np  # noqa: PLC0415

        return np.asarray(data)
    if isinstance(data, (list, tuple)) or _is_foreign(data):
        # As a list first: of one that is too long, that is a MemoryError at once.
        return [_as_lists(item) for item in list(cast("Sequence[Any]", data))]
    return data


def _short_for_numbers(function: _Function) -> _Function:
    """Let a function make a tensor of a number alone without entering Python."""
    short: Any = _core.NumberFunction(function, function.__name__, None)
    return short


@_short_for_numbers
def tensor(
    data: Any,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,  # noqa: ARG001 - PyTorch's signature
) -> Tensor:
    """Make a tensor from numbers, nested lists, or an array; the data is copied.

    Args:
        data: A number, a nested list or tuple of numbers, a NumPy array, or a tensor.
        dtype: The element type; by default the one that fits the data.
        device: Only the CPU so far.
        requires_grad: Whether backward should accumulate a gradient for it.
        pin_memory: Changes nothing: there is nothing to pin on a CPU.

    Returns:
        A new tensor without history.

    Raises:
        ValueError: If nested lists are ragged.
        TypeError: If an element is no number.

    Example:
        >>> import weft
        >>> weft.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
    """
    if device is not None:
        _check_device(device)
    plain = type(data) in _NUMBERS or (
        type(data) is list and _NUMBERS.issuperset(map(type, cast("list[Any]", data)))
    )
    made = _core.tensor(data, dtype) if plain else _read(data, dtype)
    if requires_grad:
        made.requires_grad = True
    return made


_NUMBERS = frozenset((int, float))


def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """Return data as a tensor, sharing memory where that is possible.

    Args:
        data: A tensor, an array, a number, or nested lists.
        dtype: The element type; by default that of the data.
        device: Only the CPU so far.

    Returns:
        The tensor itself if nothing needs to change, a view of an array's memory, or a new tensor.

    Example:
        >>> import weft
        >>> x = weft.zeros(2)
        >>> weft.as_tensor(x) is x, weft.as_tensor([1, 2])
        (True, tensor([1, 2]))
    """
    _check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None else _ops.cast(data, dtype)
    if hasattr(data, "__array_interface__") and hasattr(data, "flags"):
        made = from_numpy(data)
        return made if dtype is None else _ops.cast(made, dtype)
    return _read(data, dtype)


def asarray(
    obj: Any,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return an object as a tensor.

    Args:
        obj: A tensor, an array, a number, or nested lists.
        dtype: The element type; by default that of the object.
        device: Only the CPU so far.
        copy: True: always copy; False: raise if a copy is needed; None: copy if needed.
        requires_grad: Whether backward should accumulate a gradient for it.

    Example:
        >>> import weft
        >>> weft.asarray([1, 2], dtype=weft.float32)
        tensor([1., 2.])
    """
    if copy:
        return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    made = as_tensor(obj, dtype, device)
    if copy is False and made is not obj and not hasattr(obj, "__array_interface__"):
        raise ValueError("asarray(): the object cannot be used without a copy")
    if requires_grad:
        made = made.detach().requires_grad_()
    return made


# --- methods ------------------------------------------------------------------------------------


def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:  # noqa: ARG001
    shown = self.detach()
    if self.dtype is _core.bfloat16:
        shown = _ops.cast(shown, _core.float32)
    function = self.grad_fn
    return _printing.format_tensor(
        _core.array_of(shown),
        dtype_name=self.dtype.name,
        shape=tuple(self.shape),
        requires_grad=self.requires_grad,
        grad_fn_name=None if function is None else function.name(),
        is_parameter=bool(getattr(self, "_is_parameter", False)),
        default_dtype_name=_core.get_default_dtype().name,
    )


def _format(self: Tensor, spec: str) -> str:
    return self.item().__format__(spec) if self.ndim == 0 else str(self).__format__(spec)


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | Tensor | None = None,
) -> None:
    """Compute the gradients of this tensor with respect to the leaves of its graph.

    Args:
        gradient: The gradient of this tensor; may be missing for a single element.
        retain_graph: Keep what was saved, so that backward can run again.
        create_graph: Record backward itself, for higher derivatives.
        inputs: Accumulate only into these, which may be results too.

    Raises:
        RuntimeError: If there is no graph, or it was freed, or a saved tensor was changed.

    Example:
        >>> import weft
        >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """
    if gradient is None and retain_graph is None and not create_graph and inputs is None:
        _core.backward_of_one(self)
        return
    if isinstance(inputs, Tensor):
        inputs = (inputs,)
    elif inputs is not None and len(inputs) == 0:
        raise RuntimeError("'inputs' argument to backward() cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    _core.run_backward((self,), (gradient,), inputs, keep, create_graph, True)


class RemovableHandle:
    """What registering a hook returns: call `remove()` to take the hook away.

    Example:
        >>> import weft
        >>> x = weft.ones(2, requires_grad=True)
        >>> handle = x.register_hook(print)
        >>> handle.remove()
    """

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def remove(self) -> None:
        """Remove the hook; doing it twice is harmless."""
        _core.remove_hook(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def _register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call a function with each gradient of this tensor; what it returns replaces the gradient.

    Args:
        hook: Takes the gradient; returns another one of the same shape, or None.

    Returns:
        A handle whose `remove()` takes the hook away.

    Example:
        >>> import weft
        >>> x = weft.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> x.sum().backward()
        >>> x.grad
        tensor([10., 10.])
    """
    return RemovableHandle(_core.add_hook(self, hook))


def _register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call a function with this leaf each time its gradient has accumulated.

    Args:
        hook: Takes the leaf.

    Returns:
        A handle whose `remove()` takes the hook away.

    Example:
        >>> import weft
        >>> x = weft.ones(2, requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
        >>> x.sum().backward()
        tensor([1., 1.])
    """
    return RemovableHandle(_core.add_post_accumulate_hook(self, hook))


def _retain_grad(self: Tensor) -> None:
    """Keep the gradient of this tensor in `.grad` although it is no leaf.

    Example:
        >>> import weft
        >>> x = weft.ones(2, requires_grad=True)
        >>> y = x * 3
        >>> y.retain_grad()
        >>> y.sum().backward()
        >>> y.grad
        tensor([1., 1.])
    """
    _core.retain_grad(self)


def _retains_grad(self: Tensor) -> bool:
    return _core.retains_grad(self)


def _cast(self: Tensor, wanted: dtype) -> Tensor:
    return self if self.dtype is _core.as_dtype(wanted) else _ops.cast(self, wanted)


def _to(
    self: Tensor,
    *args: Any,
    dtype: dtype | None = None,
    device: Any = None,
    non_blocking: bool = False,  # noqa: ARG001 - PyTorch's signature
    copy: bool = False,
    memory_format: Any = None,  # noqa: ARG001
) -> Tensor:
    """Return the tensor with another dtype (or itself).

    Args:
        args: A dtype, a device, or a tensor to be like.
        dtype: The wanted element type.
        device: Only the CPU so far.
        non_blocking: Changes nothing: there is nothing to wait for on a CPU.
        copy: Copy even if nothing changes.
        memory_format: Changes nothing: there is one format.

    Example:
        >>> import weft
        >>> x = weft.tensor([1, 2])
        >>> x.to(weft.float32), x.to("cpu") is x
        (tensor([1., 2.]), True)
    """
    for argument in args:
        if isinstance(argument, Tensor):
            dtype = argument.dtype
        elif isinstance(argument, (_core.dtype, type)):
            dtype = _core.as_dtype(argument)
        elif not isinstance(argument, bool):
            device = argument
    _check_device(device)
    result = self if dtype is None else _cast(self, dtype)
    return result.clone() if copy and result is self else result


_OLD_TYPES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
    "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "uint8": "Byte", "bool": "Bool",
}  # fmt: skip


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:  # noqa: ARG001
    """Return the name of the tensor's type, or the tensor with another dtype.

    Args:
        dtype: A dtype, or an old type such as `torch.LongTensor`, or its name.
        non_blocking: Changes nothing: there is nothing to wait for on a CPU.

    Example:
        >>> import weft
        >>> weft.zeros(2).type(), weft.zeros(2).type(weft.int64)
        ('torch.FloatTensor', tensor([0, 0]))
    """
    if dtype is None:
        return f"torch.{_OLD_TYPES[self.dtype.name]}Tensor"
    if isinstance(dtype, str):
        names = {f"torch.{old}Tensor": name for name, old in _OLD_TYPES.items()}
        if dtype not in names:
            raise ValueError(f"type(): invalid type: {dtype!r}")
        dtype = getattr(_core, names[dtype])
    return _cast(self, getattr(dtype, "dtype", dtype))


_CASTS = {
    "bfloat16": _core.bfloat16,
    "bool": _core.bool,
    "byte": _core.uint8,
    "char": _core.int8,
    "double": _core.float64,
    "float": _core.float32,
    "half": _core.float16,
    "int": _core.int32,
    "long": _core.int64,
    "short": _core.int16,
}


def _caster(name: str, wanted: dtype) -> Callable[[Tensor], Tensor]:
    def cast(self: Tensor, memory_format: Any = None) -> Tensor:  # noqa: ARG001 - there is one
        return _cast(self, wanted)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"""Return the tensor as {wanted.name}.

    Example:
        >>> import weft
        >>> weft.zeros(2).{name}().dtype
        weft.{wanted.name}
    """
    return cast


def _rebuild(array: Any, kind: str, requires_grad: bool) -> Tensor:
    is_bfloat16 = kind == "bfloat16"  # NumPy has none: its bits came as uint16
    made = _core.from_buffer(array, _core.bfloat16) if is_bfloat16 else from_numpy(array)
    return made.requires_grad_() if requires_grad else made


def _reduce_ex(self: Tensor, protocol: Any) -> Any:  # noqa: ARG001
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support pickling and the "
            "deepcopy protocol at the moment; call .detach() first."
        )
    # A copy: a view pickles itself, not the memory it looks into.
    array = _core.array_of(self.detach()).copy()
    return _rebuild, (array, self.dtype.name, self.requires_grad), self.__dict__ or None


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment. Call .detach() first."
        )
    copied = self.detach().clone()
    if type(self) is not Tensor:
        copied = Tensor._make_subclass(type(self), copied, self.requires_grad)
    elif self.requires_grad:
        copied.requires_grad_()
    memo[id(self)] = copied
    if self.grad is not None:
        copied.grad = self.grad.detach().clone()
    if self.__dict__:
        from copy import deepcopy  # noqa: PLC0415

        copied.__dict__.update(deepcopy(self.__dict__, memo))
    return copied


def _copy(self: Tensor) -> Tensor:
    if type(self) is not Tensor:
        copied = Tensor._make_subclass(type(self), self.detach(), self.requires_grad)
        copied.__dict__.update(self.__dict__)
        return copied
    return self.detach().requires_grad_(self.requires_grad)


def _contains(self: Tensor, item: Any) -> bool:
    return bool(_ops.any(_ops.eq(self, item)))


def _dir(self: Tensor) -> list[str]:
    return sorted({*dir(type(self)), *self.__dict__})


def _is_floating_point(self: Tensor) -> bool:
    """Tell whether the elements are floating-point numbers.

    Example:
        >>> import weft
        >>> weft.zeros(2).is_floating_point(), weft.tensor([1]).is_floating_point()
        (True, False)
    """
    return self.dtype.is_floating_point


def _is_complex(self: Tensor) -> bool:  # noqa: ARG001
    """Tell whether the elements are complex numbers: never, so far.

    Example:
        >>> import weft
        >>> weft.zeros(2).is_complex()
        False
    """
    return False


def _element_size(self: Tensor) -> int:
    """Return the bytes of one element.

    Example:
        >>> import weft
        >>> weft.zeros(2).element_size()
        4
    """
    return self.itemsize


def _cpu(self: Tensor) -> Tensor:
    """Return the tensor itself: it is on the CPU.

    Example:
        >>> import weft
        >>> x = weft.zeros(2)
        >>> x.cpu() is x
        True
    """
    return self


def _cuda(self: Tensor, *_: Any, **__: Any) -> Tensor:  # noqa: ARG001
    """Raise: there is no GPU support yet.

    Example:
        >>> import weft
        >>> weft.zeros(2).cuda()
        Traceback (most recent call last):
            ...
        weft.UnsupportedError: cuda(): only the CPU is supported so far
    """
    raise _core.UnsupportedError("cuda(): only the CPU is supported so far")


def _new_tensor(self: Tensor, data: Any, *, dtype: dtype | None = None, **options: Any) -> Tensor:
    """Make a tensor from data, by default with this tensor's dtype.

    Example:
        >>> import weft
        >>> weft.zeros(1, dtype=weft.float64).new_tensor([1, 2])
        tensor([1., 2.], dtype=weft.float64)
    """
    return tensor(data, dtype=dtype or self.dtype, **options)


def _new(self: Tensor, *args: Any) -> Tensor:
    """Make a tensor of this one's dtype from sizes or from data: an old name of `new_empty`.

    Example:
        >>> import weft
        >>> weft.zeros(1, dtype=weft.int64).new([1, 2])
        tensor([1, 2])
    """
    if all(isinstance(arg, int) for arg in args) or isinstance(args[0], Size):
        return _ops.zeros(*(args or (0,)), dtype=self.dtype)
    return _new_tensor(self, *args)


def _new_filled(name: str) -> Callable[..., Tensor]:
    make = _ops.ones if name == "ones" else _ops.zeros  # empty ones are zeros too

    def new(
        self: Tensor,
        *size: Any,
        dtype: dtype | None = None,
        device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:
        _check_device(device)
        made = make(*size, dtype=dtype or self.dtype)
        return made.requires_grad_() if requires_grad else made

    new.__name__ = new.__qualname__ = f"new_{name}"
    new.__doc__ = f"""Make a tensor by {name}, by default with this tensor's dtype.

    Example:
        >>> import weft
        >>> weft.tensor([1, 2]).new_{name}(3).dtype
        weft.int64
    """
    return new


def _new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: dtype | None = None, **options: Any
) -> Tensor:
    """Make a tensor of one value, by default with this tensor's dtype.

    Example:
        >>> import weft
        >>> weft.tensor([0]).new_full((2,), 7)
        tensor([7, 7])
    """
    made = _ops.full(size, fill_value, dtype=dtype or self.dtype)
    return made.requires_grad_() if options.get("requires_grad") else made


def _ndimension(self: Tensor) -> int:
    """Return the number of dimensions.

    Example:
        >>> import weft
        >>> weft.zeros(2, 3).ndimension()
        2
    """
    return self.ndim


def _is_view(self: Tensor) -> bool:
    """Tell whether the tensor is a view of another one."""
    return self._base is not None


def _is_inference(self: Tensor) -> bool:
    """Tell whether the tensor was made in inference mode.

    Example:
        >>> import weft
        >>> with weft.inference_mode():
        ...     x = weft.zeros(2)
        >>> x.is_inference()
        True
    """
    return self._inference


def _itself(self: Tensor, *_: Any) -> Tensor:
    """Return the tensor itself: there is one kind of memory.

    Example:
        >>> import weft
        >>> x = weft.zeros(2)
        >>> x.pin_memory() is x, x.share_memory_() is x
        (True, True)
    """
    return self


def _get_device(self: Tensor) -> int:  # noqa: ARG001
    """Return -1, which stands for the CPU.

    Example:
        >>> import weft
        >>> weft.zeros(2).get_device()
        -1
    """
    return -1


def _is_pinned(self: Tensor, *_: Any) -> bool:  # noqa: ARG001
    """Return False: there is one kind of memory.

    Example:
        >>> import weft
        >>> weft.zeros(2).is_pinned(), weft.zeros(2).is_shared()
        (False, False)
    """
    return False


def _is_signed(self: Tensor) -> bool:
    """Tell whether the dtype has negative numbers.

    Example:
        >>> import weft
        >>> weft.zeros(2).is_signed(), weft.tensor([True]).is_signed()
        (True, False)
    """
    return self.dtype is not _core.uint8 and self.dtype is not _core.bool


def _is_same_size(self: Tensor, other: Tensor) -> bool:
    """Tell whether another tensor has the same shape.

    Example:
        >>> import weft
        >>> weft.zeros(2).is_same_size(weft.ones(2))
        True
    """
    return self.shape == other.shape


_METHODS: dict[str, Any] = {
    **{name: _caster(name, wanted) for name, wanted in _CASTS.items()},
    "_is_view": _is_view,
    "__array__": _array,
    "__array_priority__": 1000,
    "__contains__": _contains,
    "__copy__": _copy,
    "__deepcopy__": _deepcopy,
    "__dir__": _dir,
    "__dlpack__": _dlpack,
    "__dlpack_device__": _dlpack_device,
    "__format__": _format,
    "__module__": "weft",
    "__reduce_ex__": _reduce_ex,
    "__repr__": _repr,
    "backward": _backward,
    "cpu": _cpu,
    "cuda": _cuda,
    "device": property(lambda _self: _CPU, doc="Where the memory is."),
    "element_size": _element_size,
    "get_device": _get_device,
    "is_complex": _is_complex,
    "is_cpu": True,
    "is_cuda": False,
    "is_floating_point": _is_floating_point,
    "is_inference": _is_inference,
    "is_meta": False,
    "is_mps": False,
    "is_nested": False,
    "is_pinned": _is_pinned,
    "is_quantized": False,
    "is_same_size": _is_same_size,
    "is_shared": _is_pinned,
    "is_signed": _is_signed,
    "is_sparse": False,
    "is_xpu": False,
    "layout": "torch.strided",
    "nbytes": property(lambda self: self.numel() * self.itemsize, doc="Bytes of all elements."),
    "ndimension": _ndimension,
    "new_empty": _new_filled("empty"),
    "new_full": _new_full,
    "new_ones": _new_filled("ones"),
    "new": _new,
    "new_tensor": _new_tensor,
    "new_zeros": _new_filled("zeros"),
    "numpy": _numpy,
    "pin_memory": _itself,
    "register_hook": _register_hook,
    "register_post_accumulate_grad_hook": _register_post_accumulate_grad_hook,
    "retain_grad": _retain_grad,
    "retains_grad": property(_retains_grad, doc="Whether retain_grad() was called."),
    "share_memory_": _itself,
    "to": _to,
    "type": _type,
}

for _name, _method in _METHODS.items():
    setattr(Tensor, _name, _method)
