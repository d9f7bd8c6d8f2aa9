"""The command `weft`: it runs and shows scripts, shows traces, and says where it runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import weft
from weft.cli import info, run, show, view
from weft.cli.command import CommandError, find_script

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        arguments: The words after `weft`; those of the process if None.
    """
    parser = argparse.ArgumentParser(
        prog="weft", description="Run programs, and see what they do.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"weft {weft.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (view, run, show, info):
        command.add_to(commands)
    given, unknown = parser.parse_known_args(arguments)
    command_parser: argparse.ArgumentParser = given.parser
    takes_script = hasattr(given, "words")
    if unknown:
        advice = " (the script's own options stand behind its name)" if takes_script else ""
        command_parser.error(f"unrecognized arguments: {' '.join(unknown)}{advice}")
    if takes_script:
        find_script(command_parser, given)
    try:
        return given.run(given)
    except CommandError as error:
        print(f"weft: {error}", file=sys.stderr)
        return 2
