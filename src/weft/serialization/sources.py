"""Bytes that lie in a file, a mapped file or a file object, read piece by piece."""

from __future__ import annotations

import io
import mmap as memory_map
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from weft.serialization.errors import LoadError

if TYPE_CHECKING:
    from collections.abc import Generator

    import numpy as np

PathLike = str | bytes | os.PathLike[Any]


class Source:
    """A stretch of bytes with a known length.

    Args:
        file: an open binary file that can seek.
        start: where the stretch begins in the file.
        size: how many bytes there are.
        name: what error messages call it.
        mapped: the file's memory, if it is mapped.
    """

    def __init__(
        self,
        file: BinaryIO,
        start: int,
        size: int,
        name: str,
        mapped: np.ndarray[Any, Any] | None = None,
    ) -> None:
        self._file = file
        self._start = start
        self.size = size
        self.name = name
        self.mapped = mapped

    def _check(self, offset: int, count: int) -> None:
        if offset < 0 or count < 0 or offset + count > self.size:
            raise LoadError(
                f"{self.name}: the file is cut short: it has {self.size} bytes, and bytes "
                f"{offset} to {offset + count} are asked for"
            )

    def read(self, offset: int, count: int) -> bytes:
        """Return a copy of some bytes."""
        self._check(offset, count)
        if self.mapped is not None:
            return self.mapped[offset : offset + count].tobytes()
        self._file.seek(self._start + offset)
        pieces: list[bytes] = []
        missing = count
        while missing > 0:
            piece = self._file.read(missing)
            if not isinstance(cast("Any", piece), bytes):
                raise TypeError("load(): the file must be open in binary mode")
            if not piece:
                raise LoadError(f"{self.name}: the file became shorter while it was read")
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def fill(self, offset: int, target: memoryview) -> None:
        """Read as many bytes as the target has room for into it."""
        self._check(offset, len(target))
        readinto = getattr(self._file, "readinto", None)
        if readinto is None:
            target[:] = self.read(offset, len(target))
            return
        self._file.seek(self._start + offset)
        done = 0
        while done < len(target):
            count = cast("int", readinto(target[done:]))
            if not count:
                raise LoadError(f"{self.name}: the file became shorter while it was read")
            done += count

    def leave_at(self, offset: int) -> None:
        """Let the file object go on after what was read."""
        self._file.seek(self._start + offset)


@contextmanager
def opened(f: Any, use_map: bool) -> Generator[Source]:
    """Open what the user gave to `load`: a path or a file object."""
    if isinstance(f, str | bytes | os.PathLike):
        path = cast("PathLike", f)
        with open(path, "rb") as file:  # noqa: PTH123 - bytes are no argument of Path
            size = os.fstat(file.fileno()).st_size
            mapped = _mapped(file) if use_map and size else None
            yield Source(file, 0, size, repr(os.fsdecode(path)), mapped)
        return
    if not hasattr(f, "read"):
        raise TypeError(f"load(): expected a path or an open binary file, not a {type(f).__name__}")
    if use_map:
        raise ValueError("load(): mmap=True needs the path of a file, not an open file")
    file = cast("BinaryIO", f if _can_seek(f) else io.BytesIO(_all_of(f)))
    start = file.tell()
    size = file.seek(0, os.SEEK_END) - start
    file.seek(start)
    yield Source(file, start, size, f"the {type(f).__name__}")


def _mapped(file: BinaryIO) -> np.ndarray[Any, Any]:
    """Map a file privately: what is written to the memory does not reach the file."""
    import numpy as np  # noqa: PLC0415 - as in the rest of the package: only where it is needed

    return np.frombuffer(
        memory_map.mmap(file.fileno(), 0, access=memory_map.ACCESS_COPY), dtype=np.uint8
    )


def _can_seek(f: Any) -> bool:
    seekable = getattr(f, "seekable", None)
    return hasattr(f, "seek") and hasattr(f, "tell") and (seekable is None or bool(seekable()))


def _all_of(f: Any) -> bytes:
    data = f.read()
    if not isinstance(data, bytes):
        raise TypeError("load(): the file must be open in binary mode")
    return data
