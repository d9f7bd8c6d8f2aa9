"""Run `weft` as a process, and listen to its page."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import weft

PAGE = Path(weft.__file__).parent / "viewer" / "page.html"
TEMPLATE = (
    '<!doctype html><html><head><style nonce="__NONCE__"></style></head><body>'
    '<script type="application/json" id="weft-page">null</script>'
    '<script nonce="__NONCE__">document.title = "weft";</script></body></html>'
)
_SECONDS = 120.0
_WITH_TEMPLATE = (
    "import sys; from pathlib import Path; from weft.viewer import pages;"
    "pages.template = Path({!r}).read_text; from weft.cli import main; sys.exit(main())"
)


def weft_command(folder: Path) -> list[str]:
    """Return the command `weft`, with a small page where the real one is not built."""
    if PAGE.exists():
        return [sys.executable, "-m", "weft"]
    template = folder / "template.html"
    template.write_text(TEMPLATE)
    return [sys.executable, "-c", _WITH_TEMPLATE.format(str(template))]


def run_weft(folder: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `weft` to its end."""
    return subprocess.run(
        [*weft_command(folder), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
        **options,
    )


@dataclass
class View:
    """A `weft view` that is running."""

    process: subprocess.Popen[str]
    address: str
    said: list[str] = field(default_factory=list)

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    @property
    def socket_address(self) -> str:
        return self.address.replace("http://", "ws://").replace("/?", "/live?")

    def wait_for(self, text: str) -> None:
        """Read what the command says until a text comes."""
        assert self.process.stderr is not None
        while not any(text in line for line in self.said):
            line = self.process.stderr.readline()
            assert line, f"the command ended without saying {text!r}: {self.said}"
            self.said.append(line)

    def interrupt(self) -> int:
        """Press Ctrl-C, and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(_SECONDS)


@contextlib.contextmanager
def viewing(
    folder: Path, script: str, *options: str, arguments: tuple[str, ...] = ()
) -> Iterator[View]:
    """Run `weft view` on a script, given as text, beside the test."""
    path = folder / "script.py"
    path.write_text(script)
    process = subprocess.Popen(
        [*weft_command(folder), "view", *options, str(path), *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        # In the background a shell lets programs ignore Ctrl-C, and their children too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    try:
        view = View(process, "")
        view.wait_for("http://")
        found = re.search(r"http://\S+", view.said[-1])
        assert found is not None
        view.address = found[0]
        yield view
    finally:
        process.kill()
        process.communicate()


def receive(view: View, until: str = "end", address: str = "") -> list[dict[str, Any]]:
    """Listen to the page's socket until a kind of message comes, and return all messages."""
    client = pytest.importorskip("websockets.sync.client")
    messages: list[dict[str, Any]] = []
    with client.connect(
        address or view.socket_address,
        origin=f"http://{view.host}",
        max_size=None,
        compression=None,
    ) as socket:
        end = time.monotonic() + _SECONDS
        while not messages or messages[-1]["kind"] != until:
            messages.append(json.loads(socket.recv(max(end - time.monotonic(), 0))))
    return messages


def page_in(html: str) -> dict[str, Any]:
    """Return the page's JSON out of its HTML."""
    found = re.search(r'id="weft-page">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return json.loads(found[1])
