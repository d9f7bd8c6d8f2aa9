"""The real programs that read what weft writes, for tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "mermaid"


def need(found: bool, text: str) -> None:
    """Skip a test that lacks a tool; in CI that is an error."""
    if not found:
        if os.environ.get("CI") == "1":
            pytest.fail(text)
        pytest.skip(text)


def graphviz(text: str) -> str:
    """Return what Graphviz draws of a text; an error if it complains."""
    program = shutil.which("dot")
    need(program is not None, "NOT CHECKED: dot is not installed (apt-get install graphviz)")
    result = subprocess.run(
        [program or "dot", "-Tsvg"], input=text, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def mermaid_complaints(texts: list[str]) -> list[str | None]:
    """Return for each text what Mermaid's parser says against it, or None."""
    node, npm = shutil.which("node"), shutil.which("npm")
    need(node is not None and npm is not None, "NOT CHECKED: node and npm are not installed")
    if not (FOLDER / "node_modules" / "mermaid").is_dir():
        # `npm ci` takes what the lock file has, from whatever registry this machine uses.
        done = subprocess.run(
            [npm or "npm", "ci"], cwd=FOLDER, capture_output=True, text=True, check=False
        )
        need(done.returncode == 0, f"NOT CHECKED: npm ci failed: {done.stderr[-300:]}")
    result = subprocess.run(
        [node or "node", str(FOLDER / "check.mjs")],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    answers: list[str | None] = json.loads(result.stdout)
    return answers
