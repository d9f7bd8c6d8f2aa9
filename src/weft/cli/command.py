"""What commands have in common."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser
from typing import Any, Protocol


class CommandError(Exception):
    """Ends a command with one sentence and exit code 2."""


class Commands(Protocol):
    """Where a command adds its words: what argparse calls subparsers."""

    def add_parser(self, name: str, **options: Any) -> ArgumentParser:
        """Add a command."""
        ...


def add_script(parser: ArgumentParser) -> None:
    """Let a command take a script and, word by word, all that follows it."""
    parser.add_argument(
        "words",
        nargs=argparse.REMAINDER,
        metavar="script.py [arguments...]",
        help="the script and its arguments, whatever they look like",
    )


def find_script(parser: ArgumentParser, given: argparse.Namespace) -> None:
    """Tell the script from its arguments; all that comes before it is the command's."""
    words: list[str] = given.words
    if words[:1] == ["--"]:  # which ends the command's options
        words = words[1:]
    if not words:
        parser.error("the script is missing")
    given.script, given.arguments = words[0], words[1:]
