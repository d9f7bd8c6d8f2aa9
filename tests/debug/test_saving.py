"""memory: bytes kept for backward by line, and the peak."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import weft
from weft import nn
from weft.debug import memory

w = weft.ones(1000, requires_grad=True)


def line_of(function: Any, mark: str) -> int:
    lines, first = inspect.getsourcelines(function)
    (marked,) = [i for i, text in enumerate(lines) if mark in text]
    return first + marked


def test_bytes_by_line() -> None:
    def run() -> weft.Tensor:
        a = (w * 2).exp()  # KEEPS ITS RESULT
        b = a * a  # KEEPS NOTHING MORE
        return b.tanh().sum()  # AND ITS RESULT

    with memory() as block:
        run()
    report = block.report
    assert report.saved == 8000
    assert [(one.line, one.bytes) for one in report.by_line] == [
        (line_of(run, "# KEEPS ITS RESULT"), 4000),
        (line_of(run, "# AND ITS RESULT"), 4000),
    ]
    assert report.by_line[0].ops == ("exp",)
    assert "a = (w * 2).exp()" in report.by_line[0].source


def test_a_view_is_the_same_memory() -> None:
    with memory() as block:
        a = (w * 2).exp()
        _ = a.reshape(10, 100) * a[:10].unsqueeze(1) * a.reshape(10, 100)
    assert block.report.saved == 4000 + 4000


def test_parameters_do_not_count() -> None:
    with memory() as block:
        _ = (w.reshape(10, 100) * w.reshape(10, 100)).sum() + w * w
    assert block.report.saved == 0


def test_parts_of_cells_count_for_the_call() -> None:
    @weft.cell
    def twice(x: weft.Tensor) -> weft.Tensor:
        return x.exp().tanh()

    for _ in range(2):
        with memory() as block:
            twice(w * 1)
        assert block.report.saved == 8000


def test_batches_count() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh())

    def run() -> None:
        losses = weft.map(lambda x: model(x).sum(), [weft.ones(8) for _ in range(4)])
        weft.stack(losses).sum()

    with memory() as block:
        run()
    assert block.report.saved >= 4 * 8 * 4
    assert {one.line for one in block.report.by_line} <= set(
        range(run.__code__.co_firstlineno, run.__code__.co_firstlineno + 4)
    )


def test_the_peak_and_its_line() -> None:
    def run() -> None:
        small = weft.ones(10)
        large = weft.ones(500_000) * 2  # PEAK
        del large
        small + 1

    with memory() as block:
        run()
    report = block.report
    assert report.peak - report.before >= 4_000_000
    assert report.peak_place is not None
    assert report.peak_place.line == line_of(run, "# PEAK")
    assert report.peak_op == "mul"
    assert report.live - report.before < 1000


def test_a_peak_in_backward() -> None:
    def run() -> None:
        x = weft.ones(100_000, requires_grad=True)
        y = x.reshape(100, 1000)
        loss = (y @ y.T).exp().log().sum()  # PEAK
        loss.backward()

    with memory() as block:
        run()
    assert block.report.peak_op.startswith("the gradient of")
    assert block.report.peak_place is not None


def test_text_and_data() -> None:
    with memory() as block:
        (w * 2).exp().sum()
    text = str(block)
    assert text.startswith("3.9 KiB saved for backward")
    assert "test_saving.py:" in text
    assert "peak: " in text
    data = block.report.to_dict()
    assert data["saved"] == 4000
    assert data["by_line"][0]["bytes"] == 4000


def test_nothing_was_saved() -> None:
    with memory() as block:
        weft.ones(3) * 2
    assert block.report.saved == 0
    assert "0 B saved for backward" in str(block)


def test_the_report_is_there_after_the_block() -> None:
    with memory() as block, pytest.raises(RuntimeError, match="when the block has ended"):
        print(block.report)
