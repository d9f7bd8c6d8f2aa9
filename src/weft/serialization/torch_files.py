"""PyTorch's weight files: a zip of a pickle and one record a storage, or the older plain file."""

from __future__ import annotations

import struct
import zipfile
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Protocol, cast

from weft.autograd import no_grad
from weft.serialization.errors import LoadError, RefusedError
from weft.serialization.kinds import is_exactly
from weft.serialization.memory import read_tensor, view_of
from weft.serialization.pickles import Name, Reader, children_of
from weft.serialization.torch_names import StorageOf, TensorOf, known, meaning, storage

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft._core import Tensor
    from weft.serialization.sources import Source

ZIP_START = b"PK\x03\x04"
# How the plain file begins: protocol 2, a number of ten bytes.
LEGACY_START = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"
_LARGEST_PICKLE = 1 << 30
_MOST_RECORDS = 2_000_000
_LARGEST_DIRECTORY = 1 << 28
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")


class _Range(Protocol):
    """Where something lies: offset and number of bytes."""

    def __call__(self, storage: StorageOf, /) -> tuple[int, int]: ...


def _reader(data: bytes, where: str) -> Reader:
    storages: dict[str, StorageOf] = {}

    def persistent(said: Any) -> StorageOf:
        found = storage(said)
        if storages.setdefault(found.key, found) != found:
            raise LoadError(f"{where}: the storage {found.key!r:.80} has two types or sizes")
        return found

    return Reader(data, where, known, meaning, persistent)


# ---- the zip -----------------------------------------------------------------------------------


class _Positioned:
    """A source as the file object that zipfile expects."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._source.size)[whence])
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, count: int = -1) -> bytes:
        left = max(0, self._source.size - self._at)
        count = left if count < 0 else min(count, left)
        if count > _LARGEST_DIRECTORY:
            raise LoadError(f"{self._source.name}: the directory of the zip is too large")
        data = self._source.read(self._at, count)
        self._at += count
        return data

    def seekable(self) -> bool:
        return True


class _Records:
    """The records of a zip, none of them compressed, none of them over another."""

    def __init__(self, source: Source) -> None:
        self._source = source
        try:
            with zipfile.ZipFile(cast("Any", _Positioned(source))) as archive:
                found = archive.infolist()
        except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError) as error:
            if isinstance(error, LoadError):
                raise
            raise LoadError(f"{source.name}: the zip is damaged or cut short: {error}") from None
        if len(found) > _MOST_RECORDS:
            raise LoadError(f"{source.name}: the zip has {len(found)} records")
        self._prefix = self._folder([info.filename for info in found])
        self._ranges: dict[str, tuple[int, int]] = {}
        for info in found:
            if info.filename in self._ranges:
                raise LoadError(f"{source.name}: the record {info.filename!r:.200} occurs twice")
            self._ranges[info.filename] = self._located(info)
        self._check_apart()

    def _located(self, info: zipfile.ZipInfo) -> tuple[int, int]:
        what = f"{self._source.name}: the record {info.filename!r:.200}"
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise LoadError(f"{what} is compressed; weight files are not")
        if info.flag_bits & 0x1:
            raise LoadError(f"{what} is encrypted")
        head = _LOCAL_HEADER.unpack(self._source.read(info.header_offset, _LOCAL_HEADER.size))
        if head[0] != ZIP_START:
            raise LoadError(f"{what} does not lie where the directory says")
        begin = info.header_offset + _LOCAL_HEADER.size + head[9] + head[10]
        if begin + info.file_size > self._source.size:
            raise LoadError(f"{what} is cut short")
        return begin, info.file_size

    def _check_apart(self) -> None:
        end = 0
        for name, (begin, size) in sorted(self._ranges.items(), key=lambda pair: pair[1]):
            if begin < end:
                raise LoadError(f"{self._source.name}: the record {name!r:.200} overlaps another")
            end = begin + size

    def _folder(self, names: list[str]) -> str:
        """Return the folder that a weight file's records lie in."""
        pickles = [name for name in names if name.endswith("/data.pkl")]
        if len(pickles) != 1 or pickles[0].count("/") != 1:
            raise LoadError(f"{self._source.name}: this zip is no weight file of PyTorch's")
        folder = pickles[0].removesuffix("data.pkl")
        if f"{folder}constants.pkl" in names:
            raise LoadError(
                f"{self._source.name}: this is a TorchScript program, not a file of weights; "
                "save its state_dict() instead"
            )
        return folder

    def text(self, name: str, most: int) -> bytes:
        """Return the bytes of a small record; none if it is not there."""
        begin, size = self._ranges.get(self._prefix + name, (0, 0))
        if size > most:
            raise LoadError(f"{self._source.name}: the record {name!r} has {size} bytes")
        return self._source.read(begin, size)

    def place_of(self, storage: StorageOf) -> tuple[int, int]:
        """Return where a storage's bytes lie."""
        found = self._ranges.get(f"{self._prefix}data/{storage.key}")
        if found is None:
            raise LoadError(f"{self._source.name}: there is no storage {storage.key!r:.80}")
        return found


def read_zip(source: Source) -> Any:
    """Read a file that `torch.save` wrote.

    Raises:
        RefusedError: if it asks for something that is no data.
        LoadError: if it is damaged.
    """
    records = _Records(source)
    if records.text("byteorder", 100).strip() == b"big":
        raise LoadError(f"{source.name}: the file is of a big-endian machine")
    reader = _reader(records.text("data.pkl", _LARGEST_PICKLE), source.name)
    tree = _named(reader.read, source)
    return _Builder(source, records.place_of).build(tree)


# ---- the plain file ----------------------------------------------------------------------------


def read_legacy(source: Source) -> Any:
    """Read a file that `torch.save` wrote before PyTorch 1.6.

    Raises:
        RefusedError: if it asks for something that is no data.
        LoadError: if it is damaged.
    """
    # How long the pickles are is known when they are read; storages follow after them.
    data = source.read(0, min(source.size, _LARGEST_PICKLE))
    reader = _reader(data, source.name)
    _, version, machine = (_named(reader.read, source) for _ in range(3))
    if version != 1001 or not is_exactly(machine, dict) or not machine.get("little_endian"):
        raise LoadError(f"{source.name}: a version of PyTorch's format that Weft does not know")
    tree = _named(reader.read, source)
    keys = _named(reader.read, source)
    if not isinstance(keys, list):
        raise LoadError(f"{source.name}: the list of storages is damaged")
    at = reader.position
    del data, reader
    sizes = {item.storage.key: item.storage for item in _tensors_in(tree)}
    places: dict[str, tuple[int, int]] = {}
    for key in map(str, cast("list[Any]", keys)):
        if key in places or key not in sizes:
            raise LoadError(f"{source.name}: the storage {key!r:.80} is twice there or unused")
        count = int.from_bytes(source.read(at, 8), "little", signed=True)
        if count != sizes[key].count:
            raise LoadError(f"{source.name}: the storage {key!r:.80} has another size than said")
        places[key] = (at + 8, count * sizes[key].dtype.itemsize)
        at += 8 + places[key][1]
    if at > source.size:
        raise LoadError(f"{source.name}: the file is cut short")

    def place_of(storage: StorageOf) -> tuple[int, int]:
        if storage.key not in places:
            raise LoadError(f"{source.name}: there is no storage {storage.key!r:.80}")
        return places[storage.key]

    source.leave_at(at)
    return _Builder(source, place_of).build(tree)


def _named(read: Callable[[], Any], source: Source) -> Any:
    """Run a read; its complaints name the file."""
    try:
        return read()
    except LoadError as error:
        if str(error).startswith(source.name):
            raise
        raise type(error)(f"{source.name}: {error}") from None


# ---- tensors -----------------------------------------------------------------------------------


def _tensors_in(tree: Any) -> list[TensorOf]:
    found: list[TensorOf] = []
    seen: set[int] = set()
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        if isinstance(value, TensorOf):
            found.append(value)
        elif isinstance(value, dict | list | tuple) and id(cast("Any", value)) not in seen:
            seen.add(id(cast("Any", value)))
            waiting.extend(children_of(value) or ())
    return found


class _Builder:
    """Puts tensors where a tree speaks of them; what is shared stays shared."""

    def __init__(self, source: Source, place_of: _Range) -> None:
        self._source = source
        self._place_of = place_of
        self._storages: dict[str, Tensor] = {}
        self._done: dict[int, Any] = {}

    def build(self, tree: Any) -> Any:
        """Return the tree with tensors in it."""
        # Everything is looked at before anything is read.
        for item in _tensors_in(tree):
            _, size = self._place_of(item.storage)
            if size != item.storage.count * item.storage.dtype.itemsize:
                raise LoadError(
                    f"{self._source.name}: the storage {item.storage.key!r:.80} has {size} bytes "
                    f"and should have {item.storage.count} elements"
                )
        with no_grad():
            return self._built(tree)

    def _built(self, value: Any) -> Any:
        """Replace what lies in a container; the same object gives the same object again."""
        if isinstance(value, Name | StorageOf):
            what = "a storage without a tensor" if isinstance(value, StorageOf) else str(value)
            raise RefusedError(f"{self._source.name}: the file holds {what:.200}, which is no data")
        if not isinstance(value, TensorOf | dict | list | tuple):
            return value
        number = id(cast("Any", value))
        if number not in self._done:
            self._done[number] = self._made(cast("Any", value))
        return self._done[number]

    def _made(self, value: Any) -> Any:
        if isinstance(value, TensorOf):
            return self._tensor(value)
        if is_exactly(value, tuple):
            return tuple(self._built(item) for item in cast("tuple[Any, ...]", value))
        if is_exactly(value, list):
            return [self._built(item) for item in cast("list[Any]", value)]
        if is_exactly(value, dict, OrderedDict):
            made = type(value)()
            for key, item in cast("dict[Any, Any]", value).items():
                made[key] = self._built(item)
            return made
        return value  # Size and Counter hold numbers

    def _tensor(self, said: TensorOf) -> Tensor:
        what = f"{self._source.name}: a tensor in the storage {said.storage.key!r:.80}"
        base = self._storages.get(said.storage.key)
        if base is None:
            offset, _ = self._place_of(said.storage)
            base = self._storages[said.storage.key] = read_tensor(
                self._source, offset, said.storage.dtype, (said.storage.count,), what
            )
        offset = said.offset if 0 not in said.shape else 0
        made = view_of(base, said.storage.dtype, said.shape, said.stride, offset, what)
        if said.requires_grad:
            made.requires_grad = True
        return made
