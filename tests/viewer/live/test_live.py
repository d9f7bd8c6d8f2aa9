"""A program that is watched while it runs."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.viewer.live.running import page_in, receive, run_weft, viewing
from weft import Tensor, nn
from weft.tracing import Recording
from weft.viewer import budget
from weft.viewer.live import Live
from weft.viewer.store import Store

TRAINING = """\
import sys
import weft
from weft import nn

model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
x = weft.randn(8, 3)
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    loss = (model(x) ** 2).mean()
    loss.backward()
    optimizer.step()
"""
FAILING = """\
import weft

x = weft.ones(3, requires_grad=True)
for size in (3, 4):
    y = (x * 2) @ weft.ones(size)
    y.backward()
"""
LAZY = """\
import weft

def one(x):
    return x * 2 if x > 0 else x - 1

for _ in range(2):
    print(weft.map(one, [weft.tensor(1.0), weft.tensor(-1.0), weft.tensor(3.0)]))
"""


@contextlib.contextmanager
def watched(**options: Any) -> Iterator[Callable[[], dict[str, Any]]]:
    """Watch a block; what is given returns its page."""
    store = Store("test")
    with Live(store, **options):
        yield lambda: json.loads(store.page_json(live=False))


def titles(page: dict[str, Any]) -> list[str]:
    return [graph["title"] for graph in page["graphs"]]


def ops(graph: dict[str, Any]) -> list[str]:
    return [node["op"] for node in graph["trace"].get("nodes", [])]


def series(page: dict[str, Any]) -> dict[str, list[list[float]]]:
    return {one["name"]: one["points"] for one in page["series"]}


# ---- in this process -----------------------------------------------------------------------------


def test_each_step_is_a_graph_with_forward_backward_and_values() -> None:
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    with watched() as page:
        for _ in range(2):
            (x * 3).sum().backward()
    assert titles(page()) == ["step 1", "step 2"]
    for graph in page()["graphs"]:
        assert ops(graph) == ["parameter", "mul", "sum"]
        assert graph["trace"]["nodes"][1]["results"][0]["value"]["values"] == [3.0, 6.0]
        names = [step["name"] for step in graph["trace"]["backwards"][0]["steps"]]
        assert names == ["SumBackward0", "MulBackward0", "AccumulateGrad"]
    assert series(page())["loss"] == [[1, 9.0], [2, 9.0]]


def test_first_steps_and_the_last_are_shown_and_all_losses_of_longer_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    monkeypatch.setattr(budget, "_FIRST_SECONDS", 100.0)  # on a slow machine too
    with watched(rate=0.001) as page:
        for step in range(8):
            (x * step).sum().backward()
            time.sleep(0.001)
    assert titles(page()) == ["step 1", "step 2", "step 3", "step 8"]
    assert series(page())["loss"] == [[step + 1, 3.0 * step] for step in range(8)]
    assert [step for step, _ in series(page())["step time"]] == [4, 5, 6, 7, 8]
    assert all(seconds > 0.001 for _, seconds in series(page())["step time"])


def test_very_short_steps_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    monkeypatch.setattr(budget, "_FIRST_SECONDS", 100.0)
    with watched(rate=0.001) as page:
        for _ in range(3000):
            (x * 2).sum().backward()
    assert titles(page())[:3] == ["step 1", "step 2", "step 3"]
    last = series(page())["loss"][-1]
    assert 2000 < last[0] <= 3000
    assert all(len(ops(graph)) == 3 for graph in page()["graphs"])


def test_without_values_there_are_none() -> None:
    x = weft.tensor([1.0], requires_grad=True)
    with watched(values=False) as page:
        (x * 3).backward()
    assert "value" not in page()["graphs"][0]["trace"]["nodes"][1]["results"][0]
    assert series(page())["loss"] == [[1, 3.0]]


def test_losses_of_two_lines_are_two_curves() -> None:
    x = weft.tensor([1.0], requires_grad=True)
    with watched() as page:
        for _ in range(3):
            (x * 2).backward()
            (x * 5).backward()
    names = list(series(page()))
    assert len(names) == 3
    assert names[:2] == ["loss", "step time"]
    assert names[2].startswith("loss, test_live.py:")


def test_loss_that_is_not_a_number_is_shown() -> None:
    x = weft.tensor([0.0], requires_grad=True)
    with watched() as page:
        (x / x).backward()
    assert series(page())["loss"] == [[1, "nan"]]


def test_map_in_training_is_one_step_with_its_plan() -> None:
    model = nn.Linear(2, 2)

    def one(x: Tensor) -> Tensor:
        y = model(x).sum()
        return y * 2 if y > 0 else y

    with watched() as page:
        for _ in range(2):
            losses = weft.map(one, [weft.ones(2), -weft.ones(2)])
            weft.stack(losses).mean().backward()
        with weft.no_grad():
            weft.map(one, [weft.ones(2)])
    assert titles(page()) == ["step 1", "step 2", "flush 1"]
    assert [bool(graph["trace"].get("plans")) for graph in page()["graphs"]] == [True] * 3
    assert [bool(graph["trace"].get("backwards")) for graph in page()["graphs"]] == [
        True, True, False,
    ]  # fmt: skip


def test_maps_without_backward_are_graphs_each() -> None:
    with watched() as page:
        for size in (2, 3):
            weft.map(lambda x: x * 2, [weft.ones(1)] * size)
    assert titles(page()) == ["flush 1", "flush 2"]
    counts = [len(graph["trace"]["plans"][0]["batches"][0]["nodes"]) for graph in page()["graphs"]]
    assert counts == [2, 3]


def test_lazy_scopes_without_backward_are_graphs_each() -> None:
    with watched() as page:
        for _ in range(2):
            with weft.lazy():
                y = weft.ones(2).exp().sum()
            y.item()
    assert titles(page()) == ["flush 1", "the end"]
    assert all("exp" in ops(graph) for graph in page()["graphs"])


def test_forward_alone_is_shown_at_the_end() -> None:
    with watched() as page:
        weft.ones(2).exp()
    assert titles(page()) == ["the end"]
    assert "exp" in ops(page()["graphs"][0])


def test_failure_is_shown_with_the_graph_so_far() -> None:
    store = Store("test")
    with pytest.raises(ValueError, match="matmul"), Live(store):
        x = weft.ones(3, requires_grad=True) * 2
        x @ weft.ones(4)
    page = json.loads(store.page_json(live=False))
    assert titles(page) == ["failed: ShapeError"]
    assert "mul" in ops(page["graphs"][0])
    failure = page["graphs"][0]["trace"]["failure"]
    assert failure["message"].startswith("matmul")


def test_large_graphs_are_cut_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.viewer.overflow._SECONDS", 60.0)
    with watched(most_nodes=40) as page:
        x = weft.ones(2, requires_grad=True)
        y = x
        for _ in range(100):
            y = y * 1.5
        y.sum().backward()
        y = x
        for _ in range(1000):
            y = y * 1.5
        y.sum().backward()
    (graph,) = page()["graphs"]
    assert graph["title"] == "step 1: the first 40 of 102 nodes"
    assert len(ops(graph)) == 40
    for backward in graph["trace"]["backwards"]:
        assert all(node < 40 for step in backward["steps"] for node in step["nodes"])


def test_program_without_steps_does_not_fill_the_memory() -> None:
    store = Store("test")
    with Live(store, most_nodes=20_000) as live:
        x = weft.ones(2)
        end = time.monotonic() + 60
        while live._run is not None and time.monotonic() < end:
            x = x * 1.0
        for _ in range(10_000):
            x = x * 1.0
        while store.next_graph(0) is None and time.monotonic() < end:
            x = x * 1.0
        (x.clone().requires_grad_() * 2).sum().backward()  # and then a step is seen again
        (x.clone().requires_grad_() * 2).sum().backward()
    found = titles(json.loads(store.page_json(live=False)))
    assert found[0].startswith("the beginning")
    assert found[-1] == "step 2"


def test_recording_of_the_program_itself_is_left_alone() -> None:
    x = weft.tensor([1.0], requires_grad=True)
    with watched() as page:
        with Recording() as run:
            (x * 3).backward()
            (x * 4).backward()
        (x * 5).backward()
    assert [node.op for node in run.trace().nodes].count("mul") == 2
    assert [ops(graph) for graph in page()["graphs"]] == [["parameter", "mul"]]


def test_error_of_the_viewer_is_not_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("broken")

    monkeypatch.setattr("weft.viewer.live.graph_json", fail)
    store = Store("test")
    x = weft.tensor([1.0], requires_grad=True)
    with Live(store):
        (x * 3).backward()
        (x * 3).backward()
    assert "not watching any more: KeyError" in store.status
    assert x.grad is not None
    assert x.grad.item() == 6


def test_forked_process_is_not_watched() -> None:
    store = Store("test")
    x = weft.tensor([1.0], requires_grad=True)
    with Live(store) as live:
        (x * 3).backward()
        child = os.fork()
        if child == 0:
            (x * 3).backward()
            os._exit(live._steps)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        (x * 3).backward()
    assert titles(json.loads(store.page_json(live=False))) == ["step 1", "step 2"]


# ---- as a command --------------------------------------------------------------------------------


def test_training_loop_arrives_as_it_runs(tmp_path: Path) -> None:
    with viewing(tmp_path, TRAINING, arguments=("20000",)) as view:
        messages = receive(view)
        graphs = [one["graph"] for one in messages if one["kind"] == "graph"]
        assert [graph["title"] for graph in graphs[:3]] == ["step 1", "step 2", "step 3"]
        names = {node.get("name") for node in graphs[1]["trace"]["nodes"]}
        assert {"0.weight", "2.bias"} <= names
        assert any(group["label"] == "0 (Linear)" for group in graphs[1]["groups"])
        assert len(graphs) < 50
        last = [one for one in messages if one["kind"] == "series"][-1]["series"]
        by_name = {one["name"]: one["points"] for one in last}
        assert by_name["loss"][0][1] > by_name["loss"][-1][1]
        assert len(by_name["step time"]) > 10
        assert all(len(points) <= 2000 for points in by_name.values())
        assert messages[-1]["text"] == "the script has ended with exit code 0"
        view.wait_for("stays")
        # A page that is opened afterwards sees the same.
        again = receive(view)
        assert [one["graph"] for one in again if one["kind"] == "graph"] == graphs
        assert view.interrupt() == 0


def test_graphs_arrive_while_the_script_runs(tmp_path: Path) -> None:
    script = TRAINING + "import time\ntime.sleep(1000)\n"
    with viewing(tmp_path, script, arguments=("3",)) as view:
        messages = receive(view, until="graph")
        assert messages[-1]["graph"]["title"] == "step 1"
        assert view.process.poll() is None


def test_failing_script_is_shown(tmp_path: Path) -> None:
    with viewing(tmp_path, FAILING) as view:
        messages = receive(view)
        graph = [one["graph"] for one in messages if one["kind"] == "graph"][-1]
        assert graph["title"] == "failed: ShapeError"
        assert "mul" in ops(graph)
        trace = graph["trace"]
        frame = trace["frames"][trace["failure"]["frame"]]
        place = trace["places"][frame["place"]]
        assert (place["line"], Path(place["file"]).name) == (5, "script.py")
        assert messages[-1]["text"].startswith("the script has failed: ShapeError: matmul")
        view.wait_for("stays")
        assert "ShapeError" in "".join(view.said)
        assert view.interrupt() == 1


def test_lazy_map_arrives_with_its_plan(tmp_path: Path) -> None:
    with viewing(tmp_path, LAZY) as view:
        graphs = [one["graph"] for one in receive(view) if one["kind"] == "graph"]
        assert [graph["title"] for graph in graphs] == ["flush 1", "flush 2"]
        batches = graphs[0]["trace"]["plans"][0]["batches"]
        assert len(batches[0]["nodes"]) == 3


def test_graphs_begin_at_the_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import weft\n"
        "w = weft.ones(3, requires_grad=True)\n"
        "def score(x):\n"
        "    return (x * w).sum()\n"
        "for i in range(2):\n"
        "    xs = [weft.ones(3) * k for k in range(4)]\n"
        "    weft.stack(weft.map(score, xs)).sum().backward()\n"
    )
    result = run_weft(tmp_path, "view", "--exit", "--save", "page.html", str(script))
    assert result.returncode == 0, result.stderr
    for graph in page_in((tmp_path / "page.html").read_text())["graphs"]:
        groups = [group["label"] for group in graph["groups"]]
        assert not any("_run_code" in label for label in groups), groups


def test_interrupt_while_running_ends_as_python_does(tmp_path: Path) -> None:
    script = "import sys, time\nprint('begun', file=sys.stderr)\ntime.sleep(1000)\n"
    with viewing(tmp_path, script) as view:
        view.wait_for("begun")
        assert view.interrupt() == -2
        assert view.process.stderr is not None
        assert "KeyboardInterrupt" in view.process.stderr.read()


def test_saved_page_is_whole(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(TRAINING)
    result = run_weft(tmp_path, "view", "--exit", "--save", "page.html", str(script), "5")
    assert result.returncode == 0, result.stderr
    html = (tmp_path / "page.html").read_text()
    page = page_in(html)
    # On a slow machine the first steps may be too expensive to look at each.
    assert titles(page)[0] == "step 1"
    assert titles(page)[-1] == "step 5"
    assert page["live"] is False
    assert len(series(page)["loss"]) == 5
    for graph in page["graphs"]:
        names = {node.get("name") for node in graph["trace"]["nodes"]}
        assert {"0.weight", "2.bias"} <= names
    assert "__NONCE__" not in html


def test_graphs_that_stay_alive_are_told_of() -> None:
    store = Store("test")
    w = weft.ones(3, requires_grad=True)
    kept: list[Tensor] = []
    with Live(store):
        for _ in range(8):
            loss = (w * w).sum()
            loss.backward()
            kept.append(loss)
    assert "graphs of earlier steps are still in memory" in store.status
    assert "kept[0]" in store.status
