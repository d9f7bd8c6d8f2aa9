"""`weft.save` and `weft.load`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from weft._tensor import device
from weft.serialization.atomic import replacing
from weft.serialization.errors import LoadError
from weft.serialization.header import looks_like_head
from weft.serialization.native import Prepared, read_safetensors
from weft.serialization.sources import opened
from weft.serialization.torch_files import LEGACY_START, ZIP_START, read_legacy, read_zip

if TYPE_CHECKING:
    from weft.serialization.sources import PathLike, Source


def save(
    obj: Any,
    f: PathLike | Any,
    pickle_module: Any = None,
    pickle_protocol: int = 2,  # noqa: ARG001 - PyTorch's signature; there is no pickle
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save an object: tensors, and dicts, lists, tuples, numbers and texts around them.

    The file is a safetensors file. A dict of tensors is read by every library that knows the
    format; anything more nested is described in the file's metadata, and other libraries see
    its tensors under dotted names. Tensors that share memory are written once and share it again.

    A file is replaced in one step: whatever happens on the way, its name stands for the whole
    old file or the whole new one.

    Args:
        obj: what to save: numbers, texts, bytes, None, tensors, NumPy's arrays and numbers, dtypes,
            Sizes, and dicts, OrderedDicts, Counters, lists, tuples and sets of these.
        f: a path, or an object with `write`, such as `io.BytesIO`.
        pickle_module: must be None: nothing is pickled.
        pickle_protocol: changes nothing, as the other two arguments of PyTorch's.

    Raises:
        SaveError: a TypeError, if something in it cannot be saved; it says where.

    Example:
        >>> import io, weft
        >>> file = io.BytesIO()
        >>> weft.save({"weights": weft.ones(2), "epoch": 3}, file)
        >>> _ = file.seek(0)
        >>> weft.load(file)
        {'weights': tensor([1., 1.]), 'epoch': 3}
    """
    if pickle_module is not None:
        raise ValueError("save(): pickle_module must be None: Weft does not pickle")
    is_path = isinstance(f, str | bytes | os.PathLike)
    if not is_path and not hasattr(f, "write"):
        raise TypeError(f"save(): expected a path or an open file, not a {type(f).__name__}")
    prepared = Prepared(obj)  # before the file is touched
    if is_path:
        with replacing(cast("PathLike", f)) as file:
            prepared.write(file)
    else:
        prepared.write(f)


def load(
    f: PathLike | Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,  # noqa: ARG001 - there is no other way to load
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load what `save` saved, a safetensors file of another library, or PyTorch's weight file.

    No file makes this run code: PyTorch's files are read as data, and one that asks for anything
    but tensors, numbers, texts and containers is refused with the name of what it asks for.

    Args:
        f: a path, or an object with `read`, such as `io.BytesIO`.
        map_location: where tensors go: only the CPU so far. Of a dict the values count; a function
            is not called.
        pickle_module: must be None: nothing is unpickled.
        weights_only: changes nothing: there is no other way.
        mmap: True reads tensors from the file when they are first used. They can be written; the
            file does not change. The file must not be made shorter meanwhile; `save` never does.
        pickle_load_args: PyTorch's other arguments, such as `encoding`; they change nothing.

    Returns:
        The object; of another library's safetensors file a dict of tensors by name. Parameters come
        back as tensors that require a gradient.

    Raises:
        RefusedError: a LoadError, if the file asks for something that is no data.
        LoadError: a ValueError, if the file is damaged or of an unknown format.

    Example:
        >>> import io, weft
        >>> file = io.BytesIO()
        >>> weft.save([weft.zeros(1), (None, True)], file)
        >>> _ = file.seek(0)
        >>> weft.load(file)
        [tensor([0.]), (None, True)]
    """
    if pickle_module is not None:
        raise ValueError("load(): pickle_module must be None: Weft does not unpickle")
    unknown = set(pickle_load_args) - {"encoding", "errors", "fix_imports", "buffers"}
    if unknown:
        raise TypeError(f"load(): unknown arguments {', '.join(sorted(unknown))}")
    _check_places(map_location)
    with opened(f, use_map=bool(mmap)) as source:
        return _read(source, exact=isinstance(f, str | bytes | os.PathLike))


def _read(source: Source, exact: bool) -> Any:
    first = source.read(0, min(source.size, 16))
    if looks_like_head(first):
        return read_safetensors(source, exact)
    if first.startswith(ZIP_START):
        return read_zip(source)
    if first.startswith(LEGACY_START):
        return read_legacy(source)
    if not first:
        raise LoadError(f"{source.name}: there is nothing to read (has the file been rewound?)")
    raise LoadError(
        f"{source.name}: neither a safetensors file nor a weight file of PyTorch's; it begins "
        f"with {first!r}"
    )


def _check_places(places: Any) -> None:
    """Check that everything is to go to the CPU."""
    if isinstance(places, dict):
        for place in cast("dict[Any, Any]", places).values():
            device(place)
    elif places is not None and not callable(places):
        device(places)
