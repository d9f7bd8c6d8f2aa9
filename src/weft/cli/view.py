"""`weft view`: a script that is watched while it runs."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from weft.cli.command import CommandError, Commands, add_script
from weft.cli.script import Outcome, end_by_interrupt, read_script, run_script
from weft.viewer.live import Live
from weft.viewer.page import PageMissingError
from weft.viewer.pages import page_html
from weft.viewer.store import Store

if TYPE_CHECKING:
    from weft.viewer.server import ViewerServer

_DESCRIPTION = """\
Run a script and show its graphs in a browser while it runs.

The page has a graph of each step that was looked at (forward, batched plan, backward), the loss
and the time of each step. The script runs as `python script.py` would run it; its exit code is the
command's. The page stays until Ctrl-C.

Options of `weft view` stand before the script; what follows the script is its own."""


def add_to(commands: Commands) -> None:
    """Add the command's words to the parser."""
    parser = commands.add_parser(
        "view",
        help="run a script and show its graphs while it runs",
        description=_DESCRIPTION,
        usage="weft view [options] script.py [arguments...]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add_script(parser)
    add(
        "--host", default="127.0.0.1", help="the address to serve at (127.0.0.1: this machine only)"
    )
    add("--port", type=_port, default=0, help="the port (0: any free one)")
    add("--open", action="store_true", help="open the page in a browser")
    add("--no-values", action="store_true", help="keep no statistics of values and gradients")
    add("--rate", type=_positive, default=2.0, metavar="N", help="at most N graphs a second (2)")
    add("--share", type=_positive, default=0.05, metavar="PART",
        help="the part of the script's time that may go into graphs (0.05)")  # fmt: skip
    add("--every", action="store_true",
        help="record every step of lazy programs too: slower, but shows the last")  # fmt: skip
    add("--save", type=Path, metavar="PAGE.html", help="write the page to a file at the end")
    add("--exit", action="store_true", help="end when the script ends")
    parser.set_defaults(run=run, parser=parser)


def run(given: argparse.Namespace) -> int:
    """Run the script beside the server, and stay until Ctrl-C."""
    script = read_script(given.script, given.arguments)
    store = Store(Path(given.script).name)
    with _server(store, given.host, given.port) as server:
        _announce(given, server)
        live = Live(
            store,
            values=not given.no_values,
            rate=given.rate,
            share=given.share,
            every=given.every,
        )
        outcome = run_script(script, live)
        store.end(_said(outcome))
        _tell_misplaced(given, outcome)
        if given.save is not None:
            _save(store, given.save)
        if isinstance(outcome.error, KeyboardInterrupt):
            end_by_interrupt()
        if not given.exit:
            _stay(server)
    return outcome.code


def _server(store: Store, host: str, port: int) -> ViewerServer:
    try:
        from weft.viewer.server import ViewerServer  # noqa: PLC0415 - needs an optional package
    except ModuleNotFoundError as error:
        raise CommandError(
            f"`weft view` needs the package {error.name}: install it with `pip install websockets`."
        ) from None
    try:
        page_html("null")  # so that a page that is missing is told before the script runs
        return ViewerServer(store, host, port)
    except PageMissingError as error:
        raise CommandError(f"{error}.") from None
    except OSError as error:
        raise CommandError(f"{host}:{port} cannot be served at: {error.strerror}.") from None


def _announce(given: argparse.Namespace, server: ViewerServer) -> None:
    _say(f"{given.script} is shown at {server.address}")
    if not server.gate.is_local:
        _say(
            f"warning: at {given.host} everybody who can reach this machine and learns this "
            "address sees the script's sources and values, unencrypted."
        )
    if given.open and not webbrowser.open(server.address):
        _say("no browser could be opened; open the address above by hand.")


def _tell_misplaced(given: argparse.Namespace, outcome: Outcome) -> None:
    """Say which of the script's arguments look like ours, if the script did not know them."""
    options = vars(given)
    words = [word.partition("=")[0] for word in given.arguments if word.startswith("--")]
    ours = [word for word in words if word[2:].replace("-", "_") in options]
    if ours and isinstance(outcome.error, SystemExit) and outcome.code == 2:
        _say(
            f"the script was given {' and '.join(ours)}; options of `weft view` stand before it, "
            f"as in `weft view {ours[0]} {given.script}`."
        )


def _said(outcome: Outcome) -> str:
    if isinstance(outcome.error, SystemExit) or outcome.error is None:
        return f"the script has ended with exit code {outcome.code}"
    return f"the script has failed: {type(outcome.error).__name__}: {outcome.error}"


def _save(store: Store, path: Path) -> None:
    try:
        path.write_text(page_html(store.page_json(live=False)), encoding="utf-8")
    except OSError as error:
        _say(f"{path} could not be written: {error.strerror}.")
    else:
        _say(f"the page is in {path}")


def _stay(server: ViewerServer) -> None:
    try:
        _say(f"the script has ended; the page stays at {server.address} until Ctrl-C.")
        Event().wait()
    except KeyboardInterrupt:
        print(file=sys.stderr)


def _say(text: str) -> None:
    """Print to where it does not mix with what the script prints."""
    print(f"weft view: {text}", file=sys.stderr, flush=True)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 16:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text!r}")
    return int(text)


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return number
