"""Who may come in: every request is looked at here before anything else happens to it."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

_MOST_CHARACTERS = 2048  # of a path with its query

Values = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request gets nothing: an HTTP status and a sentence."""

    status: int
    text: str


@dataclass(frozen=True, slots=True)
class Gate:
    """The rules for requests to one server.

    A page of a foreign site may make this browser send requests here, by our address or by a name
    of its own that leads here. It does not know the token, its name is not ours, and the browser
    tells a socket's origin.

    Args:
        host: What the server is bound to.
        port: Its port.
        token: What the address must hold.
    """

    host: str
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def path(self) -> str:
        """The path of the page, with the token."""
        return f"/?token={self.token}"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in ("127.0.0.1", "::1", "localhost")

    def refusal(self, method: str, path: str, headers: Values) -> Refusal | None:
        """Return why a request is refused, or None.

        Args:
            method: "GET".
            path: The path with its query.
            headers: Returns all values of a header.
        """
        if method != "GET":
            return Refusal(405, "Only GET is answered here.")
        if len(path) > _MOST_CHARACTERS:
            return Refusal(414, "The address is too long.")
        hosts = headers("Host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return Refusal(421, "This server does not have that name.")
        given = parse_qs(urlsplit(path).query).get("token", [])
        if len(given) != 1 or not hmac.compare_digest(given[0].encode(), self.token.encode()):
            return Refusal(403, "The address must hold the token that `weft view` printed.")
        if urlsplit(path).path == "/live" and list(headers("Origin")) != [f"http://{hosts[0]}"]:
            return Refusal(403, "The socket is for this server's own page only.")
        return None

    def _is_own(self, host: str) -> bool:
        """Tell whether a Host header names this server.

        A number cannot be made to lead elsewhere, a name can: of names, only those count that were
        meant.
        """
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        if name in ("localhost", self.host):
            return True
        try:
            address = ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return address.is_loopback or not self.is_local


def page_headers(host: str, nonce: str) -> dict[str, str]:
    """Return the headers of the page, which lets nothing in but its own script and socket.

    Args:
        host: What the browser called the server: "127.0.0.1:41234".
        nonce: What marks the page's own script and style.
    """
    policy = (
        "default-src 'none'",
        f"script-src 'nonce-{nonce}'",
        f"style-src 'nonce-{nonce}'",
        "img-src data: blob:",
        "worker-src blob:",
        f"connect-src 'self' ws://{host}",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    return {
        "Content-Security-Policy": "; ".join(policy),
        "Content-Type": "text/html; charset=utf-8",
        **common_headers(),
    }


def common_headers() -> dict[str, str]:
    """Return the headers of every answer."""
    return {
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
