"""What is built: one small file that needs nothing else."""

from __future__ import annotations

import gzip
import os
import re

import pytest

from tests.viewer import pages


@pytest.fixture
def content() -> str:
    if not pages.PAGE.exists():
        reason = "The viewer's page is not built: run `make viewer`."
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return pages.PAGE.read_text(encoding="utf-8")


def test_page_is_small(content: str) -> None:
    assert len(gzip.compress(content.encode())) < 150 * 1024


def test_page_stands_alone(content: str) -> None:
    assert (
        re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?!data:)[^"]*"', content) == []
    )
    assert content.count(pages.PLACE) == 1


def test_scripts_and_styles_have_a_place_for_a_nonce(content: str) -> None:
    executed = re.findall(r"<script(?![^>]*application/json)[^>]*>|<style[^>]*>", content)
    assert len(executed) == 2
    assert all('nonce="__NONCE__"' in tag for tag in executed)


def test_no_source_names_a_registry() -> None:
    lock = (pages.ROOT / "viewer" / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert "registry" not in lock
