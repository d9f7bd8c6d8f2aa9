"""Long chains, many steps, threads and forks."""

from __future__ import annotations

import gc
import os
import random
import threading
from pathlib import Path

import pytest

import weft
from weft import Tensor


def resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


def test_a_chain_of_a_million_ops() -> None:
    gc.collect()
    before = weft._core.live_nodes()
    x = weft.ones(1, requires_grad=True)
    y = x
    for _ in range(500_000):
        y = y * 1.0
        y = y + 0.0
    assert weft._core.live_nodes() >= before + 1_000_000
    y.sum().backward()
    assert x.grad.tolist() == [1]
    del x, y
    assert weft._core.live_nodes() == before


def test_a_chain_of_a_million_ops_frees_without_backward() -> None:
    gc.collect()
    before = weft._core.live_nodes()
    y = weft.ones(1, requires_grad=True)
    for _ in range(1_000_000):
        y = y.sin()
    del y
    assert weft._core.live_nodes() == before


def test_a_long_chain_of_views_and_in_place_ops() -> None:
    gc.collect()
    before = weft._core.live_nodes()
    x = weft.ones(2, requires_grad=True)
    y = x * 1
    for _ in range(20_000):
        y[0].mul_(1)
        y.view(2).add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    del x, y
    assert weft._core.live_nodes() == before


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_long_chain_of_views(requires_grad: bool) -> None:
    gc.collect()
    before = weft._core.live_nodes()
    x = weft.ones(2, requires_grad=requires_grad)
    y = x
    for _ in range(300_000):
        y = y.view(2)
    assert y._base is x
    if requires_grad:
        y.sum().backward()
        assert x.grad.tolist() == [1, 1]
    del x, y
    assert weft._core.live_nodes() == before


def test_a_long_second_derivative() -> None:
    gc.collect()
    before = weft._core.live_nodes()
    x = weft.ones(1, dtype=weft.float64, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y * x
    (first,) = weft.autograd.grad(y.sum(), x, create_graph=True)
    assert first.item() == 20_001
    (second,) = weft.autograd.grad(first.sum(), x)
    assert second.item() == 20_001 * 20_000
    del x, y, first, second
    assert weft._core.live_nodes() == before


def step(chooser: random.Random, weight: Tensor) -> None:
    """Record another graph each time, and drop it in one way or another."""
    x = weight
    for _ in range(chooser.randrange(2, 12)):
        kind = chooser.randrange(6)
        if kind == 0:
            x = x * weight
        elif kind == 1:
            x = x.tanh() + x
        elif kind == 2:
            x = weft.stack([x, weight]).sum(0)
        elif kind == 3:
            x = x.view(2, 4).t().reshape(8)
        elif kind == 4:
            x = x.clone()
            x[1:3] = weight[:2] * 2
        else:
            x = weft.where(x > 0, x, weight * 0.5)
    loss = (x * x).mean()
    way = chooser.randrange(3)
    if way == 0:
        loss.backward()
    elif way == 1:
        (gradient,) = weft.autograd.grad(loss, weight, create_graph=True)
        gradient.sum().backward()


def test_ten_thousand_different_graphs_leave_nothing() -> None:
    chooser = random.Random(0)
    weight = weft.linspace(-1, 1, 8).requires_grad_()
    for _ in range(1000):
        step(chooser, weight)
    gc.collect()
    nodes = weft._core.live_nodes()
    memory = resident_bytes()
    for _ in range(10_000):
        step(chooser, weight)
    weight.grad = None
    gc.collect()
    assert weft._core.live_nodes() == nodes
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which keeps what is freed for a while
        assert resident_bytes() - memory < 2_000_000
    before = weft._core.live_nodes()
    del weight
    assert weft._core.live_nodes() == before - 1


@pytest.mark.parametrize("size", [8, 200_000])
def test_threads_accumulate_into_one_leaf(size: int) -> None:
    weight = weft.zeros(size, requires_grad=True)
    steps = 200 if size == 8 else 20
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(steps):
                (weight + 1).sum().backward()
        except BaseException as error:  # noqa: BLE001 - a thread's failure must not be lost
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert weight.grad.tolist() == [4.0 * steps] * size


def test_threads_share_a_graph() -> None:
    weight = weft.ones(50_000, requires_grad=True)
    shared = weight.exp()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(10):
                (shared * 2).sum().backward(retain_graph=True)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    wanted = 80 * shared.detach()
    assert bool(((weight.grad - wanted).abs() < 1e-3).all())


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_computes() -> None:
    weight = weft.ones(300_000, requires_grad=True)
    (weight * 2).sum().backward()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            weight.grad = None
            (weight.exp() * 3).sum().backward()
            matrix = weft.ones(128, 128) @ weft.ones(128, 128)
            right = abs(weight.grad[0].item() - 3 * 2.718281828) < 1e-4
            status = 0 if right and matrix[0, 0].item() == 128 else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_an_interrupted_backward_leaves_things_usable() -> None:
    x = weft.ones(3, requires_grad=True)
    y = x.exp()

    def hook(_: Tensor) -> None:
        raise KeyboardInterrupt

    handle = y.register_hook(hook)
    with pytest.raises(KeyboardInterrupt):
        y.sum().backward()
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
