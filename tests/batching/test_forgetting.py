"""What is remembered of modules and functions goes once they are gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import _core

pytestmark = [pytest.mark.single_ops]

SCRIPT = """
import gc, sys, warnings
from pathlib import Path
import weft

warnings.simplefilter("ignore")

class Model(weft.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = weft.nn.Linear(2, 2)

    def forward(self, x):
        y = self.linear(x).tanh()
        return y * 2 if y.sum() > 0 else y

def made(i):
    names = {}
    exec(f"def function(x):\\n    y = x * {i}\\n    return y.tanh() + y\\n", names)
    return names["function"]

examples = [weft.ones(2) * k for k in range(3)]
leaf = weft.ones(2, requires_grad=True)
runs = {
    "module": lambda i: weft.map(Model(), examples, replay=False),
    "module, replay": lambda i: weft.map(Model(), examples),
    "function": lambda i: made(i)(leaf),
    "mapped function": lambda i: weft.map(made(i), examples),
}

def bytes_now():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

run = runs[sys.argv[1]]
for i in range(3000):
    run(i)
before = bytes_now()
for i in range(3000, 12000):
    run(i)
print(bytes_now() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux tells it in /proc")
@pytest.mark.parametrize("run", ["module", "module, replay", "function", "mapped function"])
def test_thousands_of_modules_and_functions_leave_no_memory_taken(run: str) -> None:
    weft.empty(2**20)
    if _core.cached_bytes() == 0:
        pytest.skip("this build keeps nothing, so that a sanitizer sees each tensor's memory")
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, run], check=True, capture_output=True, text=True
    )
    assert int(found.stdout) < 9000 * 150  # each took 750 to 2,900 bytes


def made(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(f"def function(x):\n{text}", "made.py", "exec"), names)
    return names["function"]


def place_of(tensor: weft.Tensor) -> tuple[str, int, str]:
    assert tensor.grad_fn is not None
    return _core.resolve_position(tensor.grad_fn._position)


def test_lines_of_functions_that_are_gone_go_and_others_stay() -> None:
    leaf = weft.ones(2, requires_grad=True)
    kept = made("    return x * 7\n")
    first = kept(leaf)
    gone = made("    return (x *\n        8)\n")(leaf)
    counts: list[int] = []
    for i in range(18_000):
        last = made("\n" * (i % 5) + "    return x * 3\n")(leaf)
        assert place_of(last) == ("made.py", 2 + i % 5, "function")
        counts.append(_core.position_count())
    # It rises between sweeps, the longer the more lines are in use for good; kept lines would make
    # it 6,000 more.
    assert max(counts[12_000:]) <= max(counts[6000:12_000]) + 3000
    assert place_of(first) == place_of(kept(leaf)) == ("made.py", 2, "function")
    assert place_of(gone) == ("", 0, "")
