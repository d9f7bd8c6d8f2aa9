"""A Python layer imports only the layers below it; the contracts stand in pyproject.toml."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "weft"


def run_linter(folder: Path, config: Path) -> subprocess.CompletedProcess[str]:
    command = "from importlinter.cli import lint_imports_command as run; run()"
    return subprocess.run(
        [sys.executable, "-c", command, "--config", str(config), "--no-cache"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_contracts_hold() -> None:
    result = run_linter(ROOT / "src", ROOT / "pyproject.toml")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"autograd": "from weft import _tensor", "_tensor": "from weft import _core"}, None),
        ({"autograd": "from weft.nn import Linear", "nn": "Linear = 1"}, "Python layers BROKEN"),
        ({"nn": "import weft.optim", "optim": ""}, "Python layers BROKEN"),
        ({"surprise": ""}, "surprise"),
        ({"nn": "def f():\n    import torch"}, "Nobody imports torch BROKEN"),
    ],
)
def test_the_check_itself(tmp_path: Path, files: dict[str, str], complaint: str | None) -> None:
    package = tmp_path / "weft"
    package.mkdir()
    for name, text in ({"__init__": "", "_core": ""} | files).items():
        (package / f"{name}.py").write_text(text + "\n")
    result = run_linter(tmp_path, ROOT / "pyproject.toml")
    if complaint is None:
        assert result.returncode == 0, result.stdout + result.stderr
    else:
        assert result.returncode != 0
        assert complaint in result.stdout + result.stderr
