"""`make release-check` says what keeps a checkout from being a release."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

import weft
from tests.packaging.scripts import ROOT, release_check

METADATA = """\
Metadata-Version: 2.4
Name: weft
Version: 1.2.3
License-Expression: MIT
Description-Content-Type: text/markdown

# Weft
"""
CHANGELOG = "# Changelog\n\n## Unreleased\n\n## [1.2.3] - 2031-02-03\n\n### Added\n- All.\n"
INSIDE = ("weft/viewer/page.html", "weft/py.typed", "LICENSE", "LICENSE-THIRD-PARTY.txt")
WHEEL = "weft-1.2.3-cp311-cp311-manylinux_2_31_x86_64.whl"


def write_wheel(path: Path, metadata: str = METADATA, inside: tuple[str, ...] = INSIDE) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weft-1.2.3.dist-info/METADATA", metadata)
        for name in inside:
            archive.writestr(name, "")


def write_sdist(path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name in ("PKG-INFO", *INSIDE):
            member = tarfile.TarInfo(f"{path.name.removesuffix('.tar.gz')}/{name}")
            member.size = len(METADATA)
            archive.addfile(member, io.BytesIO(METADATA.encode()))


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Make a checkout that can be released."""
    (tmp_path / "src/weft").mkdir(parents=True)
    (tmp_path / "src/weft/__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    (tmp_path / "CITATION.cff").write_text("a: b\nversion: 1.2.3\ndate-released: 2031-02-03\n")
    (tmp_path / "README.md").write_text("Python 3.11, 3.12 or 3.13, glibc 2.31 or newer\n")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "dist").mkdir()
    write_wheel(tmp_path / "dist" / WHEEL)
    write_sdist(tmp_path / "dist" / "weft-1.2.3.tar.gz")
    return tmp_path


def found(root: Path) -> list[str]:
    checks = (release_check.texts, release_check.claims, release_check.packages)
    return [line for check in checks for line in check(root)]


def test_a_release_is_one(release: Path) -> None:
    assert found(release) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("src/weft/__init__.py", "1.2.3", "1.2.3.dev1", "is no version of a release"),
        ("src/weft/__init__.py", "1.2.3", "1.2.4", "its newest section is not `## [1.2.4] - date`"),
        ("CHANGELOG.md", "## Unreleased\n", "", "there is no empty section `## Unreleased`"),
        (
            "CHANGELOG.md",
            "## Unreleased\n",
            "## Unreleased\n- More.\n",
            "there is no empty section",
        ),
        ("CHANGELOG.md", "### Added\n- All.\n", "## [1.2.2]\n### Added\n", "1.2.3 is empty"),
        ("CITATION.cff", "1.2.3", "1.2.2", "the line `version: 1.2.3` is missing"),
        ("CITATION.cff", "2031", "2030", "the line `date-released: 2031-02-03` is missing"),
        ("README.md", "3.12 or", "3.12 and", "does not say `Python 3.11, 3.12 or 3.13`"),
        ("README.md", "2.31", "2.28", "does not say `glibc 2.31 or newer`"),
        ("pyproject.toml", '">=3.11"', '">=3.10"', "requires-python is >=3.10, not 3.11"),
    ],
)
def test_texts_that_differ_are_said(
    release: Path, file: str, old: str, new: str, said: str
) -> None:
    path = release / file
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new))
    assert said in "\n".join(found(release))


def test_packages_that_are_not_whole_are_said(release: Path) -> None:
    write_wheel(release / "dist" / WHEEL, inside=INSIDE[1:])
    assert found(release) == [f"{WHEEL} has no weft/viewer/page.html"]
    write_wheel(release / "dist" / WHEEL, METADATA.replace("1.2.3", "1.2.2"))
    assert found(release) == [f"{WHEEL}: its metadata say weft 1.2.2"]
    write_wheel(release / "dist" / WHEEL, METADATA.replace("2.4", "2.1"))
    assert "license-expression" in "".join(found(release))
    (release / "dist" / WHEEL).rename(release / "dist" / WHEEL.replace("many", ""))
    assert "is not a manylinux wheel" in "".join(found(release))
    (release / "dist" / "weft-1.2.3.tar.gz").unlink()
    assert found(release) == ["dist/ has 1 wheels and 0 sdists"]


def test_the_tree_has_to_be_committed(release: Path) -> None:
    def git(*words: str) -> None:
        names = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *names, *words], cwd=release, check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "all")
    assert list(release_check.tree(release)) == []
    git("tag", "v1.2.2")
    assert list(release_check.tree(release)) == ["this commit is tagged v1.2.2, and this is 1.2.3"]
    (release / "new").touch()
    assert next(release_check.tree(release)) == "not committed:\n?? new"


def test_texts_of_this_checkout_agree() -> None:
    assert release_check.version_of(ROOT) == weft.__version__
    unreleased = re.compile(r"over .* there is no empty section")  # there may be something new
    lines = [*release_check.texts(ROOT), *release_check.claims(ROOT)]
    assert [line for line in lines if not unreleased.search(line)] == []
