"""The page of a program that runs, in a real browser."""

from __future__ import annotations

from pathlib import Path

from tests.viewer.live.running import viewing
from tests.viewer.pages import Shown

TRAINING = """\
import time
import weft
from weft import nn

model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
x = weft.randn(8, 3)
go_on = {go_on!r}
for step in range(100_000):
    optimizer.zero_grad()
    loss = (model(x) ** 2).mean()
    loss.backward()
    optimizer.step()
    time.sleep(0.01)
    if step > 100 and __import__("os").path.exists(go_on):
        break
"""


def test_graphs_and_curves_of_a_training_loop(fresh: Shown, tmp_path: Path) -> None:
    go_on = tmp_path / "go_on"
    with viewing(tmp_path, TRAINING.format(go_on=str(go_on))) as view:
        shown = fresh
        shown.page.goto(view.address)
        badge = shown.page.locator(".live")
        badge.get_by_text("live", exact=True).wait_for()
        assert shown.page.title().startswith("script.py")
        # Graphs arrive, and the last one is drawn.
        shown.page.get_by_role("tab", name="step 3", exact=True).wait_for()
        shown.wait("s.items === 5")
        # The loss is drawn while it falls.
        shown.page.get_by_role("tab", name="Curves").click()
        shown.page.get_by_text("loss", exact=True).first.wait_for()
        shown.page.get_by_text("step time").first.wait_for()
        shown.page.locator("canvas:visible").first.wait_for()
        # More comes as it happens, until the end.
        shown.page.get_by_role("tab").nth(4).wait_for()
        go_on.touch()
        badge.get_by_text("the script has ended with exit code 0").wait_for()
        before = shown.page.get_by_role("tab").count()
        shown.page.reload()
        badge.get_by_text("the script has ended with exit code 0").wait_for()
        assert shown.page.get_by_role("tab").count() == before


def test_failure_is_shown_with_its_line(fresh: Shown, tmp_path: Path) -> None:
    script = "import weft\nx = weft.ones(3, requires_grad=True) * 2\nx @ weft.ones(4)\n"
    with viewing(tmp_path, script) as view:
        fresh.page.goto(view.address)
        fresh.page.locator(".live").get_by_text("the script has failed: ShapeError").wait_for()
        fresh.page.get_by_role("tab", name="failed: ShapeError").wait_for()
        fresh.page.get_by_text("input's last size must equal").first.wait_for()


def test_wrong_token_shows_no_page(fresh: Shown, tmp_path: Path) -> None:
    with viewing(tmp_path, "import time\ntime.sleep(1000)\n") as view:
        fresh.leave()  # the browser notes a 403 in its console, sooner or later
        answer = fresh.page.goto(view.address + "x")
        assert answer is not None
        assert answer.status == 403
        assert fresh.page.locator("#app").count() == 0
