"""Options before the script are the command's; all that follows the script is its own."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from tests.viewer.live.running import run_weft
from weft.cli import command, main

MIRROR = "import sys\nprint(sys.argv[1:])\n"
USAGE = "import sys\nsys.exit(2)\n"


def split(*words: str) -> argparse.Namespace:
    """Read words as the command `view` does."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--port", type=int)
    parser.add_argument("--open", action="store_true")
    command.add_script(parser)
    given = parser.parse_args(words)
    command.find_script(parser, given)
    return given


@pytest.mark.parametrize(
    ("words", "port", "script", "arguments"),
    [
        (["s.py"], None, "s.py", []),
        (["--port", "5", "s.py"], 5, "s.py", []),
        (["--port=5", "--open", "s.py", "a"], 5, "s.py", ["a"]),
        (["s.py", "--port", "5", "--open"], None, "s.py", ["--port", "5", "--open"]),
        (["--port", "1", "s.py", "--port", "5"], 1, "s.py", ["--port", "5"]),
        (["--open", "s.py", "-h"], None, "s.py", ["-h"]),
        (["--open", "s.py", "--", "--port", "3"], None, "s.py", ["--", "--port", "3"]),
        (["--open", "--", "s.py", "--", "x"], None, "s.py", ["--", "x"]),
        (["s.py", "a", "--", "b", "--"], None, "s.py", ["a", "--", "b", "--"]),
        (["--", "-odd-name.py", "-x"], None, "-odd-name.py", ["-x"]),
    ],
)
def test_are_told_apart(
    words: list[str], port: int | None, script: str, arguments: list[str]
) -> None:
    given = split(*words)
    assert (given.port, given.script, given.arguments) == (port, script, arguments)


@pytest.mark.parametrize("name", ["view", "run"])
def test_an_unknown_option_before_the_script_is_refused(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--nonsense", "s.py", "--fine"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"usage: weft {name}" in said
    assert "unrecognized arguments: --nonsense (the script's own options stand behind its" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["view"], "the script is missing"),
        (["run", "--"], "the script is missing"),
        (["view", "--port", "s.py"], "a port is a number from 0 to 65535, not 's.py'"),
        (["view", "--rate", "s.py", "x"], "must be a number above 0, not 's.py'"),
        (
            ["show", "a.json", "--nonsense"],
            "weft show: error: unrecognized arguments: --non",
        ),
    ],
)
def test_says_what_is_wrong(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("before", [["run"], ["view", "--exit"]])
def test_the_script_gets_its_words(tmp_path: Path, before: list[str]) -> None:
    (tmp_path / "mirror.py").write_text(MIRROR)
    words = ["--port", "7", "--", "--exit", "-h"]
    ran = run_weft(tmp_path, *before, "mirror.py", *words)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == str(words)


def test_a_misplaced_option_is_told_where_the_script_refused_it(tmp_path: Path) -> None:
    (tmp_path / "usage.py").write_text(USAGE)
    ran = run_weft(tmp_path, "view", "--exit", "usage.py", "--no-values", "--other")
    assert ran.returncode == 2
    assert "the script was given --no-values; options of `weft view` stand before it" in ran.stderr
    (tmp_path / "mirror.py").write_text(MIRROR)
    ran = run_weft(tmp_path, "view", "--exit", "mirror.py", "--no-values")
    assert "stand before it" not in ran.stderr
