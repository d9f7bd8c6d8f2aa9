"""The command `weft`: a script runs as `python script.py` would run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.viewer.live.running import page_in, run_weft
from weft.cli import main

# What a script can see of how it was started.
MIRROR = """\
import json
import os
import sys

import __main__
from beside import word

print(json.dumps({
    "argv": sys.argv,
    "path": sys.path[0],
    "name": __name__,
    "file": __file__,
    "main": sys.modules["__main__"].__dict__ is globals(),
    "names": sorted(name for name in globals() if name.startswith("__")),
    "spec": repr(__spec__),
    "word": word,
    "doc": __doc__,
}))
"""
SPAWNING = """\
import multiprocessing

def add(x):
    return x + 1

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(add, [1, 2]))
"""


def both(
    folder: Path, script: str, *arguments: str
) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]:
    """Run a script by Python and by `weft view`."""
    path = folder / "script.py"
    path.write_text(script)
    plain = subprocess.run(
        [sys.executable, "script.py", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return plain, run_weft(folder, "view", "--exit", "script.py", *arguments)


def without_own_lines(text: str) -> str:
    return "".join(
        line for line in text.splitlines(keepends=True) if not line.startswith("weft view: ")
    )


@pytest.mark.parametrize("arguments", [(), ("--epochs", "3", "-v", "--help", "--", "x y")])
def test_script_sees_what_it_would_see(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "beside.py").write_text("word = 'found'")
    plain, viewed = both(tmp_path, MIRROR, *arguments)
    assert plain.returncode == 0, plain.stderr
    assert viewed.returncode == 0, viewed.stderr
    assert viewed.stdout == plain.stdout


@pytest.mark.parametrize(
    "script",
    [
        "import sys\nsys.exit(3)",
        "import sys\nsys.exit()",
        "import sys\nsys.exit('a sentence')",
        "raise SystemExit(False)",
        "raise SystemExit(-1)",
        "def f(x):\n    return 1 / x\nf(0)",
        "try:\n    {}['a']\nexcept KeyError as error:\n    raise ValueError('b') from error",
        "this is no Python",
        "import no_such_module",
        "import sys\nsys.excepthook = lambda *all: print('own hook', all[0])\n1 / 0",
        "import atexit\natexit.register(print, 'at exit')\n",
        SPAWNING,
        "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
        "import os\nprint(os.getcwd() == os.path.dirname(__file__))",
        "x: int = 1\nprint(__annotations__)",
    ],
)
def test_end_is_as_python_ends_it(tmp_path: Path, script: str) -> None:
    plain, viewed = both(tmp_path, script)
    assert viewed.returncode == plain.returncode
    assert viewed.stdout == plain.stdout
    own = without_own_lines(viewed.stderr)
    assert own.replace(str(tmp_path / "script.py"), "script.py") == plain.stderr.replace(
        str(tmp_path / "script.py"), "script.py"
    )


def test_missing_script_is_one_sentence(tmp_path: Path) -> None:
    result = run_weft(tmp_path, "view", "none.py")
    assert result.returncode == 2
    assert result.stderr.strip() == ("weft: none.py cannot be read: No such file or directory.")
    assert "Traceback" not in result.stderr


def test_missing_package_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("")
    # None in sys.modules is how Python remembers that a module cannot be imported.
    program = (
        "import sys; sys.modules['websockets'] = None;"
        "from weft.cli import main; sys.exit(main(['view', 'script.py']))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.returncode == 2
    assert "pip install websockets" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_importing_weft_needs_no_server() -> None:
    program = (
        "import sys, weft, weft.cli, weft.viewer.live;"
        "print([name for name in ('websockets', 'asyncio', 'playwright') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_bad_port_and_unknown_host_are_told(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("")
    assert "0 to 65535" in run_weft(tmp_path, "view", "--port", "70000", "script.py").stderr
    assert "above 0" in run_weft(tmp_path, "view", "--rate", "-1", "script.py").stderr
    result = run_weft(tmp_path, "view", "--host", "no.such.host.invalid", "script.py")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


def test_open_host_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("")
    result = run_weft(tmp_path, "view", "--exit", "--host", "0.0.0.0", "script.py")
    assert result.returncode == 0
    assert "warning" in result.stderr
    assert "warning" not in run_weft(tmp_path, "view", "--exit", "script.py").stderr


def test_show_writes_a_page(tmp_path: Path) -> None:
    trace = tmp_path / "run.json"
    trace.write_text('{"format": "weft-trace", "version": 1, "title": "</script> run"}')
    result = run_weft(tmp_path, "show", "run.json")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "run.html"
    page = page_in((tmp_path / "run.html").read_text())
    assert page["graphs"][0]["title"] == "</script> run"
    result = run_weft(tmp_path, "show", "run.json", "-o", "other.html")
    assert (tmp_path / "other.html").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "cannot be shown"), ("[]", "cannot be shown"), ('{"format": "x"}', "weft-trace")],
)
def test_show_says_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "run.json").write_text(text)
    result = run_weft(tmp_path, "show", "run.json")
    assert result.returncode == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_show_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.html").write_text("x")
    assert run_weft(tmp_path, "show", "run.html").returncode == 2
    assert run_weft(tmp_path, "show", "none.json").returncode == 2
    assert (tmp_path / "run.html").read_text() == "x"


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "view" in said
    assert "show" in said


def test_no_command_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    assert "required" in capsys.readouterr().err


def test_run_answers_import_torch(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys, torch\nprint(torch.ones(2).sum().item(), *sys.argv[1:])\n")
    command = [sys.executable, "-m", "weft", "run", str(script), "a", "--b"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == "2.0 a --b\n"
