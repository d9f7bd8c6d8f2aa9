"""The command `weft run`: its words, and what it does with them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from weft.compat.finder import TorchIsLoadedError
from weft.compat.running import ScriptError, run_script

_DESCRIPTION = """\
Run a script that was written for PyTorch, unchanged: `import torch` is answered with Weft.

The script runs as `python script.py` would run it; its exit code is the command's."""


class Commands(Protocol):
    """Where the command adds its words: what argparse calls subparsers."""

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        """Add a command."""
        ...


def add_to(commands: Commands) -> None:
    """Add the command's words to the parser of `weft`."""
    parser = commands.add_parser(
        "run",
        help="run a PyTorch script on Weft",
        description=_DESCRIPTION,
        usage="weft run script.py [arguments...]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_words(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Run the script and return its exit code; 2 if it could not be started."""
    try:
        return run_script(given.script, given.arguments)
    except (ScriptError, TorchIsLoadedError) as error:
        print(f"weft: {error}", file=sys.stderr)
        return 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command by itself.

    Args:
        arguments: the script and its arguments; those of the process if None.
    """
    parser = argparse.ArgumentParser(
        prog="python -m weft.compat",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_words(parser)
    return run(parser.parse_args(arguments))


def _add_words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", help="the script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
