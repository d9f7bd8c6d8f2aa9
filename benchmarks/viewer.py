"""Measure the viewer's page in chromium: its size, how fast it opens, how smoothly it pans.

    python -m benchmarks.viewer [--runs 5]

Opening is timed from the request of a file:// page to the first drawn graph. A frame is the time
between two of the browser's animation frames while the mouse drags the graph; "draw" is the part
of it that the page's own drawing took. One of the pages is that of a real run, recorded here. The
goals: 10,000 nodes in under 2 s, and a 95th percentile under 33 ms with 2,000 boxes in sight.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.viewer import models, pages, samples

FRAMES = """() => {
    window.gaps = [];
    let before = performance.now();
    const tick = now => {
        window.gaps.push(now - before);
        before = now;
        requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
}"""


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def open_times(context: Any, path: Path, runs: int) -> list[float]:
    times: list[float] = []
    for _ in range(runs):
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_function("window.weft && weft.firstDrawn() > 0")
        times.append(page.evaluate("weft.firstDrawn()"))
        page.close()
    return times


def pan(shown: pages.Shown, moves: int = 150) -> tuple[list[float], list[float]]:
    """Drag the graph around; return the frames and the drawing, in milliseconds."""
    page = shown.page
    page.evaluate(FRAMES)
    drawn = len(page.evaluate("weft.frames()"))
    page.mouse.move(700, 450)
    page.mouse.down()
    for at in range(moves):
        page.mouse.move(700 + (at % 50) * 4 - 100, 450 + (at * 7) % 120 - 60)
    page.mouse.up()
    return page.evaluate("window.gaps")[2:], page.evaluate("weft.frames()")[drawn:]


def in_sight(shown: pages.Shown) -> int:
    stage = shown.page.locator("canvas.graph").bounding_box()
    return sum(
        box["x"] < stage["x"] + stage["width"]
        and box["x"] + box["width"] > stage["x"]
        and box["y"] < stage["y"] + stage["height"]
        and box["y"] + box["height"] > stage["y"]
        for box in shown.boxes()
    )


def report_frames(shown: pages.Shown, title: str) -> None:
    frames, drawing = pan(shown)
    print(
        f"{title}: {in_sight(shown):,} of {len(shown.boxes()):,} boxes in sight; frame "
        f"p50 {percentile(frames, 0.5):.1f} ms, p95 {percentile(frames, 0.95):.1f} ms; "
        f"draw p95 {percentile(drawing, 0.95):.1f} ms ({len(frames)} frames)"
    )


def real_page() -> tuple[str, dict[str, Any]]:
    """Run a model of more than 10,000 nodes and return its page, with all values and gradients."""
    begin = time.perf_counter()
    graph = models.large()
    ran = time.perf_counter()
    page = graph.page()
    print(
        f"a real run of {len(graph):,} nodes, forward and backward: {ran - begin:.2f} s under the "
        f"recorder, {time.perf_counter() - ran:.2f} s to fold it into a page"
    )
    return f"a real run of {len(graph):,} nodes with backward", page


def measure(context: Any, folder: Path, runs: int) -> None:
    real_title, real = real_page()
    for title, data in {
        "transformer of 10,000 nodes": samples.large(),
        "10,000 nodes without groups": samples.flat(10_000),
        real_title: real,
    }.items():
        path = folder / "page.html"
        path.write_text(pages.html(data), encoding="utf-8")
        times = open_times(context, path, runs)
        size = path.stat().st_size / 1e6
        print(f"open {title} ({size:.1f} MB): median {percentile(times, 0.5):.0f} ms, ", end="")
        print(f"slowest of {runs} {max(times):.0f} ms")
    for title, data in {"modules": samples.large(2400), "flat": samples.flat(2000)}.items():
        path = folder / "page.html"
        path.write_text(pages.html(data), encoding="utf-8")
        shown = pages.Shown(context.new_page()).open(path)
        shown.press("e")
        shown.wait("s.layouts > 1")
        shown.press("f")
        report_frames(shown, f"pan {title}, all in sight")
        shown.press("h")
        report_frames(shown, f"pan {title}, to read")
        shown.press("-", "-")
        report_frames(shown, f"pan {title}, smallest text")
        shown.page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    reason = pages.missing()
    if reason:
        sys.exit(reason)
    from playwright.sync_api import sync_playwright

    code = pages.PAGE.read_bytes()
    print(f"page: {len(code) / 1024:.0f} KB, {len(gzip.compress(code)) / 1024:.1f} KB gzipped")
    path = next(filter(None, map(shutil.which, pages.BROWSERS)))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        context = playwright.chromium.launch_persistent_context(
            str(Path(folder, "browser")),
            executable_path=path,
            args=pages.ARGUMENTS,
            viewport={"width": 1440, "height": 900},
        )
        measure(context, Path(folder), runs)
        context.close()


if __name__ == "__main__":
    main()
