"""Install a wheel, an sdist or a checkout into fresh environments and use it there.

`python scripts/try_install.py dist/weft-0.2.0.tar.gz --python python3.12 python3.13`: with each of
these Pythons, an empty environment that has nothing but Weft and what Weft requires. Says how long
that took. A Python that is not on this machine is left out, and that is said.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prepare import ROOT, python_at

SMOKE = ROOT / "scripts" / "smoke.py"


def version() -> str:
    """Return the version of the sources."""
    for line in (ROOT / "src" / "weft" / "__init__.py").read_text().splitlines():
        if line.startswith("__version__"):
            return line.split('"')[1]
    raise ValueError("src/weft/__init__.py says no version")


def without_python_settings() -> dict[str, str]:
    """Return the environment of processes that must not see this checkout."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def try_with(interpreter: str, what: Path, *, verbose: bool) -> bool:
    """Install into a fresh environment, run smoke.py there, and tell whether all went well."""
    with tempfile.TemporaryDirectory(prefix="weft-install-") as folder:
        environment, begin = Path(folder, "environment"), time.perf_counter()
        subprocess.run([interpreter, "-m", "venv", str(environment)], check=True)
        python = environment / "bin" / "python"
        install = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
        steps = (
            [*install, *([] if verbose else ["--quiet"]), str(what)],
            [str(python), "-I", "-W", "error", str(SMOKE), version()],
        )
        for step in steps:
            result = subprocess.run(step, cwd=folder, env=without_python_settings(), check=False)
            if result.returncode != 0:
                print(f"{what.name} with {interpreter}: FAILED", flush=True)
                return False
        seconds = time.perf_counter() - begin
        print(f"{what.name}: installed and used in {seconds:.0f} s", flush=True)
    return True


def fits(what: Path, interpreter: str) -> bool:
    """Tell whether this is no wheel for another Python."""
    command = [interpreter, "-c", "import sys; print('cp%d%d' % sys.version_info[:2])"]
    tag = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return what.suffix != ".whl" or f"-{tag}-" in what.name


def main() -> int:
    """Try what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", type=Path, nargs="+", help="wheels, an sdist or a checkout")
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="with these")
    parser.add_argument("--verbose", action="store_true", help="show what pip prints")
    given = parser.parse_args()
    results = [
        try_with(interpreter, what.resolve(), verbose=given.verbose)
        for interpreter in filter(None, map(python_at, given.python))
        for what in given.what
        if fits(what, interpreter)
    ]
    if not results:
        print("There is nothing to try with these Pythons.")
    return int(not results or not all(results))


if __name__ == "__main__":
    raise SystemExit(main())
