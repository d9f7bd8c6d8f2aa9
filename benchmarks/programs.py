"""Programs that are measured as processes of their own.

    python -m benchmarks.programs long_chain weft 1000000 perf_counter

Each prints one JSON object. Peak memory is that of the whole process, Python and NumPy included.
"""

from __future__ import annotations

import gc
import importlib
import json
import random
import re
import resource
import sys
import time
from pathlib import Path
from typing import Any

clock = time.perf_counter


def peak_bytes() -> int:
    """Return the most memory that this process has had.

    Not getrusage's number: that is inherited from the process that started this one.
    """
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


def resident_bytes() -> int:
    """Return the memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def long_chain(library: Any, length: int) -> dict[str, float]:
    """Record a chain of so many ops, half mul and half tanh, differentiate it and free it."""
    x = library.full((8,), 1e-4).requires_grad_()
    y = library.ones(8)
    (x * y).tanh().sum().backward()  # the first backward sets things up
    x.grad = None
    begin = clock()
    h = x
    for _ in range(length // 2):
        h = (h * y).tanh()
    recorded = clock()
    loss = h.sum()
    loss.backward()
    differentiated = clock()
    del h, loss
    end = clock()
    if not 0.5 < float(x.grad[0]) <= 1:
        raise RuntimeError(f"the gradient is {x.grad}, but the slope of tanh at 1e-4 is about 1")
    return {
        "record": recorded - begin,
        "backward": differentiated - recorded,
        "free": end - differentiated,
        "seconds": end - begin,
        "peak_bytes": peak_bytes(),
    }


def other_graph(library: Any, weight: Any, x: Any, choose: random.Random) -> Any:
    """Run a program whose length, ops and shape of graph are drawn anew."""
    h = x @ weight
    earlier = h
    for _ in range(choose.randrange(1, 30)):
        kind = choose.randrange(6)
        if kind == 0:
            h = (h * x).tanh()
        elif kind == 1:
            h = h + earlier
        elif kind == 2:
            earlier, h = h, (h @ weight).sigmoid()
        elif kind == 3:
            h = library.cat([h[:, :4], earlier[:, 4:]], dim=1)
        elif kind == 4:
            h = h / (1 + h.abs().sum(dim=1, keepdim=True))
        elif float(h.detach().sum()) > 0:
            h = h.exp().log()
    return h.sum()


def many_graphs(library: Any, steps: int) -> dict[str, float]:
    """Train for many steps, each with another graph, and see what stays behind."""
    core = importlib.import_module("weft._core") if library.__name__ == "weft" else None
    choose = random.Random(0)
    weight = (library.eye(8) * 0.5).requires_grad_()
    optimizer = library.optim.SGD([weight], lr=1e-4)
    x = library.ones(4, 8)
    warm_up = steps // 10
    begin, resident = clock(), 0
    for step in range(warm_up + steps):
        if step == warm_up:
            begin, resident = clock(), resident_bytes()
        loss = other_graph(library, weight, x, choose)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seconds = clock() - begin
    grown = resident_bytes() - resident
    del loss, optimizer, weight  # a parameter has a node of its own: the one that accumulates
    gc.collect()
    return {
        "seconds": seconds,
        "grown_bytes": grown,
        "live_nodes": core.live_nodes() if core else 0,
    }


def saved_bytes(library: Any, layers: int) -> dict[str, float]:
    """Compare what the forward pass keeps for backward, without and with checkpoints."""
    core = importlib.import_module("weft._core")
    checkpoint = importlib.import_module("weft.utils.checkpoint").checkpoint
    nn, size, per_segment = library.nn, 256, 5
    blocks = [nn.Sequential(nn.Linear(size, size), nn.GELU()) for _ in range(layers)]
    segments = [nn.Sequential(*blocks[i : i + per_segment]) for i in range(0, layers, per_segment)]
    x = library.ones(128, size)

    def kept(*, with_checkpoints: bool) -> int:
        before = core.live_bytes()
        h = x
        for segment in segments:
            h = checkpoint(segment, h, use_reentrant=False) if with_checkpoints else segment(h)
        loss = h.sum()
        bytes_kept = core.live_bytes() - before
        loss.backward()
        return bytes_kept

    for _ in range(2):  # the first pass makes the gradients, which stay
        plain, checkpointed = kept(with_checkpoints=False), kept(with_checkpoints=True)
    return {"plain": plain, "checkpointed": checkpointed, "ratio": plain / checkpointed}


def traced_chain(library: Any, length: int) -> dict[str, float]:
    """Record a chain of so many ops without and with a trace; say what the trace cost a node."""
    recording = importlib.import_module("weft.tracing").Recording
    x = library.ones(8, requires_grad=True)

    def chain() -> float:
        y = x
        begin = clock()
        for _ in range(length):
            y = y * 1.0001
        return clock() - begin

    plain = min(chain() for _ in range(4))
    traced, grown, assembled = [], [], []
    for _ in range(4):
        run = recording(values=False)
        gc.collect()
        before = resident_bytes()
        with run:
            traced.append(chain())
        grown.append(resident_bytes() - before)
        begin = clock()
        if len(run.trace().nodes) < length:
            raise RuntimeError("the trace has fewer nodes than the chain has ops")
        assembled.append(clock() - begin)
        del run
    # Memory is reused from the second round on, so the first one tells what a trace takes.
    return {
        "seconds": (min(traced) - plain) / length,
        "bytes": grown[0] / length,
        "trace_seconds": min(assembled) / length,
    }


PROGRAMS = {
    "long_chain": long_chain,
    "many_graphs": many_graphs,
    "saved_bytes": saved_bytes,
    "traced_chain": traced_chain,
}

if __name__ == "__main__":
    program, library_name, size, clock_name = sys.argv[1:]
    clock = getattr(time, clock_name)
    print(json.dumps(PROGRAMS[program](importlib.import_module(library_name), int(size))))
