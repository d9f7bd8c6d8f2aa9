"""profile: time by op, line and module, and the Chrome trace."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import nn
from weft.debug import Profile, profile


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 8), nn.Tanh())
        self.head = nn.Linear(8, 1)

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        return self.head(self.encoder(x)).sum()


def eager() -> None:
    net = Net()
    for _ in range(3):
        net(weft.randn(4, 8)).backward()


def lazy() -> None:
    net = Net()
    weft.stack(weft.map(net, [weft.randn(1, 8) for _ in range(4)])).sum().backward()


def decided() -> None:
    net = Net()

    def run(x: weft.Tensor) -> weft.Tensor:
        y = net(x)
        return y * 2 if y > 0 else y

    with weft.lazy():
        loss = weft.stack(weft.map(run, [weft.randn(1, 8) for _ in range(4)])).sum()
    (first,) = weft.autograd.grad(loss, net.head.weight, create_graph=True)
    first.sum().backward()


def measure(run: Any) -> Profile:
    with profile() as block:
        run()
    return block.report


@pytest.mark.parametrize("run", [eager, lazy, decided])
def test_tables_add_up_to_the_time_on_the_clock(run: Any) -> None:
    report = measure(run)
    for table in (report.by_op, report.by_line, report.by_module):
        assert sum(row.seconds for row in table) == pytest.approx(report.seconds, rel=1e-6)
        assert all(row.seconds >= 0 for row in table if row.name != "Python between ops")
        rest = next(row for row in table if row.name == "Python between ops")
        assert rest.seconds > -1e-9
        seconds = [row.seconds for row in table]
        assert seconds == sorted(seconds, reverse=True)


def test_rows_of_forward_and_backward() -> None:
    report = measure(eager)
    ops = {row.name: row.count for row in report.by_op}
    assert ops["linear"] == 6
    assert ops["tanh"] == 3
    assert ops["gradient of linear"] == 6
    assert ops["backward"] == 3
    modules = {row.name: row.count for row in report.by_module}
    assert modules["encoder.0"] == 6
    assert modules["head"] == 6
    assert modules["Net"] == 6
    lines = {row.name.rpartition(":")[0]: row.detail for row in report.by_line}
    assert any(name.endswith("test_profiling.py") for name in lines)


def test_rows_of_plans() -> None:
    report = measure(lazy)
    ops = {row.name: row.count for row in report.by_op}
    assert ops["linear"] == 8  # two layers, four examples
    assert ops["planning and copying"] >= 1
    modules = {row.name for row in report.by_module}
    assert {"encoder.0", "encoder.1", "head"} <= modules


def test_python_between_ops_is_a_row() -> None:
    with profile() as block:
        weft.ones(2) * 2
        time.sleep(0.01)
    row = next(row for row in block.report.by_op if row.name == "Python between ops")
    assert row.seconds > 0.009


def check_chrome(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Check what the format demands of each event; return the complete ones."""
    assert set(data) == {"traceEvents", "displayTimeUnit"}
    spans = []
    for event in data["traceEvents"]:
        assert isinstance(event["name"], str)
        assert event["ph"] in {"X", "M"}
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] == "X":
            assert event["ts"] >= 0
            assert event["dur"] >= 0
            assert isinstance(event["cat"], str)
            spans.append(event)
    starts = [event["ts"] for event in spans]
    assert starts == sorted(starts)
    # Spans of one thread lie inside each other or apart.
    ends: list[float] = []
    for event in spans:
        while ends and ends[-1] <= event["ts"] + 1e-3:
            ends.pop()
        assert not ends or event["ts"] + event["dur"] <= ends[-1] + 1e-3, event
        ends.append(event["ts"] + event["dur"])
    return spans


@pytest.mark.parametrize("run", [eager, lazy, decided])
def test_chrome_traces_follow_the_format(run: Any, tmp_path: Path) -> None:
    with profile() as block:
        run()
    path = tmp_path / "trace.json"
    block.chrome(path)
    spans = check_chrome(json.loads(path.read_text()))
    kinds = {event["cat"] for event in spans}
    assert {"gradient", "backward"} <= kinds
    if run is eager:
        assert {"module", "op"} <= kinds
        (net, *_) = [event for event in spans if event["name"] == "Net"]
        inside = [
            event["name"]
            for event in spans
            if net["ts"] <= event["ts"] and event["ts"] + event["dur"] <= net["ts"] + net["dur"]
        ]
        assert {"encoder (Sequential)", "encoder.0 (Linear)", "linear", "tanh"} <= set(inside)
    else:
        assert {"plan", "batch"} <= kinds


def test_text_and_data() -> None:
    report = measure(eager)
    text = str(report)
    assert "by op" in text
    assert "by line" in text
    assert "by module" in text
    assert text.count("100.0%") == 3
    assert text.count("\n  total ") == 3  # not "sum", which is an op
    data = report.to_dict()
    assert json.loads(json.dumps(data)) == data


def test_the_report_is_there_after_the_block() -> None:
    with profile() as block, pytest.raises(RuntimeError, match="when the block has ended"):
        print(block)


def test_an_exception_still_gives_a_report() -> None:
    block = profile()
    with pytest.raises(KeyError), block:
        weft.ones(2) * 2
        raise KeyError
    assert "mul" in {row.name for row in block.report.by_op}


def test_a_tool_inside_another_is_told() -> None:
    told = "another tool watched inside"
    with pytest.warns(UserWarning, match=f"^profile: {told}"), profile(), weft.debug.memory():
        weft.ones(2) * 2
    with pytest.warns(UserWarning, match=f"^memory: {told}"), weft.debug.memory():
        weft.graph(lambda: weft.ones(2) * 2)


def test_tools_one_after_the_other_are_fine(recwarn: pytest.WarningsRecorder) -> None:
    for _ in range(2):
        with profile():
            weft.ones(2) * 2
    assert not recwarn.list
