"""Writing a file so that at each moment its name stands for a whole file, the old or the new.

The new bytes go to a temporary file in the same folder, down to the disk, and then take over the
name in one step. A process that is killed on the way leaves its temporary file behind; writers
hold a lock on theirs, so the next save can tell a left-over from one at work and removes it.
"""

# Descriptors all over; pathlib has no place for them.
# ruff: noqa: PTH105, PTH108, PTH116, PTH118, PTH123

from __future__ import annotations

import fcntl
import os
import stat
import zlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Generator

    from weft.serialization.sources import PathLike


@contextmanager
def replacing(path: PathLike) -> Generator[BinaryIO]:
    """Open a file for writing that takes the place of `path` when the block ends well.

    Permissions of the old file stay, and a symbolic link goes on pointing at what it points at.
    What is no regular file (a pipe, a device) is written as it is.
    """
    target = os.path.realpath(os.fsdecode(path))
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(target, "wb") as file:  # a folder raises its own error
            yield file
        return
    folder, name = os.path.split(target)
    prefix = f".weft-{zlib.crc32(os.fsencode(name)):08x}-"
    _remove_left_overs(folder, prefix)
    descriptor, temporary = _create(folder, prefix, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb", buffering=1 << 20) as file:
            yield file
            file.flush()
            if old is not None:
                _keep_rights(descriptor, old)
            os.fsync(descriptor)
            os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _create(folder: str, prefix: str, mode: int) -> tuple[int, str]:
    """Create a new file and lock it; another process may just have taken it for a left-over."""
    while True:
        temporary = os.path.join(folder, f"{prefix}{os.urandom(6).hex()}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, mode)  # less what the umask takes
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor, temporary
        os.close(descriptor)


def _keep_rights(descriptor: int, old: os.stat_result) -> None:
    """Give a new file the owner, group and permissions of the old one, as far as allowed."""
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _remove_left_overs(folder: str, prefix: str) -> None:
    """Remove temporary files whose writers are gone."""
    with suppress(OSError), os.scandir(folder) as entries:
        names = [entry.path for entry in entries if entry.name.startswith(prefix)]
        for path in names:
            with suppress(OSError):
                _remove_unlocked(path)


def _remove_unlocked(path: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if somebody writes it
        os.unlink(path)
    finally:
        os.close(descriptor)


def _sync_folder(folder: str) -> None:
    """Bring the new name to the disk."""
    descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # some file systems cannot
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
