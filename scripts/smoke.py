"""Use an installed Weft a little of everywhere: `python smoke.py VERSION`, outside of a checkout.

Nothing but Weft and what it requires is needed. Ends with a sentence at the first thing that is not
as it should be.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import weft
from weft import nn, optim
from weft.utils.data import DataLoader, TensorDataset

FOLDER = Path(weft.__file__).parent
SCRIPT = """\
import torch
torch.manual_seed(0)
print(torch.__version__, torch.nn.Linear(2, 1)(torch.ones(2)).item())
"""


def check(holds: bool, sentence: str) -> None:
    """End with a sentence unless it holds."""
    if not holds:
        sys.exit(f"smoke.py: {sentence}")


def installed(version: str) -> None:
    """The package is the installed one, and whole."""
    check(FOLDER.parent.name == "site-packages", f"{FOLDER} is no installed package")
    check(weft.__version__ == version, f"this is {weft.__version__}, not {version}")
    check(metadata.version("weft") == version, f"its metadata say {metadata.version('weft')}")
    for name in ("__init__.pyi", "_core.pyi", "core_examples.txt", "py.typed"):
        check((FOLDER / name).exists(), f"weft/{name} is missing")
    check(">>>" in str(weft.tanh.__doc__), "help(weft.tanh) shows no example")


def modules() -> None:
    """Each module can be imported; those of `weft view` need websockets."""
    for module in pkgutil.walk_packages([str(FOLDER)], "weft."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            check(error.name == "websockets", f"{module.name} cannot be imported: {error}")


def batches() -> None:
    """A model over one example trains, batched."""
    weft.manual_seed(0)
    leaf, join, score = nn.Embedding(10, 16), nn.Linear(32, 16), nn.Linear(16, 1)
    optimizer = optim.Adam(nn.ModuleList([leaf, join, score]).parameters(), lr=0.02)

    def read(tree: object) -> weft.Tensor:
        if isinstance(tree, tuple):
            return join(weft.cat([read(tree[0]), read(tree[1])])).tanh()
        return leaf(weft.tensor(tree))

    trees = [(1, 2), ((3, 4), 5), 6, (7, (8, (9, 0)))] * 8
    wanted = weft.tensor([3.0, 12.0, 6.0, 24.0] * 8) / 24
    losses = []
    for _ in range(60):
        found = score(weft.stack(weft.map(read, trees))).squeeze(1)
        loss = nn.functional.mse_loss(found, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    check(losses[-1] < 0.05 * losses[0], f"a model did not train: {losses[0]} to {losses[-1]}")


def libraries() -> None:
    """LAPACK is found, threads run, tensors are saved, and workers load data."""
    matrix = weft.eye(3) * 4
    check(weft.linalg.cholesky(matrix)[0, 0].item() == 2, "LAPACK was not found")
    weft.set_num_threads(2)
    check(weft.ones(2_000_000).sum().item() == 2_000_000, "a sum over two threads is wrong")
    path = Path("saved.safetensors")
    weft.save({"x": matrix}, path)
    check(weft.load(path)["x"].equal(matrix), "what was saved is not what is loaded")
    data = TensorDataset(weft.arange(8))
    rows = [row for (batch,) in DataLoader(data, batch_size=4, num_workers=1) for row in batch]
    check([row.item() for row in rows] == list(range(8)), "a worker loaded something else")


def pages() -> None:
    """A graph becomes a page."""
    graph = weft.graph(lambda x: (x * 2).sum(), weft.ones(3))
    check("mul" in str(graph), "a graph is not printed")
    check(graph.html("page.html").stat().st_size > 100_000, "the page is not the built one")


def commands(version: str) -> None:
    """The command `weft` is there and answers `import torch`."""
    weft_command = Path(sys.executable).with_name("weft")
    Path("script.py").write_text(SCRIPT, encoding="utf-8")
    for words, expected in (
        (["--version"], f"weft {version}\n"),
        (["info"], f"Weft {version}"),
        (["run", "script.py"], "2."),
    ):
        ran = subprocess.run(
            [str(weft_command), *words], capture_output=True, text=True, check=False, timeout=60
        )
        check(ran.returncode == 0, f"weft {' '.join(words)} failed: {ran.stderr}")
        check(ran.stdout.startswith(expected), f"weft {' '.join(words)} printed {ran.stdout}")


def main() -> None:
    """Check all of it in an empty folder."""
    (version,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        installed(version)
        modules()
        batches()
        libraries()
        pages()
        commands(version)
    print(f"Weft {version} works with Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
