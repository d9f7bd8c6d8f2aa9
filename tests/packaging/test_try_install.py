"""What is tried in fresh environments, and by what."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import weft
from tests.packaging.scripts import ROOT, try_install

THIS = f"cp{sys.version_info.major}{sys.version_info.minor}"


def test_wheels_for_other_pythons_are_left_out() -> None:
    def fits(name: str) -> bool:
        return try_install.fits(Path(name), sys.executable)

    assert fits(f"weft-1-{THIS}-{THIS}-manylinux_2_35_x86_64.whl")
    assert not fits("weft-1-cp399-cp399-manylinux_2_35_x86_64.whl")
    assert fits("weft-1.tar.gz")


def test_a_python_that_is_not_there_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["try_install.py", "weft-1.tar.gz", "--python", "python3.99"]
    monkeypatch.setattr(sys, "argv", words)
    assert try_install.main() == 1
    assert capsys.readouterr().out.startswith("python3.99 is not on this machine: left out\n")


def test_processes_do_not_see_this_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    assert "PYTHONPATH" not in try_install.without_python_settings()
    assert try_install.version() == weft.__version__


def test_a_checkout_does_not_pass_for_an_installed_package() -> None:
    smoke = ROOT / "scripts" / "smoke.py"
    ran = subprocess.run(
        [sys.executable, "-I", str(smoke), weft.__version__],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("smoke.py: ")
    assert ran.stderr.endswith("/src/weft is no installed package\n")
