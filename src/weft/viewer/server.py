"""The server of a live page: one thread, one address, one page, one socket."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import socket
import threading
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from weft.viewer.gate import Gate, common_headers, page_headers
from weft.viewer.pages import page_html
from weft.viewer.store import Store, graph_message, message, series_message

_MOST_SOCKETS = 16
_MOST_INCOMING = 1024  # bytes; a page sends nothing
_SECONDS_BETWEEN_SERIES = 0.5
_SECONDS_TO_STOP = 2.0
_SECONDS_OF_SILENCE = 20.0  # then a browser is asked whether it is still there


class _Quiet(logging.LoggerAdapter[logging.Logger]):
    """Logs as details what the server calls errors: browsers that go away in mid-sentence."""

    def log(self, level: int, msg: object, *args: Any, **given: Any) -> None:
        super().log(min(level, logging.DEBUG), msg, *args, **given)


_log = _Quiet(logging.getLogger("weft"), {})


class ViewerServer:
    """Serve a store's page and what is added to it, in a thread of its own, inside a `with` block.

    Args:
        store: What to show.
        host: The address to listen at.
        port: The port; 0 takes a free one.

    Raises:
        OSError: If the address cannot be had.
    """

    def __init__(self, store: Store, host: str = "127.0.0.1", port: int = 0) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family)
        self.gate = Gate(host, self._socket.getsockname()[1])
        self._store = store
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._wakers: set[asyncio.Event] = set()
        self._thread = threading.Thread(target=self._run, name="weft-viewer", daemon=True)

    @property
    def address(self) -> str:
        """The page's address, with the token."""
        host = self.gate.host
        if host in ("0.0.0.0", "::", ""):
            host = socket.gethostname()
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.gate.port}{self.gate.path}"

    def __enter__(self) -> Self:
        self._store.listen(self._wake)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_SECONDS_TO_STOP)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with serve(
            self._feed,
            sock=self._socket,
            process_request=self._answer,
            compression=None,
            logger=_log,
            server_header=None,
            max_size=_MOST_INCOMING,
            ping_interval=_SECONDS_OF_SILENCE,
            ping_timeout=_SECONDS_OF_SILENCE,
            close_timeout=1.0,
        ) as server:
            await self._stop.wait()
            _close(server)

    def _wake(self) -> None:
        """Tell the sockets that there is something new; called in the program's thread."""
        with contextlib.suppress(RuntimeError):  # the server has stopped
            self._loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for waker in self._wakers:
            waker.set()

    # ---- requests ------------------------------------------------------------------------------

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request; None lets it become a socket."""
        del connection
        refusal = self.gate.refusal(request.method, request.path, request.headers.get_all)
        if refusal is not None:
            return _response(refusal.status, refusal.text)
        path = urlsplit(request.path).path
        if path == "/live":
            if len(self._wakers) >= _MOST_SOCKETS:
                return _response(503, "Too many pages are open.")
            return None
        if path != "/":
            return _response(404, "There is nothing here.")
        nonce = secrets.token_urlsafe(16)
        html = page_html(self._store.page_json(live=True), nonce)
        return _response(200, html, page_headers(request.headers["Host"], nonce))

    # ---- sockets -------------------------------------------------------------------------------

    async def _feed(self, connection: ServerConnection) -> None:
        """Send one page all that it has not seen, until it goes or the run ends."""
        waker = asyncio.Event()
        self._wakers.add(waker)
        listening = asyncio.create_task(_discard(connection))
        try:
            await self._send_all(connection, waker)
            await listening  # until the page goes: it may not have read everything yet
        except ConnectionClosed:
            pass
        finally:
            listening.cancel()
            self._wakers.discard(waker)

    async def _send_all(self, connection: ServerConnection, waker: asyncio.Event) -> None:
        store = self._store
        number, version, status = _number_after(connection), -1, ""
        while True:
            waker.clear()
            ended = store.ended
            if store.series_version() != version:
                version = store.series_version()
                await connection.send(series_message(store.series_json()))
            while (found := store.next_graph(number)) is not None:
                number, graph = found
                await connection.send(graph_message(number, graph))
            if store.status != status:
                status = store.status
                await connection.send(message("status", text=status))
            if ended is not None:
                await connection.send(message("end", text=ended))
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(waker.wait(), _SECONDS_BETWEEN_SERIES)


def _number_after(connection: ServerConnection) -> int:
    """Return the number of the last graph that a page says it has."""
    query = urlsplit(connection.request.path).query if connection.request else ""
    given = parse_qs(query).get("after", ["0"])[0]
    return int(given) if given.isdecimal() and len(given) < 10 else 0


async def _discard(connection: ServerConnection) -> None:
    """Read what a page sends and forget it, so that it may close."""
    async for _ in connection:
        pass


def _close(server: Server) -> None:
    for connection in server.connections:
        connection.transport.abort()


def _response(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    body = text.encode()
    if headers is None:
        headers = {"Content-Type": "text/plain; charset=utf-8", **common_headers()}
    headers = {**headers, "Content-Length": str(len(body)), "Connection": "close"}
    return Response(status, HTTPStatus(status).phrase, Headers(headers), body)
