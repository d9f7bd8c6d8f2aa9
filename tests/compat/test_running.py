"""A script runs as `python script.py` would run it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.compat.running import run, run_on_weft, run_plainly

SCRIPTS = {
    "place": "import sys\nprint(__name__, __file__, sys.argv, sys.path[0])",
    "neighbour": "import neighbour\nprint(neighbour.VALUE)",
    "relative": "print(open('data.txt').read())",
    "exit code": "import sys\nsys.exit(3)",
    "large exit code": "import sys\nsys.exit(258)",
    "exit text": "import sys\nsys.exit('stopped')",
    "exit plainly": "raise SystemExit",
    "error": "def f():\n    return 1 / 0\n\nf()",
    "cause": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('no') from e",
    "syntax": "print('a'\nb = 1",
    "missing module": "import nothing_of_this_name",
    "pickle": (
        "import pickle\nclass A:\n    x = 1\nprint(type(pickle.loads(pickle.dumps(A()))), A)"
    ),
    "main guard": "if __name__ == '__main__':\n    print('main')",
    "atexit": "import atexit\natexit.register(print, 'end')\nprint('begin')",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_as_python_does(tmp_path: Path, name: str) -> None:
    (tmp_path / "neighbour.py").write_text("VALUE = 7\n")
    (tmp_path / "data.txt").write_text("seven")
    expected = run_plainly(tmp_path, SCRIPTS[name], "a", "--b")
    got = run_on_weft(tmp_path, SCRIPTS[name], "a", "--b")
    assert got.stdout == expected.stdout
    assert got.stderr == expected.stderr
    assert got.returncode == expected.returncode


def test_interrupt_ends_by_the_signal(tmp_path: Path) -> None:
    got = run_on_weft(tmp_path, "raise KeyboardInterrupt")
    assert got.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in got.stderr


def test_a_traceback_ends_in_the_script(tmp_path: Path) -> None:
    got = run_on_weft(tmp_path, "import torch\ntorch.nn.Linaer(2, 3)")
    assert got.returncode == 1
    assert got.stderr.count("File ") == 1
    assert "AttributeError: Weft has no torch.nn.Linaer; near is torch.nn.Linear" in got.stderr


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("")
    got = run(["-m", "weft", "run", "other.py"], tmp_path)
    assert (got.returncode, got.stderr) == (
        2,
        "weft: other.py cannot be read: No such file or directory.\n",
    )


def test_refuses_beside_pytorch(tmp_path: Path) -> None:
    script = (
        "import sys, types\n"
        "sys.modules['torch'] = types.ModuleType('torch')\n"
        "from weft.cli import main\n"
        "sys.exit(main(['run', 'script.py']))"
    )
    got = run_plainly(tmp_path, script)
    assert got.returncode == 2
    assert "PyTorch itself is imported already" in got.stderr
