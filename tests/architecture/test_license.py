"""Whose work comes with Weft, and under which license, is written down."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_license_is_stated_and_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License\n")
    assert set(project["license-files"]) == {path.name for path in ROOT.glob("LICENSE*")}
    assert not [each for each in project["classifiers"] if each.startswith("License")]


def test_every_part_of_the_page_and_the_module_is_named() -> None:
    lines = (ROOT / "LICENSE-THIRD-PARTY.txt").read_text().splitlines()
    named = {name for line in lines for name in line.split(", ")}
    locked = json.loads((ROOT / "viewer" / "package-lock.json").read_text())["packages"]
    in_page = {
        path.removeprefix("node_modules/")
        for path, package in locked.items()
        if path and not package.get("dev") and not package.get("optional")
    }
    assert {"d3-zoom", "uplot"} <= in_page
    assert in_page | {"nanobind", "robin-map"} <= named
