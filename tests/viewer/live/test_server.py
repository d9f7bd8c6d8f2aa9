"""The server of a live page, spoken to by hand."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import socket
import time
from collections.abc import Iterator

import pytest

from tests.viewer.live.running import TEMPLATE, page_in
from weft.viewer import pages
from weft.viewer.series import Series
from weft.viewer.store import Store

client = pytest.importorskip("websockets.sync.client")
exceptions = pytest.importorskip("websockets.exceptions")
server_module = pytest.importorskip("weft.viewer.server")

GRAPH = '{"title":"step 1","trace":{"format":"weft-trace","version":1},"groups":[],"group_of":[]}'
PADDING = "x" * 3_000_000


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(pages, "template", lambda: f"{TEMPLATE}<!-- {PADDING} -->")
    return Store("run.py")


@pytest.fixture
def server(store: Store) -> Iterator[server_module.ViewerServer]:
    with server_module.ViewerServer(store) as server:
        yield server


def ask(
    server: server_module.ViewerServer, request: str, pause: float = 0.0
) -> tuple[int, str, str]:
    """Send a request as it stands, and return status (0: no answer), headers, body."""
    with socket.create_connection(("127.0.0.1", server.gate.port), timeout=60) as connection:
        connection.sendall(request.encode("latin-1"))
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
            time.sleep(pause)
    head, _, body = answer.decode().partition("\r\n\r\n")
    return int(head.split(" ")[1]) if head else 0, head, body


def get(server: server_module.ViewerServer, path: str, **headers: str) -> tuple[int, str, str]:
    lines = {"Host": f"127.0.0.1:{server.gate.port}"} | headers
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return ask(server, f"GET {path} HTTP/1.1\r\n{text}\r\n")


def upgrade(server: server_module.ViewerServer, path: str, origin: str) -> int:
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(b"0123456789abcdef").decode(),
        "Origin": origin,
    }
    return get(server, path, **headers)[0]


def connect(server: server_module.ViewerServer, query: str = "") -> client.ClientConnection:
    own = f"127.0.0.1:{server.gate.port}"
    path = f"/live?token={server.gate.token}{query}"
    return client.connect(f"ws://{own}{path}", origin=f"http://{own}", compression=None)


def test_page_is_whole_and_guarded(server: server_module.ViewerServer) -> None:
    status, head, body = get(server, server.gate.path)
    assert status == 200
    page = page_in(body)
    assert (page["format"], page["title"], page["live"]) == ("weft-page", "run.py", True)
    assert body.endswith(f"{PADDING} -->")
    nonce = re.search(r"'nonce-([^']+)'", head)
    assert nonce is not None
    assert f'<script nonce="{nonce[1]}">' in body
    assert "__NONCE__" not in body
    for header in (
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "frame-ancestors 'none'",
    ):
        assert header in head
    assert "Server:" not in head
    assert get(server, server.gate.path)[1] != head  # another nonce


def test_slow_reader_gets_the_whole_page(server: server_module.ViewerServer) -> None:
    own = f"127.0.0.1:{server.gate.port}"
    request = f"GET {server.gate.path} HTTP/1.1\r\nHost: {own}\r\n\r\n"
    assert ask(server, request, pause=0.01)[2].endswith(f"{PADDING} -->")


def test_refusals_of_requests(server: server_module.ViewerServer) -> None:
    path = server.gate.path
    assert get(server, "/")[0] == 403
    assert get(server, "/?token=wrong")[0] == 403
    assert get(server, path, Host="evil.example")[0] == 421
    assert get(server, path, Host=f"evil.example:{server.gate.port}")[0] == 421
    assert get(server, path, Host="")[0] == 421
    assert get(server, path.replace("/?", "/etc/passwd?"))[0] == 404
    assert get(server, path.replace("/?", "/../pages.py?"))[0] == 404
    assert get(server, "/" + "x" * 4000)[0] == 414
    _, head, body = get(server, "/?token=wrong")
    assert "no-store" in head
    assert "nosniff" in head
    assert server.gate.token not in body


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT", "OPTIONS"])
def test_other_methods_are_refused(server: server_module.ViewerServer, method: str) -> None:
    own = f"127.0.0.1:{server.gate.port}"
    request = f"{method} {server.gate.path} HTTP/1.1\r\nHost: {own}\r\n\r\n"
    assert ask(server, request)[0] == 405


def test_bodies_and_nonsense_are_refused(server: server_module.ViewerServer) -> None:
    own = f"127.0.0.1:{server.gate.port}"
    body = f"GET {server.gate.path} HTTP/1.1\r\nHost: {own}\r\nContent-Length: 9\r\n\r\nsomething"
    for request in (body, "nonsense\r\n\r\n", "GET / HTTP/1.1\r\n" + "A: b\r\n" * 500 + "\r\n"):
        status, _, answer = ask(server, request)
        assert status == 0 or status >= 400
        assert "weft-page" not in answer
    assert get(server, server.gate.path)[0] == 200


@pytest.mark.parametrize(
    "origin", ["", "null", "http://evil.example", "https://127.0.0.1", "http://127.0.0.1:1"]
)
def test_sockets_of_foreign_pages_are_refused(
    server: server_module.ViewerServer, origin: str
) -> None:
    assert upgrade(server, f"/live?token={server.gate.token}", origin) == 403


def test_sockets_without_token_are_refused(server: server_module.ViewerServer) -> None:
    own = f"http://127.0.0.1:{server.gate.port}"
    assert upgrade(server, "/live", own) == 403
    assert upgrade(server, "/live?token=wrong", own) == 403


def test_socket_gets_what_was_there_and_what_comes(
    server: server_module.ViewerServer, store: Store
) -> None:
    loss = Series("loss", "")
    loss.add(1, float("nan"))
    store.add_series(loss)
    store.add_graph(GRAPH)
    with connect(server) as page:
        first = [json.loads(page.recv(60)) for _ in range(2)]
        assert first[0]["series"] == [{"name": "loss", "unit": "", "points": [[1, "nan"]]}]
        assert (first[1]["number"], first[1]["graph"]["title"]) == (1, "step 1")
        store.add_graph(GRAPH.replace("step 1", "step 2"))
        assert json.loads(page.recv(60))["graph"]["title"] == "step 2"
        store.set_status("well")
        assert json.loads(page.recv(60)) == {"kind": "status", "text": "well"}
        store.end("done")
        assert json.loads(page.recv(60)) == {"kind": "end", "text": "done"}


def test_page_that_comes_back_says_what_it_has(
    server: server_module.ViewerServer, store: Store
) -> None:
    for _ in range(3):
        store.add_graph(GRAPH)
    store.end("")
    with connect(server, "&after=2") as page:
        kinds = [json.loads(page.recv(60)) for _ in range(3)]
    assert [one.get("number") for one in kinds if one["kind"] == "graph"] == [3]


def test_large_messages_of_a_page_end_its_socket(server: server_module.ViewerServer) -> None:
    with connect(server) as page:
        page.send("x" * 100_000)
        with pytest.raises(exceptions.ConnectionClosed):
            for _ in range(100):
                page.recv(60)


def test_too_many_pages_are_refused(server: server_module.ViewerServer) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(16):
            stack.enter_context(connect(server)).recv(60)
        with pytest.raises(exceptions.InvalidStatus), connect(server):
            pass


def test_dead_reader_holds_nobody_up(server: server_module.ViewerServer, store: Store) -> None:
    own = f"127.0.0.1:{server.gate.port}"
    key = base64.b64encode(b"0123456789abcdef").decode()
    with socket.create_connection(("127.0.0.1", server.gate.port)) as dead:
        dead.sendall(
            f"GET /live?token={server.gate.token} HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        dead.recv(100)  # and never again
        graph = GRAPH.replace("step 1", "y" * 1_000_000)
        for _ in range(200):
            store.add_graph(graph)  # comes back although nobody reads
        with connect(server) as page:
            numbers = []
            while not numbers or numbers[-1] < 200:
                found = json.loads(page.recv(60))
                if found["kind"] == "graph":
                    numbers.append(found["number"])
    assert numbers == list(range(151, 201))


def test_store_is_bounded_in_bytes(store: Store) -> None:
    for _ in range(10):
        store.add_graph("x" * (30 << 20))
    found, number = 0, 0
    while (one := store.next_graph(number)) is not None:
        number, found = one[0], found + 1
    assert (number, found) == (10, 4)


def test_port_that_is_taken_is_told(server: server_module.ViewerServer, store: Store) -> None:
    with pytest.raises(OSError, match="in use"):
        server_module.ViewerServer(store, port=server.gate.port)
