"""A copy of the tree in which one change at a time is made, built and tested."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutants.change import Change
from tests.mutants.suites import Suite, suites_for

ROOT = Path(__file__).parents[2]
BUILT = ["src/weft/viewer/page.html"]
# A test that takes longer than this hangs; so does a run of pytest that takes longer than that.
TEST_SECONDS = 180
RUN_SECONDS = 1200
PYTEST = ["-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider", "--doctest-modules"]
PYTEST += ["-o", f"faulthandler_timeout={TEST_SECONDS}", "-o", "faulthandler_exit_on_timeout=true"]
NO_TESTS = 5


class BrokenCopyError(Exception):
    """The unchanged copy does not build, or its tests do not pass."""


@dataclass
class Judge:
    """One copy of the tree, in a folder of its own."""

    tree: Path
    oracle: Path
    near: bool = False
    judged: int = field(default=0, init=False)

    def prepare(self, cpp: bool) -> None:
        """Bring the copy up to date with the work tree; build it if C++ is to be changed."""
        listing = ["git", "ls-files", "-co", "--exclude-standard"]
        names = subprocess.check_output(listing, cwd=ROOT, text=True).splitlines()
        module = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("src/weft/_core*.so")]
        for name in names + BUILT + ([] if cpp else module):
            _copy(ROOT / name, self.tree / name)
        for folder in ("src", "cpp", "tests"):
            for path in (self.tree / folder).rglob("*.[ch]*"):
                if not (ROOT / path.relative_to(self.tree)).exists():
                    path.unlink()
        if cpp:
            configure = ["cmake", "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}"]
            configure += ["-DWEFT_IN_PLACE=ON", "-S", ".", "-B", "build"]
            for command in (configure, ["ninja", "-C", "build"]):
                done = subprocess.run(
                    command, cwd=self.tree, check=False, stdout=subprocess.DEVNULL
                )
                if done.returncode:
                    raise BrokenCopyError(" ".join(command))
        if failing := self.run(Suite(("tests/test_tensor.py",))):
            raise BrokenCopyError(failing)

    def judge(self, change: Change) -> tuple[str, str]:
        """Return what came of a change: noticed, unnoticed or invalid; and by which test."""
        path = self.tree / change.file
        source, times = path.read_bytes(), path.stat()
        cpp = path.suffix != ".py"
        try:
            path.write_bytes(change.apply(source))
            if not cpp:
                # Python knows what it has compiled by the whole second of the text's time.
                self.judged += 1
                os.utime(path, (times.st_atime, times.st_mtime + self.judged))
            if cpp and not self.build():
                return "invalid", ""
            for suite in suites_for(self.tree, change):
                if self.near and suite.far:
                    break
                if by := self.run(suite):
                    return "noticed", by
        finally:
            path.write_bytes(source)
            if not cpp:
                # For ninja the unchanged file is newer than what was built.
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return "unnoticed", ""

    def build(self) -> bool:
        """Build the module as the copy's text is now; return whether that went well."""
        if not (self.tree / "build").exists():
            return True  # only Python is changed
        done = subprocess.run(
            ["ninja", "-C", "build"], cwd=self.tree, check=False, capture_output=True
        )
        return done.returncode == 0

    def run(self, suite: Suite) -> str:
        """Return the test that failed, or how the run ended; nothing if all passed."""
        python = str(self.oracle) if suite.oracle else sys.executable
        if suite.oracle and not self.oracle.exists():
            return ""
        places = os.pathsep.join([str(self.tree / "src"), str(self.tree)])
        environment = os.environ | {"PYTHONPATH": places}
        with tempfile.TemporaryFile("w+") as output:
            child = subprocess.Popen(
                [python, *PYTEST, *suite.arguments],
                cwd=self.tree,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = child.wait(RUN_SECONDS)
            except subprocess.TimeoutExpired:
                return "took too long"
            finally:
                _end(child)
            output.seek(0)
            text = output.read().strip()
        if status in {0, NO_TESTS}:
            return ""
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", text, re.MULTILINE)
        return failed[1] if failed else f"status {status}: {text.splitlines()[-1:]}"


def _copy(source: Path, target: Path) -> None:
    if not source.exists():
        return
    if not target.exists() or source.read_bytes() != target.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        if source.suffix in {".cpp", ".h", ".inc", ".txt"}:
            target.touch()


def _end(child: subprocess.Popen[bytes]) -> None:
    """End what pytest has started as well: it may have been cut off in the middle of a test."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
