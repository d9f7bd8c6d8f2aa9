"""The programs of examples/seeds print the same with PyTorch, where their texts are from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_seeds import PROGRAMS, TESTS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_pytorch_prints_the_text(program: Path, tmp_path: Path) -> None:
    source = program.read_text(encoding="utf-8")
    source = source.replace("import weft as torch", "import torch")
    copy = tmp_path / program.name
    copy.write_text(source.replace("from weft import", "from torch import"), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, copy], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == (TESTS / "seeds_expected" / f"{program.stem}.txt").read_text()
