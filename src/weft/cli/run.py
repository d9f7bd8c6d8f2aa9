"""`weft run`: a script that was written for PyTorch, unchanged."""

from __future__ import annotations

import argparse
from contextlib import nullcontext

from weft.cli.command import CommandError, Commands, add_script
from weft.cli.script import end_by_interrupt, read_script, run_script
from weft.compat import TorchIsLoadedError, answering_torch

_DESCRIPTION = """\
Run a script that was written for PyTorch, unchanged: `import torch` is answered with Weft.

The script runs as `python script.py` would run it; its exit code is the command's."""


def add_to(commands: Commands) -> None:
    """Add the command's words to the parser."""
    parser = commands.add_parser(
        "run",
        help="run a PyTorch script on Weft",
        description=_DESCRIPTION,
        usage="weft run script.py [arguments...]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_script(parser)
    parser.set_defaults(run=run, parser=parser)


def run(given: argparse.Namespace) -> int:
    """Run the script and return its exit code."""
    script = read_script(given.script, given.arguments)
    try:
        with answering_torch():
            outcome = run_script(script, nullcontext())
    except TorchIsLoadedError as error:
        raise CommandError(str(error)) from None
    if isinstance(outcome.error, KeyboardInterrupt):
        end_by_interrupt()
    return outcome.code
