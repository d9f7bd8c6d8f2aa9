"""Make the pictures of docs/images from the sample pages.

python -m tests.viewer.screenshots [name ...]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.viewer import pages, samples
from tests.viewer.pages import Shown

FOLDER = pages.ROOT / "docs" / "images"


def graph(shown: Shown) -> None:
    shown.toggle("attention (Attention)")
    shown.press("h")
    shown.click("transpose")


def loop(shown: Shown) -> None:
    shown.toggle("for t in range(len(words)):")
    shown.toggle("iteration 2")
    shown.toggle("cell (LSTMCell)")


def decision(shown: Shown) -> None:
    shown.click("gt")


def backward(shown: Shown) -> None:
    shown.press("2")
    shown.wait("s.view === 'backward'")
    shown.page.locator(".dock-table tbody tr").nth(3).click()


def plan(shown: Shown) -> None:
    shown.press("3")
    shown.wait("s.view === 'plan'")
    shown.page.locator(".dock-table tbody tr").nth(1).click()


def replay(shown: Shown) -> None:
    loop(shown)
    shown.page.get_by_role("slider").fill("27")


def times(shown: Shown) -> None:
    shown.page.get_by_label("colour by").select_option("time")


def failure(shown: Shown) -> None:
    shown.page.get_by_label("colour by").select_option("nan")
    shown.page.locator(".banner .link").click()


def diff(shown: Shown) -> None:
    shown.page.get_by_role("tab", name="Diff").click()
    shown.page.wait_for_function("weft.state(0).ready && weft.state(1).ready")
    shown.page.wait_for_timeout(300)
    shown.page.locator(".change").first.click()


def curves(shown: Shown) -> None:
    shown.page.get_by_role("tab", name="Curves").click()


def nothing(shown: Shown) -> None:
    del shown


# The sample, what is done with it, and whether the picture is dark.
PICTURES: dict[str, tuple[str, Callable[[Shown], None], bool]] = {
    "viewer-graph": ("transformer", graph, False),
    "viewer-loop": ("lstm", loop, True),
    "viewer-decision": ("branch", decision, False),
    "viewer-merged": ("merged", nothing, True),
    "viewer-backward": ("transformer", backward, True),
    "viewer-plan": ("plan", plan, False),
    "viewer-replay": ("lstm", replay, False),
    "viewer-time": ("transformer", times, False),
    "viewer-failure": ("failure", failure, False),
    "viewer-diff": ("diff", diff, False),
    "viewer-curves": ("curves", curves, False),
}


def main() -> None:
    reason = pages.missing()
    if reason:
        sys.exit(reason)
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    browser = next(filter(None, map(shutil.which, pages.BROWSERS)))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        context = playwright.chromium.launch_persistent_context(
            str(Path(folder, "browser")),
            executable_path=browser,
            args=pages.ARGUMENTS,
            viewport={"width": 1280, "height": 760},
        )
        for name in sys.argv[1:] or PICTURES:
            sample, prepare, dark = PICTURES[name]
            path = Path(folder, "page.html")
            path.write_text(pages.html(samples.ALL[sample]()), encoding="utf-8")
            shown = Shown(context.new_page())
            shown.page.emulate_media(color_scheme="dark" if dark else "light")
            shown.open(path)
            prepare(shown)
            shown.page.mouse.move(900, 752)
            shown.page.wait_for_timeout(400)
            picture = FOLDER / f"{name}.png"
            shown.page.screenshot(path=str(picture))
            shown.page.close()
            print(f"{picture.name}: {picture.stat().st_size / 1000:.0f} kB")
        context.close()


if __name__ == "__main__":
    main()
