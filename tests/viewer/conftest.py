"""A browser for the tests of the viewer's page; a message in its console fails the test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.viewer import pages


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    reason = pages.missing()
    if reason:
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    import shutil

    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, pages.BROWSERS)))
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("browser")),
            executable_path=path,
            args=pages.ARGUMENTS,
            viewport={"width": 1440, "height": 900},
        )
        context.set_default_timeout(60_000)
        yield context
        context.close()


@pytest.fixture(scope="session")
def tab(browser: Any) -> Any:
    return browser.new_page()


@pytest.fixture
def shown(tab: Any) -> Iterator[pages.Shown]:
    """The tab that tests share, one after another. Errors in its console fail the test."""
    one = pages.Shown(tab)
    yield one
    one.leave()
    tab.emulate_media(color_scheme="light")
    assert one.errors == []


@pytest.fixture
def fresh(browser: Any) -> Iterator[pages.Shown]:
    """A tab of its own, for tests that change what a tab can do."""
    one = pages.Shown(browser.new_page())
    yield one
    one.page.close()
    assert one.errors == []


@pytest.fixture
def show(shown: pages.Shown, tmp_path: Path) -> Callable[..., pages.Shown]:
    """Open a page with this JSON in it."""

    def open_page(data: Any, *, ready: bool = True) -> pages.Shown:
        path = tmp_path / "page.html"
        path.write_text(pages.html(data), encoding="utf-8")
        return shown.open(path, ready=ready)

    return open_page
