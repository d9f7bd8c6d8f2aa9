"""Memory that tensors had is used for others, of any size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft import _core

KILO = 256  # floats


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    weft.empty(1000 * KILO)
    if _core.cached_bytes() == 0:
        pytest.skip("this build keeps nothing, so that a sanitizer sees each tensor's memory")
    _core.release_cached_memory()


def test_one_place_serves_tensors_of_all_sizes():
    largest = 2000 * KILO
    for count in range(20 * KILO, largest, 7 * KILO):
        weft.empty(count)
    assert _core.cached_bytes() <= 1.1 * 4 * largest


def test_neighbours_that_are_free_are_one():
    parts = [weft.zeros(100 * KILO) for _ in range(40)]
    for order in (slice(0, None, 2), slice(0, None)):  # every other one, then those between
        del parts[order]
    kept = _core.cached_bytes()
    assert kept >= 40 * 4 * 100 * KILO
    whole = weft.zeros(3900 * KILO)
    assert _core.cached_bytes() <= kept - 4 * whole.numel()


def test_memory_is_given_back_around_what_is_in_use():
    parts = [weft.full((1000 * KILO,), float(i)) for i in range(40)]
    del parts[::2]
    _core.release_cached_memory()
    assert _core.cached_bytes() == 0
    others = [weft.full((900 * KILO,), -1.0) for _ in range(20)]
    assert [part.unique().tolist() for part in parts] == [[float(i)] for i in range(1, 40, 2)]
    assert all(other.eq(-1).all() for other in others)
    del parts, others
    _core.release_cached_memory()
    assert _core.cached_bytes() == 0


@pytest.mark.parametrize("bytes_", [64, 65, 16_383, 16_384, 16_385, 33_554_432, 33_554_433])
def test_the_sizes_at_which_memory_comes_from_elsewhere(bytes_: int):
    before = _core.live_bytes()
    tensor = weft.ones(bytes_, dtype=weft.uint8)
    other = weft.zeros(bytes_, dtype=weft.uint8)
    assert _core.live_bytes() - before == 2 * bytes_
    assert tensor.sum().item() == bytes_
    assert other.sum().item() == 0


def test_a_large_tensor_may_be_freed_when_the_process_ends(tmp_path: Path):
    script = tmp_path / "ends.py"
    script.write_text(
        """
import threading
import weft

def work():
    with weft.lazy():
        a, b = weft.ones(20000), weft.ones(3)
        n = a.numpy()
        b.tolist()
        q = b * 2
        p = a + 1
        del p
        ready.set()
        threading.Event().wait()

ready = threading.Event()
threading.Thread(target=work, daemon=True).start()
ready.wait()
"""
    )
    process = subprocess.run([sys.executable, str(script)], capture_output=True, check=False)
    assert (process.returncode, process.stderr) == (0, b"")
