"""Do what README.md says, as somebody who has just found Weft, and print how long each step took.

Two ways to a trained model: from a wheel of dist/, and from a clone of what is committed. Each
begins with an empty home, an empty environment and no caches, and has the programs that README.md
names: nothing of this checkout, no node, no cmake, no ninja. Of the environment only what says how
to reach the network is handed on.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
# What a machine may have and the README does not ask for.
NOT_NAMED = re.compile(r"(node|npm|npx|corepack|cmake|ninja|ninja-build|uv|conda|weft)$")
NETWORK = re.compile(
    r"(\w+_proxy|PIP_(INDEX_URL|EXTRA_INDEX_URL|CERT|TRUSTED_HOST)|SSL_CERT_(FILE|DIR)"
    r"|NODE_EXTRA_CA_CERTS|npm_config_(registry|cafile))$",
    re.IGNORECASE,
)
MARK = 'mark() { printf \'%s\\n\' "$EPOCHREALTIME" >> "$MARKS"; }'


@dataclass(frozen=True)
class Way:
    """A way of getting to a first result: lines of shell, as README.md has them."""

    name: str
    lines: tuple[str, ...]


def blocks(language: str, heading: str, text: str) -> list[str]:
    """Return the blocks of code of one language that stand under a heading of a page."""
    _, _, rest = text.partition(f"\n## {heading}\n")
    section = rest.partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.DOTALL | re.MULTILINE)


def ways(text: str) -> list[Way]:
    """Return the ways of README.md, each of which ends with its first program."""
    from_wheel, from_sources = blocks("sh", "Install", text)
    last = ("python model.py",)
    return [
        Way("wheel", (*from_wheel.splitlines(), *last)),
        Way(
            "clone",
            ("git clone --quiet SOURCES weft && cd weft", *from_sources.splitlines(), *last),
        ),
    ]


def programs(folder: Path) -> Path:
    """Make a folder of the programs of this machine without those that README.md does not name."""
    folder.mkdir()
    # The Python that the wheel is for, whatever `python3` is on this machine.
    own = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    (folder / "python3").symlink_to(own)
    places = [Path(sys.base_prefix, "bin"), Path("/usr/local/bin"), Path("/usr/bin"), Path("/bin")]
    for place in places:
        for program in sorted(place.iterdir()) if place.is_dir() else ():
            link = folder / program.name
            if not NOT_NAMED.match(program.name) and not link.is_symlink():
                link.symlink_to(program)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of the steps: a new home, and how to reach the network."""
    home = folder / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if NETWORK.match(name)}
    return {
        **kept,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "MARKS": str(folder / "marks"),
        "PATH": str(programs(folder / "programs")),
    }


def go(way: Way, model: str, folder: Path) -> list[float]:
    """Do each line of a way and return how many seconds each took; end if one fails."""
    start = folder / "start"
    start.mkdir()
    if way.name == "wheel":
        tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
        for wheel in (ROOT / "dist").glob(f"weft-*-{tag}-*.whl"):
            shutil.copy2(wheel, start)
    commands = [line.replace("SOURCES", str(ROOT)) for line in way.lines]
    # The program is what the reader has copied from the page by then.
    commands[-1] = f"cp '{folder}/model.py' . && {commands[-1]}"
    (folder / "model.py").write_text(model, encoding="utf-8")
    script = [MARK, "set -e", "mark", *(f"{command}\nmark" for command in commands)]
    result = subprocess.run(
        ["/bin/bash", "-c", "\n".join(script)],
        cwd=start,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    marks = [float(line) for line in (folder / "marks").read_text().split()]
    if result.returncode != 0:
        failed = way.lines[len(marks) - 1]
        sys.exit(f"{result.stdout}{result.stderr}\nnewcomer: `{failed}` failed.")
    print(f"{result.stdout.splitlines()[-1]!r} was the last line that was printed")
    return [later - earlier for earlier, later in pairwise(marks)]


def main() -> None:
    """Go both ways, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["wheel", "clone"], help="this way alone")
    given = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    model = blocks("python", "A model", text)[0]
    for way in ways(text):
        if given.only not in {None, way.name}:
            continue
        with tempfile.TemporaryDirectory(prefix="weft-newcomer-") as name:
            folder = Path(name)
            print(f"From a {way.name} to the first trained model:", flush=True)
            seconds = go(way, model, folder)
            for line, time in zip(way.lines, seconds, strict=True):
                print(f"{time:8.1f} s  {line}")
            print(f"{sum(seconds):8.1f} s  in all\n", flush=True)


if __name__ == "__main__":
    main()
