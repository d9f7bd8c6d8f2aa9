"""`weft info`: what a report of a bug has to say."""

from __future__ import annotations

import platform
import re
from importlib import metadata
from pathlib import Path

import pytest

import weft
from weft.cli import info, main

ROOT = Path(__file__).parents[2]


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return what `weft info` prints, by the words on the left."""
    assert main(["info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return dict(re.split(r" {2,}", line, maxsplit=1) for line in lines)


def test_versions_and_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    facts = printed(capsys)
    assert f"Weft {weft.__version__}" in facts
    assert facts["Python"].startswith(platform.python_version())
    assert "glibc" in facts["system"]
    assert re.match(r"(g\+\+|clang) \d+\.", facts["built by"])
    assert re.search(r", \d+ cores?", facts["processor"])
    for name in ("numpy", "greenlet", "scipy-openblas32"):
        assert facts[name] == metadata.version(name)


def test_threads_are_those_of_now(capsys: pytest.CaptureFixture[str]) -> None:
    before = weft.get_num_threads()
    try:
        weft.set_num_threads(3)
        assert printed(capsys)["threads"] == "3"
    finally:
        weft.set_num_threads(before)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the sets are those of x86-64")
def test_instruction_set_is_the_processors(capsys: pytest.CaptureFixture[str]) -> None:
    flags = set(Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split())
    expected = "x86-64"
    if {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"} <= flags:
        expected = "x86-64-v3"
        if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
            expected = "x86-64-v4"
    assert printed(capsys)["instruction set"] == expected


def test_what_is_missing_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def nothing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", nothing)
    monkeypatch.setattr(weft, "__file__", str(tmp_path / "weft" / "__init__.py"))
    facts = printed(capsys)
    assert facts["websockets"] == "not installed (`weft view` needs it)"
    assert facts["numpy"] == "not installed, and Weft requires it"
    assert facts["viewer's page"] == "missing: graphs cannot be shown as HTML"
    assert facts[f"Weft {weft.__version__}"] == f"in {tmp_path / 'weft'}"


def test_extras_are_those_of_the_package() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    required = re.search(r"^dependencies = \[(.*)\]$", text, re.MULTILINE)
    assert required is not None
    assert tuple(re.findall(r'"([\w-]+)>', required[1])) == tuple(
        sorted(info._REQUIRED, key=required[1].index)
    )
    assert "websockets" in info._EXTRAS


@pytest.mark.parametrize("template", ["bug", "slow"])
def test_templates_for_reports_ask_for_it(template: str) -> None:
    page = ROOT / ".github" / "ISSUE_TEMPLATE" / f"{template}.md"
    assert "what `weft info` prints" in page.read_text(encoding="utf-8")
    assert "weft info" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
