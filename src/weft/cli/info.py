"""`weft info`: what a report of a bug has to say about where Weft runs."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import weft
from weft import _core
from weft.cli.command import Commands

# What Weft requires, and what it uses where it is installed.
_REQUIRED = ("numpy", "greenlet", "scipy-openblas32")
_EXTRAS = {"websockets": "`weft view` needs it", "rich": "it colours what is printed"}


def add_to(commands: Commands) -> None:
    """Add the command's words to the parser."""
    parser = commands.add_parser(
        "info",
        help="say what is installed and where it runs, for reports of bugs",
        description="Say what is installed and where it runs, for reports of bugs.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run, parser=parser)


def run(given: argparse.Namespace) -> int:  # noqa: ARG001 - as commands are called
    """Print all that is known."""
    lines = list(facts())
    width = max(len(name) for name, _ in lines)
    for name, fact in lines:
        print(f"{name:{width}}  {fact}")
    return 0


def facts() -> Iterator[tuple[str, str]]:
    """Give the name of each fact and the fact."""
    yield f"Weft {weft.__version__}", _kind_of_installation()
    yield "built by", _core.compiler()
    python = f"{platform.python_version()} ({platform.python_implementation()})"
    yield "Python", python
    library, version = platform.libc_ver()
    system = f"{platform.system()} {platform.release()} ({platform.machine()})"
    yield "system", f"{system}, {library or 'unknown libc'} {version}".rstrip()
    yield "processor", f"{_processor()}, {_cores()}"
    yield "instruction set", _core.instruction_set()
    yield "threads", str(weft.get_num_threads())
    for name in _REQUIRED:
        yield name, _version(name) or "not installed, and Weft requires it"
    for name, purpose in _EXTRAS.items():
        yield name, _version(name) or f"not installed ({purpose})"
    yield "viewer's page", _page()


def _kind_of_installation() -> str:
    folder = Path(weft.__file__).parent
    if folder.parent.name == "site-packages":
        return "installed"
    return "in a checkout" if folder.parent.name == "src" else f"in {folder}"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _cores() -> str:
    count, usable = os.cpu_count() or 1, len(os.sched_getaffinity(0))
    cores = f"{count} core{'s' if count > 1 else ''}"
    return cores if count == usable else f"{cores}, of which Weft may use {usable}"


def _page() -> str:
    page = Path(weft.__file__).parent / "viewer" / "page.html"
    try:
        return f"{page.stat().st_size / 1000:.0f} kB"
    except OSError:
        return "missing: graphs cannot be shown as HTML"
