"""The tests of the core alone, `cpp/tests`: one program, linked from the objects of the module.

`build/weft_tests` runs them without pytest; its options choose among them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "cpp" / "tests").rglob("test_*.cpp"))


def missing() -> str | None:
    """Say what keeps the tests from being built, or nothing."""
    cache = ROOT / "build" / "CMakeCache.txt"
    if not cache.exists():
        return "NOT CHECKED: the C++ tests need the folder `build`: run `make build`"
    found = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache.read_text(), re.MULTILINE)
    assert found is not None
    command = [found[1], "-E", "-x", "c++", "-include", "doctest/doctest.h", os.devnull]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return "NOT CHECKED: the C++ tests need doctest (apt-get install doctest-dev)"
    return None


@pytest.fixture(scope="session")
def program() -> Path:
    reason = missing()
    if reason:
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    folders = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ninja = shutil.which("ninja", path=folders)
    assert ninja is not None
    built = subprocess.run(
        [ninja, "-C", ROOT / "build", "weft_tests"], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout
    return ROOT / "build" / "weft_tests"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_core(program: Path, source: Path) -> None:
    result = subprocess.run(
        [program, "--no-version", f"--source-file=*{source.relative_to(ROOT)}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    # A name that fits no test would pass as well.
    counted = re.search(r"test cases:\s+(\d+) \|\s+\1 passed", result.stdout)
    assert counted is not None, result.stdout
    assert int(counted[1]) == source.read_text().count("\nTEST_CASE")
