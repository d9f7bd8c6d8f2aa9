"""The names in PyTorch's weight files, and the data that each of them stands for."""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from weft._tensor import Size, device
from weft.serialization.elements import BY_NAME, BY_STORAGE
from weft.serialization.errors import LoadError, RefusedError
from weft.serialization.header import checked_sizes
from weft.serialization.kinds import is_exactly, is_key
from weft.serialization.native import checked_steps
from weft.serialization.pickles import Name

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft._core import dtype


@dataclass(frozen=True, slots=True)
class StorageOf:
    """A storage that a file speaks of: `count` elements under a key."""

    key: str
    dtype: dtype
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class TensorOf:
    """A tensor that a file speaks of: a view of a storage."""

    storage: StorageOf
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    requires_grad: bool


def _wrong(name: str) -> LoadError:
    return LoadError(f"the pickle's arguments of {name} are not those of a weight file")


def _tensor(arguments: tuple[Any, ...]) -> TensorOf:
    """Read `_rebuild_tensor`, and `_v2`, which adds requires_grad and hooks (there are none)."""
    padded: tuple[Any, ...] = (*arguments, False, None)
    storage, offset, sizes, steps, requires_grad, hooks = padded[:6]
    fits = is_exactly(storage, StorageOf) and is_exactly(sizes, tuple, Size)
    fits = fits and is_exactly(steps, tuple) and is_exactly(requires_grad, bool)
    if len(arguments) not in (4, 6, 7) or not fits or hooks:
        raise _wrong("_rebuild_tensor_v2")
    storage = cast("StorageOf", storage)
    what = f"a tensor in the storage {storage.key!r:.80}"
    shape = checked_sizes(cast("tuple[Any, ...]", sizes), what)
    stride = checked_steps(cast("tuple[Any, ...]", steps), len(shape), offset, what)
    # Where there is no element, strides and offset say nothing.
    reach = sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
    if 0 not in shape and offset + reach >= storage.count:
        raise LoadError(
            f"{what} reaches element {offset + reach} of {storage.count}: shape {shape}, stride "
            f"{stride}, offset {offset}"
        )
    if requires_grad and not storage.dtype.is_floating_point:
        raise LoadError(f"{what} has a gradient, and its elements are of type {storage.dtype}")
    return TensorOf(storage, offset, shape, stride, requires_grad)


def _parameter(arguments: tuple[Any, ...]) -> TensorOf:
    """Read `_rebuild_parameter(data, requires_grad, hooks)`, also with attributes at the end."""
    if len(arguments) not in (3, 4) or not is_exactly(arguments[0], TensorOf):
        raise _wrong("_rebuild_parameter")
    data = arguments[0]
    if not is_exactly(arguments[1], bool) or arguments[2]:
        raise _wrong("_rebuild_parameter")
    wanted = arguments[1] and data.storage.dtype.is_floating_point
    return TensorOf(data.storage, data.offset, data.shape, data.stride, wanted)


def _typed(arguments: tuple[Any, ...]) -> Any:
    """Read `_rebuild_from_type_v2(function, type, arguments, attributes)` without attributes."""
    function, _, inner, _ = arguments if len(arguments) == 4 else (None,) * 4
    if function not in (_REBUILD_TENSOR, _REBUILD_PARAMETER) or not is_exactly(inner, tuple):
        raise _wrong("_rebuild_from_type_v2")
    return _MEANINGS[cast("Name", function)](cast("tuple[Any, ...]", inner))


def _ordered(arguments: tuple[Any, ...]) -> OrderedDict[Any, Any]:
    made: OrderedDict[Any, Any] = OrderedDict()
    if len(arguments) > 1 or (arguments and not is_exactly(arguments[0], list)):
        raise _wrong("OrderedDict")
    for pair in arguments[0] if arguments else ():
        if not is_exactly(pair, list, tuple) or len(pair) != 2 or not is_key(pair[0]):
            raise _wrong("OrderedDict")
        made[pair[0]] = pair[1]
    return made


def _counter(arguments: tuple[Any, ...]) -> Counter[Any]:
    given: Any = arguments[0] if arguments else {}
    if len(arguments) > 1 or not is_exactly(given, dict):
        raise _wrong("Counter")
    counts = cast("dict[Any, Any]", given)
    if not all(is_exactly(count, int) for count in counts.values()):
        raise _wrong("Counter")
    return Counter(counts)


def _size(arguments: tuple[Any, ...]) -> Size:
    sizes = arguments[0] if len(arguments) == 1 else None
    if not is_exactly(sizes, tuple, list):
        raise _wrong("torch.Size")
    return Size(checked_sizes(cast("tuple[Any, ...]", sizes), "a torch.Size"))


def _device(arguments: tuple[Any, ...]) -> device:
    """Read a device; all of them become the one there is."""
    if not 1 <= len(arguments) <= 2 or not is_exactly(arguments[0], str):
        raise _wrong("torch.device")
    return device("cpu")


def _encoded(arguments: tuple[Any, ...]) -> bytes:
    """Read bytes, which old pickles write as text."""
    if len(arguments) != 2 or not is_exactly(arguments[0], str) or arguments[1] != "latin1":
        raise _wrong("_codecs.encode")
    return arguments[0].encode("latin-1")


def _bytes(arguments: tuple[Any, ...]) -> bytes:
    if arguments:
        raise _wrong("bytes")
    return b""


def _set(arguments: tuple[Any, ...]) -> set[Any]:
    items = arguments[0] if len(arguments) == 1 else None
    if not is_exactly(items, list) or not all(map(is_key, cast("list[Any]", items))):
        raise _wrong("set")
    return set(cast("list[Any]", items))


_REBUILD_TENSOR = Name("torch._utils", "_rebuild_tensor_v2")
_REBUILD_PARAMETER = Name("torch._utils", "_rebuild_parameter")
_MEANINGS: dict[Name, Callable[[tuple[Any, ...]], Any]] = {
    Name("torch._utils", "_rebuild_tensor"): _tensor,
    _REBUILD_TENSOR: _tensor,
    _REBUILD_PARAMETER: _parameter,
    Name("torch._utils", "_rebuild_parameter_with_state"): _parameter,
    Name("torch._tensor", "_rebuild_from_type_v2"): _typed,
    Name("torch", "Size"): _size,
    Name("torch", "device"): _device,
    Name("collections", "OrderedDict"): _ordered,
    Name("collections", "Counter"): _counter,
    Name("_codecs", "encode"): _encoded,
    Name("__builtin__", "bytes"): _bytes,
    Name("__builtin__", "set"): _set,
    Name("builtins", "set"): _set,
}
# Names that are data by themselves, or arguments of others.
_STORAGES: dict[Name, dtype] = {
    Name(module, name): kind
    for module in ("torch", "torch.cuda")
    for name, kind in BY_STORAGE.items()
}
_DTYPES: dict[Name, dtype] = {Name("torch", name): kind for name, kind in BY_NAME.items()}
_TYPES = {
    Name("torch", "Tensor"),
    Name("torch", "_tensor.Tensor"),
    Name("torch._tensor", "Tensor"),
    Name("torch.nn.parameter", "Parameter"),
}
# Tensors that Weft has no kind for.
_LACKING = {
    "_rebuild_tensor_v3": "a tensor of unsigned 16 to 64 bit or 8 bit floating point elements",
    "_rebuild_sparse_tensor": "a sparse tensor",
    "_rebuild_nested_tensor": "a nested tensor",
    "_rebuild_qtensor": "a quantized tensor",
    "_rebuild_meta_tensor_no_storage": "a tensor without memory (of the meta device)",
}
_ELEMENTS = "complex", "Complex", "uint", "UInt", "float8", "float4", "Float8", "Q", "q", "bits"


def known(name: Name) -> Any:
    """Return what a name by itself stands for.

    Raises:
        RefusedError: if it is none that weight files need.
    """
    if name in _MEANINGS or name in _STORAGES or name in _TYPES:
        return name
    if name in _DTYPES:
        return _DTYPES[name]
    if name.module == "torch" and name.name.startswith(_ELEMENTS):
        raise RefusedError(f"the file has elements of the type {name!s:.200}, which Weft lacks")
    if name.module == "torch._utils" and name.name in _LACKING:
        raise RefusedError(f"the file has {_LACKING[name.name]}, which Weft lacks ({name})")
    hint = ""
    if name.module.startswith("numpy"):
        hint = " Save NumPy's values as tensors or plain numbers instead."
    if name.module.startswith("torch.nn.modules") or name.module == "__main__":
        hint = " It seems to hold a whole module; save its state_dict() instead."
    raise RefusedError(
        f"the file asks for {name!s:.200}, which is no data: Weft reads weight files without "
        f"running what they say.{hint}"
    )


def meaning(name: Name, arguments: tuple[Any, ...]) -> Any:
    """Return the data that a name with arguments stands for.

    Raises:
        LoadError: if the name takes no arguments, or not these.
    """
    read = _MEANINGS.get(name)
    if read is None:
        raise RefusedError(f"the file asks for a call of {name!s:.200}, which is no data")
    return read(arguments)


def storage(said: Any) -> StorageOf:
    """Return the storage that a persistent id stands for.

    Raises:
        LoadError: if it stands for none.
    """
    parts: tuple[Any, ...] = said if is_exactly(said, tuple) else ()
    if len(parts) not in (5, 6):
        raise LoadError("the pickle speaks of something outside that is no storage")
    tag, kind, key, _, count = parts[:5]
    view = parts[5] if len(parts) == 6 else None
    if tag != "storage" or not is_exactly(kind, Name) or not is_exactly(key, str, int):
        raise LoadError("the pickle speaks of something outside that is no storage")
    if view is not None:
        raise LoadError("the file has views of storages as PyTorch wrote them before 0.4")
    if kind not in _STORAGES:
        raise RefusedError(f"the file has a storage of the type {kind!s:.200}, which Weft lacks")
    if not is_exactly(count, int) or not 0 <= count < 1 << 62:
        raise LoadError(f"a storage of {count!r:.80} elements")
    return StorageOf(str(key), _STORAGES[kind], count)
