"""Which tests should notice a change, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.mutants.change import Change
from tests.mutants.python_source import public_names

# They look at texts, or at a browser: nothing that a change of `src/weft` elsewhere would alter.
APART = {"architecture", "cli", "compat", "debug", "docs", "fuzz", "mutants", "oracle", "viewer"}
# Tests that go through the rows of the op table, which name what they test.
TABLES = ["tests/ops", "tests/func/test_table.py", "tests/batching/test_table.py"]
ORACLE_TABLE = "tests/oracle/test_table.py"
SCRIPTS = "tests/oracle/test_scripts.py"  # whole programs: slow, and after all others
# What uses most of a layer of C++, the likeliest first; then the tables, then the rest.
CPP_LAYERS = {
    "graph": [
        "tests/autograd",
        "tests/test_views_inplace.py",
        "tests/test_vmap.py",
        "tests/func/*s.py",
    ],
    "schedule": [],
    "exec": ["tests/autograd"],
    "autograd": ["tests/autograd", "tests/test_views_inplace.py", "tests/func/*s.py"],
}
BATCHING = ["tests/batching/test_[!t]*.py"]
EVERYTHING = ["tests/tracing", "tests/test_*.py", "tests/nn", "tests/debug", "tests/optim"]
EVERYTHING += ["tests/functional", "tests/utils", "tests/serialization", "tests/distributions"]
# A folder's tests against PyTorch, where a name is made and does not stand in the test's text.
ORACLE = {
    "distributions": ["distributions"],
    "func": ["func"],
    "nn": ["modules", "nn_utils", "table"],
    "optim": ["optim", "lr_scheduler"],
    "random": ["random_streams"],
    "serialization": ["serialization"],
    "utils": ["data"],
}


@dataclass(frozen=True)
class Suite:
    """One run of pytest."""

    paths: tuple[str, ...]
    names: str = ""
    oracle: bool = False
    far: bool = False

    @property
    def arguments(self) -> list[str]:
        """Return what pytest is given."""
        return [*self.paths, *(["-k", self.names] if self.names else [])]


def suites_for(tree: Path, change: Change) -> Iterator[Suite]:
    """Yield runs until somebody notices the change; nothing is run twice but for tables' rows."""
    begun: set[str] = set()
    for suite in _python(tree, change) if change.file.endswith(".py") else _cpp(tree, change):
        paths = [path.as_posix() for pattern in suite.paths for path in _glob(tree, pattern)]
        paths = list(dict.fromkeys(paths))
        if not suite.names:
            paths = [path for path in paths if not _covers(begun, path)]
            begun.update(paths)
        if paths:
            yield replace(suite, paths=tuple(paths))


def _glob(tree: Path, pattern: str) -> list[Path]:
    return sorted(path.relative_to(tree) for path in tree.glob(pattern))


def _covers(begun: set[str], path: str) -> bool:
    return path in begun or any(parent.as_posix() in begun for parent in Path(path).parents)


def _python(tree: Path, change: Change) -> Iterator[Suite]:
    place = Path(change.file).relative_to("src/weft")
    mirrored = f"tests/{place.parent}/test_{place.stem.lstrip('_')}.py"
    yield Suite((mirrored, change.file))
    folder = place.parts[0].removesuffix(".py").lstrip("_")
    yield Suite((f"tests/{folder}", f"tests/{folder}.py", f"tests/**/*{place.stem}*.py"))
    public = public_names((tree / change.file).read_bytes())
    names = [change.inside] if change.inside in public else public
    mentioned = _mentioned(tree, names) or _mentioned(tree, names := public)
    parts = [(path.as_posix(), path.parts[1]) for path in mentioned]
    rows = any(path.startswith("tests/ops/rows") for path, _ in parts)
    asked = " or ".join(names)
    if rows:
        yield Suite(tuple(TABLES), asked)
    tests = [path for path, _ in parts if "/test_" in path and path != SCRIPTS]
    yield Suite(tuple(path for path in tests if path.split("/")[1] not in APART | {"batching"}))
    yield Suite(tuple(path for path in tests if path.startswith("tests/oracle")), oracle=True)
    if rows:
        yield Suite((ORACLE_TABLE,), asked, oracle=True)
    files = tuple(f"tests/oracle/test_{name}.py" for name in [*ORACLE.get(folder, []), "defaults"])
    yield Suite(tuple(file for file in files if file != ORACLE_TABLE), oracle=True)
    yield Suite(tuple(EVERYTHING), far=True)
    yield Suite(("tests/autograd", "tests/batching", "tests/func"), far=True)
    yield Suite(tuple(path for path in tests if path.split("/")[1] in APART - {"oracle"}), far=True)
    if folder in {"nn", "optim", "utils"}:
        yield Suite((SCRIPTS,), oracle=True, far=True)


def _mentioned(tree: Path, names: list[str]) -> list[Path]:
    """Return the files of tests in which one of the names stands."""
    name = re.compile(rf"\b({'|'.join(names)})\b")
    paths = _glob(tree, "tests/**/*.py") if names else []
    return [path for path in paths if name.search((tree / path).read_text())]


def _cpp(tree: Path, change: Change) -> Iterator[Suite]:
    place = Path(change.file).relative_to("cpp/weft")
    yield Suite(
        (
            f"tests/**/test_{place.stem}*.py",
            f"tests/**/test_*{place.stem}*.py",
        )
    )
    yield Suite(tuple(CPP_LAYERS[place.parts[0]] + BATCHING))
    yield Suite(tuple(TABLES), far=True)
    yield Suite((*EVERYTHING, "tests/viewer/test_real_runs.py"), far=True)
