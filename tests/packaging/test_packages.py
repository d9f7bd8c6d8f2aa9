"""What the wheel and the sdist hold, and what they say on a machine that lacks something."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.scripts import ROOT, build_backend, package

MODULE = ROOT / "src" / "weft" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
CALL = "import sys; sys.path.insert(0, 'scripts'); import build_backend as backend; "
NOT_SOURCES = {"__pycache__", "node_modules", ".ruff_cache", ".pytest_cache"}

pytestmark = pytest.mark.skipif(
    not build_backend.PAGE.exists(), reason="the viewer's page is not built"
)


def sources(root: Path, folder: str) -> Iterator[str]:
    """Give the files of a folder that are no products of building."""
    for path in (root / folder).rglob("*"):
        relative = path.relative_to(root)
        if path.is_file() and not NOT_SOURCES & set(relative.parts) and path.suffix != ".so":
            yield str(relative)


def call(
    source: Path, what: str, tools: tuple[str, ...], *, succeeds: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a hook of the build backend where there are only these tools."""
    folder = source.parent / "-".join(["tools", *tools])
    folder.mkdir(exist_ok=True)
    for tool in tools:
        found = shutil.which(tool)
        assert found, tool
        (folder / tool).unlink(missing_ok=True)
        (folder / tool).symlink_to(found)
    hidden = ("CXX", "CC", "CMAKE_ARGS")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    result = subprocess.run(
        [sys.executable, "-c", CALL + what],
        cwd=source,
        env={**environment, "PATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (result.returncode == 0) == succeeds, result.stderr
    return result


def build_wheel(source: Path, target: Path) -> tuple[set[str], str]:
    """Pack a wheel without npm; return its files and what was printed."""
    settings = {"cmake.define.WEFT_BUILT": str(MODULE)}
    ran = call(source, f"backend.build_wheel({str(target)!r}, {settings!r})", ("cmake", "ninja"))
    (wheel,) = target.glob("weft-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}, ran.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build an sdist without npm and unpack it."""
    folder = tmp_path_factory.mktemp("sdist")
    (folder / "none").mkdir()
    shutil.copytree(ROOT, folder / "tree", ignore=shutil.ignore_patterns(*IGNORED), symlinks=True)
    call(folder / "tree", f"backend.build_sdist({str(folder)!r})", ())
    (archive,) = folder.glob("weft-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


IGNORED = (".git", ".venv*", "build", "build-*", "dist", "node_modules", "__pycache__", "*.so")


def test_the_sdist_has_all_that_builds_weft_and_the_page(sdist: Path) -> None:
    for folder in ("cpp", "src", "scripts", "viewer"):
        assert set(sources(ROOT, folder)) <= set(sources(sdist, folder))
    for name in ("CMakeLists.txt", "LICENSE", "Makefile", "README.md", "pyproject.toml"):
        assert (sdist / name).exists(), name
    assert (sdist / "src/weft/viewer/page.html").read_bytes() == build_backend.PAGE.read_bytes()
    assert not list(sdist.rglob("*.so"))


def test_a_wheel_from_the_sdist_is_whole_without_npm(sdist: Path, tmp_path: Path) -> None:
    files, printed = build_wheel(sdist, tmp_path)
    assert "page" not in printed
    wanted = {name.removeprefix("src/") for name in sources(ROOT, "src/weft")}
    assert wanted | {f"weft/{MODULE.name}"} == {name for name in files if ".dist-info/" not in name}
    assert {"weft/viewer/page.html", "weft/py.typed", "weft/core_examples.txt"} <= files
    assert sum(name.endswith(("/LICENSE", "/LICENSE-THIRD-PARTY.txt")) for name in files) == 2


def test_a_checkout_without_npm_says_one_sentence(sdist: Path, tmp_path: Path) -> None:
    whole, _ = build_wheel(sdist, tmp_path / "whole")
    checkout = tmp_path / "checkout"
    shutil.copytree(sdist, checkout)
    (checkout / "src/weft/viewer/page.html").unlink()
    files, printed = build_wheel(checkout, tmp_path / "without")
    assert [line for line in printed.splitlines() if "page" in line or "npm" in line] == [
        build_backend.WITHOUT_PAGE
    ]
    assert whole - files == {"weft/viewer/page.html"}
    assert files <= whole
    refused = call(checkout, f"backend.build_sdist({str(tmp_path)!r})", (), succeeds=False)
    assert refused.stderr == (
        "An sdist of Weft holds the viewer's page, which needs node 20.19 or newer with npm to be "
        "built.\n"
    )


def test_without_a_compiler_there_is_one_sentence(sdist: Path, tmp_path: Path) -> None:
    refused = call(
        sdist, f"backend.build_wheel({str(tmp_path)!r})", ("cmake", "ninja"), succeeds=False
    )
    assert refused.stderr == (
        "Weft needs a C++20 compiler and found none of c++, g++, clang++: install g++ 12 or "
        "clang 15 or newer, or set CXX to one.\n"
    )


def test_the_glibc_of_a_wheel_is_in_its_name() -> None:
    name = "weft-0.2.0-cp311-cp311-manylinux_2_35_x86_64.manylinux_2_9_x86_64.whl"
    assert package.glibc_of(name) == "2.9"
    with pytest.raises(ValueError, match="is not a manylinux wheel"):
        package.glibc_of("weft-0.2.0-cp311-cp311-linux_x86_64.whl")
