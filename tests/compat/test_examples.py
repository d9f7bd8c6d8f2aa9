"""The PyTorch scripts of the examples run on Weft; tests/oracle compares their numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compat.running import run

FOLDER = Path(__file__).parents[2] / "examples" / "pytorch"


@pytest.mark.parametrize("script", sorted(FOLDER.glob("*.py")), ids=lambda script: script.stem)
def test_runs(script: Path, tmp_path: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert "import torch" in text
    assert "weft" not in text
    got = run(["-W", "error", "-m", "weft", "run", str(script), "--quick"], tmp_path)
    assert got.returncode == 0, got.stderr
    assert got.stderr == ""
    assert got.stdout.count("\n") > 5
