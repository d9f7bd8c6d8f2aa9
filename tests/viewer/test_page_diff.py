"""Two graphs side by side."""

from __future__ import annotations

from collections.abc import Callable

from tests.viewer import samples
from tests.viewer.pages import Shown

Show = Callable[..., Shown]


def open_diff(shown: Shown) -> None:
    """Wait until both sides are drawn; a page of two graphs and their diff opens on it."""
    shown.page.wait_for_function("weft.state(0).ready && weft.state(1).ready && weft.settled()")


def test_diff_colours_what_is_only_in_one(show: Show) -> None:
    shown = show(samples.diff())
    open_diff(shown)
    left = {box["node"]: box["mark"] for box in shown.boxes(0)}
    right = {box["node"]: box["mark"] for box in shown.boxes(1)}
    same, changed = left[0], left[3]
    assert right[0] == same == left[1]
    assert right[3] == changed != same
    assert left[4] not in (same, changed)
    assert right[4] not in (same, changed, left[4])
    assert "took different branches" in shown.page.locator(".summary").inner_text()


def test_changes_are_clickable(show: Show) -> None:
    page = samples.diff()
    shown = show(page)
    open_diff(shown)
    changes = shown.page.locator(".change")
    assert changes.count() == len(page["diff"]["changes"])
    changes.nth(0).click()
    shown.page.wait_for_function(
        "weft.state(0).selectedNode === 3 && weft.state(1).selectedNode === 3"
    )
    changes.nth(2).click()
    shown.page.wait_for_function("weft.state(1).selectedNode === 4")
    assert shown.state(0)["selectedNode"] == -1
    assert "sub" in shown.panel() or "sub" in shown.page.locator(".diff .panel").inner_text()


def test_selection_goes_along(show: Show) -> None:
    shown = show(samples.diff())
    open_diff(shown)
    shown.click("mean", side=1)
    shown.page.wait_for_function("weft.state(0).selectedNode === 5")
    assert shown.state(1)["selectedNode"] == 5
    shown.click("mul", side=0)
    shown.page.wait_for_function("weft.state(1).selectedNode === 1")


def test_diff_of_loops(show: Show) -> None:
    shown = show(samples.loop_diff())
    open_diff(shown)
    loops = [next(box for box in shown.boxes(side) if box["kind"] == "loop") for side in (0, 1)]
    assert [loop["count"] for loop in loops] == [5, 3]
    shown.page.locator(".change").nth(0).click()
    shown.page.wait_for_function("weft.state(0).highlighted.length > 0")
    assert shown.state(0)["selectedNode"] in samples.loop_diff()["diff"]["changes"][0]["left"]
