"""What commands have in common."""

from argparse import ArgumentParser
from typing import Any, Protocol


class CommandError(Exception):
    """Ends a command with one sentence and exit code 2."""


class Commands(Protocol):
    """Where a command adds its words: what argparse calls subparsers."""

    def add_parser(self, name: str, **options: Any) -> ArgumentParser:
        """Add a command."""
        ...
