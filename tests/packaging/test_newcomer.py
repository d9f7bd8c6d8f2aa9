"""`make newcomer` does what the README says, with what the README names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.scripts import ROOT, newcomer

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = """\
# A page

## Install

```sh
one
```

Words.

```sh
two
three
```

## A model

```python
print(1)
```
"""


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Go a way that prints what a step sees, in an environment that has much."""
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("PIP_CACHE_DIR", "/somewhere")
    monkeypatch.setenv("https_proxy", "kept")
    lines = ("cd ~", "env > names", "ls -A . >> names", "ls $PATH >> names", "cat names")
    way = newcomer.Way("clone", lines)
    assert len(newcomer.go(way, "print(1)\n", tmp_path)) == len(lines)
    return (tmp_path / "home" / "names").read_text().splitlines()


def test_the_page_has_two_ways() -> None:
    from_wheel, clone = newcomer.ways(README)
    assert [line for line in from_wheel.lines if "make" in line] == []
    assert "make wheel" in clone.lines
    for way in (from_wheel, clone):
        assert any(line.startswith("pip install ") for line in way.lines)
        assert way.lines[-1] == "python model.py"
    assert "weft.map" in newcomer.blocks("python", "A model", README)[0]


def test_blocks_are_those_under_a_heading() -> None:
    assert newcomer.blocks("sh", "Install", PAGE) == ["one\n", "two\nthree\n"]
    assert newcomer.blocks("python", "Install", PAGE) == []
    assert newcomer.ways(PAGE)[1].lines[1:] == ("two", "three", "python model.py")


def test_steps_see_a_new_home_and_what_the_page_names(seen: list[str], tmp_path: Path) -> None:
    names = {line.partition("=")[0] for line in seen}
    assert "PYTHONPATH" not in names
    assert "PIP_CACHE_DIR" not in names
    assert "https_proxy=kept" in seen
    assert f"HOME={tmp_path / 'home'}" in seen
    assert {"python3", "bash"} <= names
    assert not {"node", "npm", "cmake", "ninja", "weft"} & names


def test_a_step_that_fails_is_named(tmp_path: Path) -> None:
    way = newcomer.Way("clone", ("true", "echo why; false", "true"))
    with pytest.raises(SystemExit, match=r"(?s)why.*newcomer: `echo why; false` failed"):
        newcomer.go(way, "", tmp_path)
