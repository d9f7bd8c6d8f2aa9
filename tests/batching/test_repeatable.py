"""Two runs of a program give the same bits, wherever memory lies in them."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, random
import weft
from weft import nn, optim

random.seed(0)
weft.manual_seed(0)

def grow(depth=5):
    is_leaf = depth == 0 or random.random() < 0.3
    return random.randrange(10) if is_leaf else (grow(depth - 1), grow(depth - 1))

leaf, join, answer = nn.Embedding(10, 32), nn.Linear(64, 32), nn.Linear(32, 10)
optimizer = optim.Adam(nn.ModuleList([leaf, join, answer]).parameters(), lr=0.01)

def read(tree):
    if isinstance(tree, int):
        return leaf(weft.tensor(tree))
    return join(weft.cat([read(tree[0]), read(tree[1])])).relu()

for step in range(6):
    scores = answer(weft.stack(weft.map(read, [grow() for _ in range(64)])))
    loss = nn.functional.cross_entropy(scores, weft.arange(64) % 10)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(hashlib.md5(scores.detach().numpy().tobytes()).hexdigest())
for batch in weft.explain(1000).plans[-1].batches:
    print(batch.op, batch.rows, batch.equal)
"""


@pytest.mark.single_ops
def test_runs_give_the_same_bits_and_the_same_batches() -> None:
    runs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(4)
    }
    (printed,) = runs
    assert len(printed.splitlines()) > 6
