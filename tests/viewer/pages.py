"""Open pages of the viewer in a real browser, and look at what they show."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "weft" / "viewer" / "page.html"
PLACE = '<script type="application/json" id="weft-page">null</script>'
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def missing() -> str:
    """Say in a sentence what the tests need and this machine lacks; empty if nothing."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "The tests of the viewer's page need the package playwright."
    if not any(map(shutil.which, BROWSERS)):
        return "The tests of the viewer's page need chromium: install the package `chromium`."
    if not PAGE.exists():
        return "The viewer's page is not built: run `make viewer`."
    return ""


def html(data: Any) -> str:
    """The page with this JSON in it, or, of a text, with this text in the place of JSON."""
    text = data if isinstance(data, str) else json.dumps(data)
    content = PAGE.read_text(encoding="utf-8")
    assert PLACE in content
    return content.replace(PLACE, PLACE.replace("null", text.replace("<", "\\u003c")))


class Shown:
    """A page that is open: its boxes, its text, and hands to use it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("pageerror", self._failed)
        page.on("console", self._said)

    def _failed(self, error: Any) -> None:
        self.errors.append(str(error))

    def _said(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def leave(self) -> None:
        """Stop listening: the tab goes to someone else."""
        self.page.remove_listener("pageerror", self._failed)
        self.page.remove_listener("console", self._said)

    def open(self, path: Path, *, ready: bool = True) -> Shown:
        self.page.goto(path.as_uri())
        if ready:
            self.wait()
        return self

    def settle(self) -> None:
        """Wait until all that was asked of the page is done."""
        self.page.wait_for_function("() => !window.weft || weft.settled()")

    def wait(self, condition: str = "true") -> None:
        """Wait until the graph is laid out and a condition on its state `s` holds."""
        self.page.wait_for_function(
            f"() => {{ if (!window.weft) return false; const s = weft.state();"
            f" return s.ready && ({condition}); }}"
        )

    def state(self, side: int | None = None) -> dict[str, Any]:
        self.settle()
        return self.page.evaluate("side => weft.state(side ?? undefined)", side)

    def boxes(self, side: int | None = None) -> list[dict[str, Any]]:
        self.settle()
        return self.page.evaluate("side => weft.boxes(side ?? undefined)", side)

    def box(self, label: str, side: int | None = None) -> dict[str, Any]:
        found = [box for box in self.boxes(side) if box["label"] == label]
        assert found, f"no box {label!r} among {[box['label'] for box in self.boxes(side)]}"
        return found[0]

    def labels(self) -> list[str]:
        return [box["label"] for box in self.boxes()]

    def click(self, label: str, side: int | None = None) -> None:
        """Click into the middle of a box's title, where it is drawn."""
        box = self.box(label, side)
        scale = self.state(side)["transform"]["k"]
        self.page.mouse.click(box["x"] + min(60 * scale, box["width"] / 2), box["y"] + 17 * scale)

    def toggle(self, label: str) -> None:
        """Click the small arrow of a group."""
        layouts = self.state()["layouts"]
        box, scale = self.box(label), self.state()["transform"]["k"]
        self.page.mouse.click(box["x"] + 14 * scale, box["y"] + 15 * scale)
        self.wait(f"s.layouts > {layouts}")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.settle()

    def panel(self) -> str:
        self.settle()
        return self.page.locator(".panel-body").first.inner_text()

    def fact(self, name: str) -> str:
        """What the panel says of one thing: "time", "memory"."""
        self.settle()
        term = self.page.locator(".panel-body dt", has_text=name).first
        return term.evaluate("one => one.nextElementSibling.innerText")

    def pixel(self, x: float, y: float) -> tuple[int, int, int]:
        """The colour that is drawn at a place of the page, once what was asked for is drawn."""
        self.settle()
        red, green, blue = self.page.evaluate(
            """async ([x, y]) => {
                const frame = () => new Promise(requestAnimationFrame);
                await frame();
                await frame();
                const canvas = document.querySelector("canvas.graph");
                const at = canvas.getBoundingClientRect();
                const ratio = canvas.width / at.width;
                const [left, top] = [(x - at.x) * ratio, (y - at.y) * ratio];
                const { data } = canvas.getContext("2d").getImageData(left, top, 1, 1);
                return [...data].slice(0, 3);
            }""",
            [x, y],
        )
        return red, green, blue
