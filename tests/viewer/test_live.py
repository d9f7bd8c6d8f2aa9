"""A page that is served while a program runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.viewer import pages, samples
from tests.viewer.pages import Shown

POLICY = (
    "default-src 'none'; script-src 'nonce-abc123'; style-src 'nonce-abc123'; worker-src blob:; "
    "img-src data:; connect-src 'self'"
)


@pytest.fixture
def address() -> Iterator[str]:
    """A server with a strict policy, for an empty live page."""
    live = {"format": "weft-page", "version": 1, "title": "train.py", "graphs": [], "live": True}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.html(live).replace("__NONCE__", "abc123").encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", POLICY)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            pass

    if pages.missing():
        yield ""
        return
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/?token=secret"
    server.shutdown()
    thread.join()
    server.server_close()


class Socket:
    """The program's end of the socket."""

    def __init__(self, shown: Shown) -> None:
        self.routes: list[Any] = []
        self.urls: list[str] = []
        shown.page.route_web_socket(lambda url: "/live" in url, self._opened)

    def _opened(self, route: Any) -> None:
        self.routes.append(route)
        self.urls.append(route.url)

    def send(self, **message: Any) -> None:
        self.routes[-1].send(json.dumps(message))


def test_graphs_and_curves_arrive(fresh: Shown, address: str) -> None:
    shown, socket = fresh, Socket(fresh)
    shown.page.goto(address)
    badge = shown.page.locator(".live")
    badge.get_by_text("live", exact=True).wait_for()
    assert socket.urls[0].endswith("/live?token=secret")
    socket.send(kind="graph", graph=samples.branch_graph(True))
    shown.wait("s.items === 6")
    socket.send(kind="series", series=samples.series(20))
    shown.page.get_by_role("tab", name="Curves").wait_for()
    socket.send(kind="graph", graph=samples.lstm_graph(2))
    shown.wait("s.items > 10")
    assert shown.page.get_by_role("tab", selected=True).inner_text() == "LSTM over 2 words"
    # Who looks at something is not interrupted.
    shown.click("words")
    socket.send(kind="graph", graph=samples.branch_graph(False))
    shown.page.get_by_role("tab", name="negative").wait_for()
    shown.page.wait_for_timeout(400)
    assert shown.state()["items"] > 10
    socket.send(kind="status", text="step 12")
    badge.get_by_text("step 12").wait_for()
    socket.send(kind="end")
    badge.get_by_text("the program has ended").wait_for()


def test_only_the_last_fifty_graphs_are_kept(fresh: Shown, address: str) -> None:
    shown, socket = fresh, Socket(fresh)
    shown.page.goto(address)
    shown.page.locator(".live").get_by_text("live", exact=True).wait_for()
    for at in range(53):
        socket.send(kind="graph", graph={**samples.branch_graph(True), "title": f"step {at}"})
    shown.page.get_by_role("tab", name="step 52").wait_for()
    titles = shown.page.get_by_role("tab").all_inner_texts()
    assert titles[:50] == [f"step {at}" for at in range(3, 53)]


def test_connects_again_and_survives_bad_messages(fresh: Shown, address: str) -> None:
    shown, socket = fresh, Socket(fresh)
    shown.page.goto(address)
    badge = shown.page.locator(".live")
    badge.get_by_text("live", exact=True).wait_for()
    socket.send(kind="graph", graph={"trace": {"nodes": 5}})
    badge.get_by_text("could not be read").wait_for()
    socket.routes[-1].close()
    badge.get_by_text("trying again").wait_for()
    badge.get_by_text("live", exact=True).wait_for()
    assert len(socket.urls) == 2
