"""Worker processes: order, errors, deaths, and what is left behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from multiprocessing import resource_tracker
from typing import Any

import pytest

import weft
from tests.utils.data import planted
from tests.utils.data.planted import Informed, Squares, Stream, Trap
from weft.utils.data import DataLoader

METHODS = ("fork", "spawn")


@pytest.fixture(scope="module", autouse=True)
def tracked() -> None:
    """Start multiprocessing's tracker, whose descriptor stays open, before any are counted."""
    resource_tracker.ensure_running()


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No test leaves a process or a descriptor behind."""
    before = planted.files()
    yield
    # Collects first what an exception and its frames keep.
    assert planted.files() == before
    assert planted.children() == set()


def numbers(loader: DataLoader[Any]) -> list[Any]:
    return [index.tolist() for _, index in loader]


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_order_does_not_depend_on_workers(workers: int) -> None:
    def run(count: int) -> list[Any]:
        weft.manual_seed(4)
        loader = DataLoader(Squares(), 3, shuffle=True, num_workers=count)
        return [numbers(loader), numbers(loader), weft.rand(2).tolist()]

    assert run(workers) == run(0)


def test_order_does_not_depend_on_speed() -> None:
    data = Trap(0, partial(time.sleep, 0.3), 12)
    assert numbers(DataLoader(data, 2, num_workers=3)) == numbers(DataLoader(data, 2))
    data = Trap(0, partial(time.sleep, 3.0), 12)  # longer than a worker takes to start
    found = numbers(DataLoader(data, 2, num_workers=3, in_order=False))
    assert sorted(found) == [[at, at + 1] for at in range(0, 12, 2)]
    assert found[0] != [0, 1]


@pytest.mark.parametrize("method", METHODS)
def test_start_methods(method: str) -> None:
    loader = DataLoader(
        Squares(6, 50_000), 2, num_workers=2, multiprocessing_context=method, shuffle=True
    )
    for x, index in loader:
        assert weft.equal(x[:, 0], index.to(weft.float32))
        assert weft.equal(x, x[:, :1].expand_as(x))


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_know_themselves(persistent: bool) -> None:
    loader = DataLoader(
        Informed(), None, num_workers=2, persistent_workers=persistent, shuffle=False
    )
    first, second = list(loader), list(loader)
    assert [row[0] for row in first] == [0, 1] * 3
    assert {row[1] for row in first} == {2}
    assert first[1][2] == first[0][2] + 1  # seeds
    assert len({row[4] for row in first + second}) == 12  # random numbers
    pids = {row[3] for row in first} | {row[3] for row in second}
    assert len(pids) == (2 if persistent else 4)
    assert os.getpid() not in pids


def test_seed_decides_what_workers_draw() -> None:
    def run() -> list[float]:
        weft.manual_seed(9)
        return [row[4] for row in DataLoader(Informed(), None, num_workers=2)]

    assert run() == run()


def test_worker_init_fn() -> None:
    def begin(worker: int) -> None:
        weft.manual_seed(100 + worker)

    rows = list(DataLoader(Informed(), None, num_workers=2, worker_init_fn=begin))
    weft.manual_seed(101)
    assert rows[1][4] == weft.rand(()).item()

    def fail(worker: int) -> None:
        raise ValueError(f"no worker {worker}")

    with pytest.raises(ValueError, match="no worker 0"):
        list(DataLoader(Informed(), None, num_workers=2, worker_init_fn=fail))


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_streams(workers: int) -> None:
    shared = DataLoader(Stream(10), 2, num_workers=workers)
    first, second = ([batch.tolist() for batch in shared] for _ in range(2))
    assert sorted(x for batch in first for x in batch) == list(range(10))
    assert first == second
    whole = DataLoader(Stream(3, shared=False), None, num_workers=workers)
    assert sorted(whole) == sorted([0, 1, 2] * workers)


def test_persistent_streams_begin_again() -> None:
    loader = DataLoader(Stream(7), 2, num_workers=2, persistent_workers=True)
    epochs = [[batch.tolist() for batch in loader] for _ in range(3)]
    assert epochs[0] == epochs[1] == epochs[2]
    assert sorted(x for batch in epochs[0] for x in batch) == list(range(7))


def test_breaking_off_and_beginning_again() -> None:
    loader = DataLoader(Squares(), 2, num_workers=2, persistent_workers=True, prefetch_factor=4)
    for stop in (0, 1, 5):
        for place, (_, index) in enumerate(loader):
            assert index.tolist() == [2 * place, 2 * place + 1]
            if place == stop:
                break
    assert numbers(loader) == numbers(DataLoader(Squares(), 2))


def test_dropping_a_loader_ends_persistent_workers() -> None:
    gc.disable()  # nothing waits for it
    try:
        loader = DataLoader(Squares(), num_workers=2, persistent_workers=True)
        assert len(list(loader)) == 20
        assert len(planted.children()) == 2
        del loader
        assert planted.children() == set()
    finally:
        gc.enable()


def test_early_break_leaves_nothing() -> None:
    before = planted.files()
    for _ in range(3):
        for batch in DataLoader(Squares(100, 100_000), 16, num_workers=2):
            assert batch[1][0].item() == 0
            break
        assert not planted.children()
        assert planted.files() == before  # with the batch still held


def test_a_slow_worker_does_not_hold_up_a_break() -> None:
    begin = time.monotonic()
    for _ in DataLoader(Trap(3, planted.sleep), 1, num_workers=2):
        break
    assert time.monotonic() - begin < 50  # it sleeps for 60
    assert not planted.children()


@pytest.mark.parametrize("method", METHODS)
def test_errors_bring_the_traceback_and_the_item(method: str) -> None:
    loader = DataLoader(Trap(7, planted.fail), 2, num_workers=2, multiprocessing_context=method)
    iterator = iter(loader)
    assert [next(iterator)[1].tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(KeyError) as caught:
        next(iterator)
    text = str(caught.value)
    assert "Caught KeyError in DataLoader worker process 1" in text
    assert "batch 3, items [6, 7]" in text
    assert "Original Traceback" in text
    assert 'raise KeyError("planted")' in text
    assert "for item 7" in text
    # The next batches come as if nothing had been.
    assert next(iterator)[1].tolist() == [8, 9]


def test_errors_of_odd_types() -> None:
    with pytest.raises(RuntimeError, match="Caught OddError in DataLoader worker process 0"):
        list(DataLoader(Trap(0, planted.fail_oddly), 2, num_workers=1))


def test_what_cannot_be_sent() -> None:
    loader = DataLoader([1, 2], num_workers=1, collate_fn=lambda batch: lambda: batch)
    with pytest.raises(Exception, match="could not be sent"):
        list(loader)


DEATHS = {
    "kill": (planted.kill, "was killed by signal 9, SIGKILL"),
    "crash": (planted.crash, "was killed by signal 11, SIGSEGV"),
    "leave": (planted.leave, "exited unexpectedly with exit code 3"),
    "leave_at_once": (planted.leave_at_once, "exited unexpectedly with exit code 7"),
}


@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("method", METHODS)
def test_a_death_is_an_error_that_names_it(method: str, death: str) -> None:
    act, how = DEATHS[death]
    seen = []
    begin = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        for _, index in DataLoader(Trap(6, act), 2, num_workers=2, multiprocessing_context=method):
            seen.append(index.tolist())
    assert seen == [[0, 1], [2, 3], [4, 5]]
    assert "DataLoader worker 1 (pid " in str(caught.value)
    assert how in str(caught.value)
    assert "while it fetched batch 3, items [6, 7]" in str(caught.value)
    assert time.monotonic() - begin < 100


def test_death_while_nobody_waits() -> None:
    loader = DataLoader(Squares(), 2, num_workers=2, persistent_workers=True)
    assert len(list(loader)) == 10
    for pid in planted.children():
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=r"worker 0 .*SIGKILL"):
        list(loader)
    assert len(list(loader)) == 10  # with new workers


def test_death_at_the_start() -> None:
    with pytest.raises(RuntimeError, match=r"worker 0 .*exit code 3"):
        list(DataLoader(Squares(), num_workers=1, worker_init_fn=lambda worker: sys.exit(3)))


def test_timeout() -> None:
    iterator = iter(DataLoader(Trap(1, planted.sleep), 1, num_workers=1, timeout=4))
    assert next(iterator)[1].tolist() == [0]
    with pytest.raises(RuntimeError, match=r"timed out after 4 seconds: worker 0 .* batch 1"):
        next(iterator)


def test_large_requests_and_results_do_not_block_each_other() -> None:
    rows = [list(range(3000))] * 40
    loader = DataLoader(
        range(3000), batch_sampler=rows, num_workers=2, prefetch_factor=20, collate_fn=list
    )
    assert list(loader) == rows
    many = DataLoader(range(2000), None, num_workers=1, prefetch_factor=1500)
    assert list(many) == list(range(2000))


def test_large_batches_are_the_callers_own() -> None:
    kept = [x for x, _ in DataLoader(Squares(24, 200_000), 8, num_workers=2)]
    for x in kept:
        x.add_(1)
    assert [x[0, -1].item() for x in kept] == [1, 9, 17]


def test_modes_stay_outside() -> None:
    with weft.no_grad(), weft.lazy():
        found = numbers(DataLoader(Squares(), 4, num_workers=2))
    assert found == numbers(DataLoader(Squares(), 4))


def test_loaders_side_by_side() -> None:
    first = iter(DataLoader(Squares(), 2, num_workers=2))
    second = iter(DataLoader(Squares(), 2, num_workers=2))
    for a, b in zip(first, second, strict=True):
        assert a[1].tolist() == b[1].tolist()


PROGRAM = """
import os, sys, time
from weft.utils.data import DataLoader
class Slow:
    def __len__(self): return 100
    def __getitem__(self, index):
        os.write(1, b"%d\\n" % os.getpid())  # in one piece
        time.sleep(index / 5)
        return index
if __name__ == "__main__":
    for batch in DataLoader(Slow(), num_workers=2):
        {body}
"""


def _started(body: str) -> tuple[subprocess.Popen[str], set[int]]:
    """Run a program in a process group of its own until its workers work."""
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("{body}", body)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        # In the background a shell lets programs ignore Ctrl-C, and their children too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    assert program.stdout is not None
    workers: set[int] = set()
    while len(workers) < 2:
        workers.add(int(program.stdout.readline()))
    return program, workers


def _are_gone(pids: set[int], seconds: float = 60) -> bool:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if not any(os.path.exists(f"/proc/{pid}") for pid in pids):  # noqa: PTH110
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("body", ["pass", "time.sleep(1)"])
def test_interrupting(body: str) -> None:
    program, workers = _started(body)
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does
    _, errors = program.communicate(timeout=120)
    assert program.returncode in (1, -signal.SIGINT)
    assert errors.count("Traceback") == 1
    assert "KeyboardInterrupt" in errors
    assert _are_gone(workers)


def test_workers_do_not_outlive_their_parent() -> None:
    program, workers = _started("pass")
    program.kill()
    program.communicate(timeout=120)
    assert _are_gone(workers)


def test_an_iterator_at_exit_is_ended() -> None:
    begun = "it = iter(DataLoader(Slow(), num_workers=2)); next(it), next(it); sys.exit(5)"
    program, workers = _started(begun)
    _, errors = program.communicate(timeout=120)
    assert (program.returncode, errors) == (5, "")
    assert _are_gone(workers)
