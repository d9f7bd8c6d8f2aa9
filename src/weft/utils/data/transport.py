"""Send Python objects between processes; large ones through memory that both see.

A message is one packet on a Unix socket. What is small travels in it. What is large is written
to a memory file, of which the packet carries the descriptor: it has no name, so nothing is left
behind when a process dies, and no limit of /dev/shm applies. Tensors and arrays are pickled out of
band: their bytes are copied once, by the sender, and the receiver's tensors lie over them.
"""

from __future__ import annotations

import ctypes
import errno
import io
import mmap
import os
import pickle
import select
import socket
import struct
import weakref
from typing import Any

import numpy as np

from weft import _core
from weft._core import Tensor
from weft._tensor import _rebuild  # pyright: ignore[reportPrivateUsage]

INLINE_BYTES = 16 * 1024
# Below this, copying into memory that the process has is faster than page faults on new memory.
MAPPED_BYTES = 4 * 1024 * 1024
_ALIGNMENT = 64
_LONGEST_WRITE = 512  # buffers a call; the system takes 1024
_LARGE = b"large"  # no blob is so short

_library = ctypes.CDLL(None, use_errno=True)
_library.mmap.restype = ctypes.c_void_p
_library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Closed(Exception):  # noqa: N818 - an end, not an error
    """The other end is gone."""


class _Pickler(pickle.Pickler):
    """Pickles tensors where they lie; what is sent is copied anyhow."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is not Tensor or not obj.is_leaf or obj.__dict__:
            return NotImplemented
        array = _core.array_of(obj.detach())
        return _rebuild, (
            array if array.flags.c_contiguous else array.copy(),
            obj.dtype.name,
            obj.requires_grad,
        )


class Parcel:
    """An object packed for sending: bytes for the packet, or a memory file."""

    def __init__(self, message: Any) -> None:
        buffers: list[pickle.PickleBuffer] = []
        head = io.BytesIO()
        _Pickler(head, protocol=5, buffer_callback=buffers.append).dump(message)
        parts = [head.getbuffer(), *(buffer.raw() for buffer in buffers)]
        lengths = [part.nbytes for part in parts]
        table = struct.pack(f"<{len(parts) + 1}Q", len(parts), *lengths)
        pieces: list[memoryview] = [memoryview(table + bytes(-len(table) % _ALIGNMENT))]
        for part in parts:
            pieces.append(part)
            if part.nbytes % _ALIGNMENT:
                pieces.append(memoryview(bytes(-part.nbytes % _ALIGNMENT)))
        self._file = -1
        if sum(piece.nbytes for piece in pieces) <= INLINE_BYTES:
            self._bytes = b"".join(pieces)
        else:
            self._bytes = _LARGE
            self._file = os.memfd_create("weft-data", os.MFD_CLOEXEC)
            try:
                _write(self._file, pieces)
            except BaseException:
                self.close()
                raise

    def send(self, to: socket.socket) -> None:
        """Send; raises BlockingIOError if the socket does not block and has no room."""
        try:
            if self._file < 0:
                to.send(self._bytes)
            else:
                socket.send_fds(to, [self._bytes], [self._file])
        except (BrokenPipeError, ConnectionResetError):
            raise Closed from None
        self.close()

    def close(self) -> None:
        """Give the memory file back; the receiver has it by then."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _write(file: int, pieces: list[memoryview]) -> None:
    begin = 0
    while begin < len(pieces):
        group = pieces[begin : begin + _LONGEST_WRITE]
        written = os.writev(file, group)
        for piece in group:
            if written < piece.nbytes:
                if written:
                    pieces[begin] = piece[written:]
                break
            written -= piece.nbytes
            begin += 1


def channel() -> tuple[socket.socket, socket.socket]:
    """Return the two ends of a connection that keeps messages apart."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def receive(end: socket.socket) -> memoryview:
    """Take the next message, still packed.

    Raises:
        Closed: If the other end is gone and nothing is left.
        BlockingIOError: If the socket does not block and nothing is there.
    """
    try:
        data, files, _, _ = socket.recv_fds(end, INLINE_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
    except ConnectionResetError:
        raise Closed from None
    if not data:
        raise Closed
    if not files and data == _LARGE:
        raise OSError(errno.EMFILE, "a batch of a worker cannot be opened: too many open files")
    if not files:
        return memoryview(bytearray(data))  # tensors over it can be written
    try:
        size = os.fstat(files[0]).st_size
        return _mapped(files[0], size) if size >= MAPPED_BYTES else _copied(files[0], size)
    finally:
        os.close(files[0])


def unpack(packed: memoryview) -> Any:
    """Return the object that was sent; its tensors lie over the message's memory."""
    (count,) = struct.unpack_from("<Q", packed)
    lengths = struct.unpack_from(f"<{count}Q", packed, 8)
    position = _aligned(8 * (count + 1))
    parts: list[memoryview] = []
    for length in lengths:
        parts.append(packed[position : position + length])
        position += _aligned(length)
    return pickle.loads(parts[0], buffers=parts[1:])


def wait_readable(end: socket.socket, seconds: float) -> bool:
    """Wait until a message or the end is there; tell whether it is."""
    poll = select.poll()
    poll.register(end, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _aligned(length: int) -> int:
    return -(-length // _ALIGNMENT) * _ALIGNMENT


def _copied(file: int, size: int) -> memoryview:
    bytes_read: Any = np.empty(size, np.uint8)  # unlike a bytearray, not zeroed before
    memory = memoryview(bytes_read)
    done = 0
    while done < size:
        done += os.preadv(file, [memory[done:]], done)
    return memory


def _mapped(file: int, size: int) -> memoryview:
    """Map a file, privately; Python's own mmap would keep the descriptor open as long."""
    address = _library.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE, file, 0)
    if address == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot map {size} bytes: {os.strerror(number)}")
    memory: Any = (ctypes.c_ubyte * size).from_address(address)
    # At exit the system unmaps it; tensors may be in use until then.
    weakref.finalize(memory, _library.munmap, address, size).atexit = False
    plain: Any = np.frombuffer(memory, np.uint8)  # of a format that can be cut
    return memoryview(plain)
