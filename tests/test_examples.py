"""The examples run, and show what they promise to show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"


def printed(name: str) -> str:
    """Run an example quickly and return what it prints."""
    result = subprocess.run(
        [sys.executable, "-W", "error", FOLDER / name, "--quick"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def test_growing_keeps_the_loss_and_training_goes_on() -> None:
    text = printed("grow.py")
    rows = re.findall(
        r"^(?:\d+ units|another layer) +([\d.]+) +([\d.]+) +[\d.]+%$", text, re.MULTILINE
    )
    assert len(rows) == 4
    for before, after in rows:
        assert float(after) == pytest.approx(float(before), abs=1e-6)
    last = re.search(r"^at the end +([\d.]+)", text, re.MULTILINE)
    assert last is not None
    assert float(last[1]) < float(rows[-1][0]) < float(rows[0][0])


def test_learning_follows_the_drift() -> None:
    text = printed("online.py")
    rows = re.findall(r"^ +\d+- *\d+% +([\d.]+)% +([\d.]+)%$", text, re.MULTILINE)
    learning, stopped = ([float(row[i]) for row in rows] for i in range(2))
    assert len(rows) == 10
    assert max(learning[1:]) < 15
    assert max(stopped) > 60
    assert re.search(r"^weft +[\d.]+ us +[\d.]+ us$", text, re.MULTILINE)


def test_the_agent_learns_to_balance() -> None:
    text = printed("reinforce.py")
    row = re.search(r"^weft +([\d,]+) +\d+ +([\d.]+) +[\d.]+$", text, re.MULTILINE)
    assert row is not None
    assert int(row[1].replace(",", "")) >= 3000
    assert float(row[2]) > 40  # an agent that does not learn falls after 22


def test_a_plain_if_leaves_the_other_model_alone() -> None:
    rows = [line.split(maxsplit=5) for line in printed("switch.py").splitlines()[1:]]
    assert [row[1] for row in rows] == ["numbers"] * 2 + ["lists"] * 2 + ["both"] * 2
    assert [row[3:5] for row in rows] == (
        [["used", "-"]] * 2 + [["-", "used"]] * 2 + [["used", "used"]] * 2
    )
    assert [row[5] for row in rows] == (["number, answer"] * 2 + ["number, sequence, answer"] * 4)


def test_a_solver_of_scipy_is_differentiated() -> None:
    text = printed("scipy_function.py")
    assert "gradient checks: True" in text
    errors = [float(error) for error in re.findall(r"largest error +([\d.]+)%", text)]
    assert len(errors) == 5
    assert errors[-1] < 20 < errors[0]


def test_memory_is_shared_by_dlpack() -> None:
    text = printed("dlpack.py")
    assert "NumPy: one memory, there and back; now [[10.0, 3.0], [1.0, 4.0], [2.0, 20.0]]" in text
    assert "PyTorch is not installed" in text or "the gradients agree: True" in text
