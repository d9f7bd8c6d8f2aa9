"""Who may come in: the rules, one by one."""

from __future__ import annotations

import pytest

from weft.viewer.gate import Gate, page_headers

OWN = "127.0.0.1:4000"


def refused(
    path: str | None = None,
    *,
    method: str = "GET",
    host: str | list[str] = OWN,
    origin: str | None = None,
    bound: str = "127.0.0.1",
) -> int | None:
    gate = Gate(bound, 4000, "secret")
    hosts = [host] if isinstance(host, str) else host
    headers = {"Host": hosts, "Origin": [] if origin is None else [origin]}
    path = gate.path if path is None else path
    refusal = gate.refusal(method, path, lambda name: headers.get(name, []))
    return None if refusal is None else refusal.status


def test_page_with_token_is_given() -> None:
    assert refused() is None


@pytest.mark.parametrize(
    "path", ["/", "/?token=", "/?token=Secret", "/?token=secret&token=secret", "/?other=secret"]
)
def test_token_is_required(path: str) -> None:
    assert refused(path) == 403


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT", "OPTIONS", "DELETE"])
def test_only_get(method: str) -> None:
    assert refused(method=method) == 405


@pytest.mark.parametrize(
    "host",
    ["evil.example:4000", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil.example:4000", "",
     [], [OWN, OWN], "192.168.1.5:4000", "[fe80::1]:4000"],
)  # fmt: skip
def test_foreign_names_are_refused(host: str | list[str]) -> None:
    assert refused(host=host) == 421


@pytest.mark.parametrize("host", [OWN, "localhost:4000", "[::1]:4000"])
def test_own_names_are_known(host: str) -> None:
    assert refused(host=host) is None


def test_bound_elsewhere_numbers_are_own_but_names_are_not() -> None:
    assert refused(host="192.168.1.5:4000", bound="0.0.0.0") is None
    assert refused(host="evil.example:4000", bound="0.0.0.0") == 421
    assert refused(host="box.local:4000", bound="box.local") is None


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (f"http://{OWN}", None),
        (None, 403),
        ("null", 403),
        ("http://evil.example", 403),
        ("https://127.0.0.1:4000", 403),
        ("http://127.0.0.1:4001", 403),
        ("http://localhost:4000", 403),
    ],
)
def test_socket_is_for_the_own_page(origin: str | None, status: int | None) -> None:
    assert refused("/live?token=secret", origin=origin) == status


def test_socket_needs_the_token() -> None:
    assert refused("/live", origin=f"http://{OWN}") == 403


def test_long_addresses_are_refused() -> None:
    assert refused("/?token=" + "x" * 5000) == 414


def test_tokens_differ_and_are_not_printed() -> None:
    one, other = Gate("127.0.0.1", 1), Gate("127.0.0.1", 1)
    assert one.token != other.token
    assert len(one.token) >= 32
    assert one.token not in repr(one)


def test_policy_lets_nothing_foreign_in() -> None:
    policy = page_headers(OWN, "abc")["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src 'nonce-abc'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy
