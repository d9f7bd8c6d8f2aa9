"""`weft show`: a saved trace as a page."""

from __future__ import annotations

import argparse
from pathlib import Path

from weft.cli.command import CommandError, Commands
from weft.viewer.page import PageMissingError
from weft.viewer.pages import html_of_file


def add_to(commands: Commands) -> None:
    """Add the command's words to the parser."""
    parser = commands.add_parser(
        "show",
        help="write a page of a saved trace",
        description="Write a page of a saved trace: one HTML file that works offline.",
        allow_abbrev=False,
    )
    parser.add_argument("trace", type=Path, help="a .json file that Weft wrote")
    parser.add_argument(
        "-o", "--output", type=Path, help="where to write the page (beside the trace, as .html)"
    )
    parser.set_defaults(run=run, parser=parser)


def run(given: argparse.Namespace) -> int:
    """Write the page and say where it is."""
    source: Path = given.trace
    target: Path = given.output or source.with_suffix(".html")
    if target == source:
        raise CommandError(f"{target} would be overwritten; name another file with --output.")
    try:
        html = html_of_file(source.read_text(encoding="utf-8"), source.name)
        target.write_text(html, encoding="utf-8")
    except PageMissingError as error:
        raise CommandError(f"{error}.") from None
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}.") from None
    except ValueError as error:
        raise CommandError(f"{source} cannot be shown: {error}") from None
    print(target)
    return 0
