"""A file's name stands for a whole file, old or new, whatever happens."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

import weft
from benchmarks.kill_saves import kill_many, names_in
from weft.serialization.atomic import replacing


def test_kills_leave_whole_files(tmp_path: Path) -> None:
    found = kill_many(tmp_path, 60, elements=50_000)
    assert found["old"] + found["new"] == 60
    assert found["left over"] > 0, "no kill hit a save at work"


def test_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    old = os.umask(0o027)
    try:
        weft.save([1], path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    weft.save([2], path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    assert weft.load(path) == [2]


def test_a_private_file_is_private_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    weft.save([1], path)
    path.chmod(0o600)
    with replacing(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600


def test_a_link_goes_on_pointing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "target"
    link = tmp_path / "link"
    link.symlink_to(target)
    weft.save([1], link)
    weft.save([2], link)
    assert link.is_symlink()
    assert weft.load(target) == [2]
    assert names_in(tmp_path / "folder") == ["target"]


def test_an_error_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    weft.save([1], path)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("weft.serialization.atomic.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        weft.save([2], path)
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert weft.load(path) == [1]
    assert names_in(tmp_path) == ["file"]


def test_bytes_reach_the_disk_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    sync, replace = os.fsync, os.replace

    def noted_sync(descriptor: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def noted_replace(*names: Any) -> None:
        calls.append("rename")
        replace(*names)

    monkeypatch.setattr("weft.serialization.atomic.os.fsync", noted_sync)
    monkeypatch.setattr("weft.serialization.atomic.os.replace", noted_replace)
    weft.save([1], tmp_path / "file")
    assert calls == ["file", "rename", "folder"]


def test_left_overs_go_and_files_at_work_stay(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing(path) as file:
        file.write(b"x")
        (temporary,) = names_in(tmp_path)
        weft.save([1], path)  # another writer of the same name
        assert sorted(names_in(tmp_path)) == sorted([temporary, "file"])
    assert path.read_bytes() == b"x"
    dead = tmp_path / temporary
    dead.write_bytes(b"left over")
    other = tmp_path / ".weft-other.tmp"
    other.write_bytes(b"not ours")
    weft.save([2], path)
    assert not dead.exists()
    assert other.exists()


def test_a_writer_notices_that_its_file_was_taken_for_a_left_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    lock = fcntl.flock
    taken: list[str] = []

    def late_lock(descriptor: int, operation: int) -> None:
        if not taken:
            taken.extend(names_in(tmp_path))
            (tmp_path / taken[0]).unlink()
        lock(descriptor, operation)

    monkeypatch.setattr("weft.serialization.atomic.fcntl.flock", late_lock)
    weft.save([1], path)
    assert len(taken) == 1
    assert weft.load(path) == [1]


def test_many_writers_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "file"
    errors: list[Exception] = []

    def work(number: int) -> None:
        try:
            for _ in range(10):
                weft.save([number] * 3, path)
                found = weft.load(path)
                assert found == [found[0]] * 3
        except Exception as error:  # noqa: BLE001 - any is one too many
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert names_in(tmp_path) == ["file"]


def test_long_names(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    weft.save([1], path)
    assert weft.load(path) == [1]


def test_in_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    weft.save([1], "file")
    assert weft.load("file") == [1]


def test_a_folder_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        weft.save([1], tmp_path)
