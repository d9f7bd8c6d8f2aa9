"""Make the pictures of docs/images from pages of real runs, and of the demo.

python -m tests.viewer.screenshots [name ...]
"""

from __future__ import annotations

import contextlib
import json
import linecache
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import weft
from tests.viewer import models, pages, samples
from tests.viewer.pages import Shown
from weft.viewer import Graph, page_of

FOLDER = pages.ROOT / "docs" / "images"


def graph(shown: Shown) -> None:
    shown.toggle("for block in self.blocks:")
    shown.toggle("iteration 1")
    shown.toggle("blocks.0 (Block)")
    shown.press("h")
    shown.click("cat")


def decide(shown: Shown) -> None:
    shown.click("tanh")


def loop(shown: Shown) -> None:
    shown.toggle("for word in words:")
    shown.toggle("iteration 2")


def decision(shown: Shown) -> None:
    shown.click("gt")


def backward(shown: Shown) -> None:
    shown.press("2")
    shown.wait("s.view === 'backward'")
    shown.page.locator(".dock-table tbody tr").nth(2).click()


def plan(shown: Shown) -> None:
    shown.press("3")
    shown.wait("s.view === 'plan'")
    shown.page.locator(".dock-table tbody tr").nth(2).click()


def replay(shown: Shown) -> None:
    loop(shown)
    shown.page.get_by_role("slider").fill("9")


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


# ---- Pages ---------------------------------------------------------------------------------------


def titled(graph: Graph, title: str) -> Graph:
    return weft.graph(replace(graph.trace, title=title))


@cache
def gates() -> tuple[Graph, Graph]:
    positive, negative = models.gates()
    return titled(positive, "positive"), titled(negative, "negative")


def transformer() -> dict[str, Any]:
    return models.transformer(2).page()


def positive() -> dict[str, Any]:
    return gates()[0].page()


def negative() -> dict[str, Any]:
    return gates()[1].page()


def curves_page() -> dict[str, Any]:
    return page_of([gates()[0]], "A run", series=samples.curves()["series"])


def merged() -> dict[str, Any]:
    return weft.merge(gates(), "both inputs").page()


def readme() -> dict[str, Any]:
    """The page that the README's program writes."""
    text = (pages.ROOT / "README.md").read_text(encoding="utf-8")
    part = text[text.index("## See the graph") :]
    program = part.split("```python\n")[1].split("```")[0]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("f.py").write_text(program, encoding="utf-8")
        linecache.checkcache()
        exec(compile(program, "f.py", "exec"), {"weft": weft})
        page = Path("f.html").read_text(encoding="utf-8")
    head, tail = pages.PLACE.split("null")
    return json.loads(page.split(head)[1].split(tail)[0])


# The page, what is done with it, and whether the picture is dark.
PICTURES: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[Shown], None], bool]] = {
    "viewer-readme": (readme, decide, False),
    "viewer-graph": (transformer, graph, False),
    "viewer-loop": (lambda: models.tagger().page(), loop, True),
    "viewer-decision": (positive, decision, False),
    "viewer-merged": (merged, nothing, True),
    "viewer-backward": (negative, backward, True),
    "viewer-plan": (lambda: models.trees().page(), plan, False),
    "viewer-replay": (lambda: models.tagger().page(), replay, False),
    "viewer-time": (transformer, times, False),
    "viewer-failure": (lambda: models.failing().page(), failure, False),
    "viewer-diff": (lambda: weft.diff(*gates()).page(), diff, False),
    "viewer-curves": (curves_page, curves, False),
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
            page, prepare, dark = PICTURES[name]
            path = Path(folder, "page.html")
            path.write_text(pages.html(page()), encoding="utf-8")
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
