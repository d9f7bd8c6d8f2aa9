"""The ListOps demonstration runs, tells what it promises to tell, and writes its page."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from weft import viewer

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(autouse=True)
def _beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def run(*arguments: str | Path) -> str:
    """Run Python in the folder of examples and return what it prints."""
    result = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=EXAMPLES,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_quick_run(tmp_path: Path) -> None:
    page = tmp_path / "new" / "listops.html"
    printed = run("listops.py", "--quick", "--page", page)
    rows = re.findall(r"^ +(\d|all) +\d+ +[\d.]+% +[\d.]+%$", printed, re.MULTILINE)
    assert rows == ["1", "2", "3", "4", "5", "6", "all"]
    assert re.search(r"one by one +[\d.]+ ms, [\d.]+ times as long", printed)
    difference = re.search(r"no gradient differs by more than (\S+)", printed)
    assert difference is not None
    assert float(difference[1]) < 1e-5
    assert re.search(r"plan for listops.py:\d+: \d+ ops in \d+ batches", printed)
    assert re.search(r"^  TreeLSTMCell +\d+", printed, re.MULTILINE)
    index = page.with_name("index.html")
    assert f"Curves: {page}\n" in printed
    if Path(viewer.__file__).with_name("page.html").exists():
        assert printed.rstrip().endswith(f"the batched plan and the curves: {index}")
        assert "a training step on trees" in index.read_text(encoding="utf-8")

    text = page.read_text()
    assert "http" not in text
    assert "prefers-color-scheme: dark" in text
    charts = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(charts) == 4
    for chart in charts:
        ET.fromstring(chart)
    assert "TreeLSTMCell" in text


def test_values() -> None:
    from listops_data import text, value

    expression = ("MAX", (2, 9, ("MIN", (4, 7)), ("SM", (5, 6)), ("MED", (1, 8, 3, 2))))
    assert text(expression) == "[MAX 2 9 [MIN 4 7] [SM 5 6] [MED 1 8 3 2]]"
    assert value(expression) == 9
    assert [value(argument) for argument in expression[1]] == [2, 9, 4, 1, 2]


def test_held_out_expressions_are_as_promised_and_stay_out() -> None:
    from listops_data import draw_batch, draw_held_out, leaves, value

    def depth(expression: object) -> int:
        if isinstance(expression, int):
            return 0
        return 1 + max(depth(argument) for argument in expression[1])

    held_out = draw_held_out(random.Random(0), 20)
    assert len({example.expression for example in held_out}) == 120
    for example in held_out:
        assert example.depth == depth(example.expression)
        assert 5 <= leaves(example.expression) <= 50
        assert example.answer == value(example.expression)
    small = {("SM", (a, b)) for a in range(10) for b in range(10)}
    batch = draw_batch(random.Random(0), 500, 1, small)
    assert not small & {example.expression for example in batch}


def test_the_bar_without_rich() -> None:
    printed = run(
        "-c",
        "import sys\n"
        "sys.modules['rich.progress'] = None\n"
        "sys.stdout.isatty = lambda: True\n"
        "from progress import progress_bar\n"
        "with progress_bar('training') as show:\n"
        "    show(0.5, 'half')\n"
        "    show(1.0, 'all')\n",
    )
    assert "training [############............]  50% half" in printed
    assert "100% all" in printed
