"""Models in ordinary spellings give the same in map and lazy as in a plain loop, at each call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import weft
from benchmarks.cliffs.findings import WARM, Finding, find
from benchmarks.cliffs.model import Model
from benchmarks.cliffs.models import MODELS
from benchmarks.cliffs.run import Comparison, call_in_turn, make_entrants
from weft import _core
from weft.batching.replaying import Mapped

HIDDEN = 8
CALLS = 30


@pytest.fixture
def low_thresholds() -> Iterator[None]:
    """Let strands and replaying begin after some calls."""
    before = _core.set_strand_threshold(5)
    warm, Mapped.warm = Mapped.warm, 40
    yield
    _core.set_strand_threshold(before)
    Mapped.warm = warm


@pytest.mark.usefixtures("low_thresholds")
@pytest.mark.filterwarnings("ignore:more than 20 plans")
@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_all_modes_agree(model: Model) -> None:
    data = model.draw_batches(4, min(model.batch, 4), HIDDEN)
    comparison = Comparison()
    for step in model.steps:
        for seed, calls in enumerate((CALLS, CALLS // 3)):
            entrants = make_entrants(
                weft, None, model, data, HIDDEN, seed=seed, training=step == "training"
            )
            call_in_turn(step, entrants, range(calls), comparison, checked_fully=calls)
    assert not comparison.faults


def test_modes_that_disagree_are_faults() -> None:
    model = MODELS["chain-8"]
    entrants = make_entrants(weft, None, model, model.draw_batches(1, 2, HIDDEN), HIDDEN)
    with weft.no_grad():
        entrants["map"].module.step.weight += 0.1
    entrants["lazy"].step = lambda batch: 1 / 0
    comparison = Comparison()
    seconds = call_in_turn("it", entrants, range(2), comparison)
    assert comparison.faults["map"].startswith("it, call 1: map: the value is")
    assert comparison.faults["lazy"] == "it, call 1: ZeroDivisionError('division by zero')"
    assert {mode: len(times) for mode, times in seconds.items()} == {"eager": 2, "map": 2}


# ---- What times say ------------------------------------------------------------------------------

CALM = [1.0] * 105


def finding(mapped: list[float], *, processes: int = 1, last: list[float] = CALM) -> Finding:
    times = {"eager": CALM, "map": mapped, "lazy": CALM}
    run = {
        "times": {"first": times, "last": {**times, "map": last}, "again": times},
        "faults": {},
    }
    return find("a model", "training", [run] * processes)[0]


def test_equal_times_pass() -> None:
    assert finding(CALM).verdict == "pass"
    assert finding(CALM).eager == {1: 1.0, 10: 1.0, 100: 1.0}


def test_a_slow_first_call_is_no_miss() -> None:
    assert finding([9.0, *CALM[1:]]).verdict == "pass"


def test_slow_calls_are_held_against_the_bar() -> None:
    assert finding([*CALM[:50], *[1.05] * 55]).verdict == "pass"
    assert finding([*CALM[:94], *[1.2] * 11]).misses == [
        "call 100: 0.83 of eager Weft's speed, not 0.9"
    ]


def test_a_stall_counts_at_the_same_call_of_three_processes() -> None:
    stalling = [*CALM[:WARM], 6.0, *CALM[WARM + 1 :]]
    assert finding(stalling).slowest == (6.0, WARM + 1)
    assert finding(stalling, processes=2).verdict == "pass"
    assert finding(stalling, processes=3).misses == ["call 21 stalls in each process"]


def test_stalls_at_different_calls_are_other_work() -> None:
    runs = []
    for place in range(3):
        stalling = [*CALM[: WARM + place], 6.0, *CALM[WARM + place + 1 :]]
        times = {"eager": CALM, "map": stalling, "lazy": CALM}
        runs.append({"times": dict.fromkeys(("first", "last", "again"), times), "faults": {}})
    found = find("a model", "training", runs)[0]
    assert [len(stalls) for stalls in found.stalls] == [1, 1, 1]
    assert found.common_stalls == []


def test_the_fifth_model_of_a_class_is_held_against_the_first() -> None:
    assert finding(CALM, last=[1.05] * 105).verdict == "pass"
    assert finding(CALM, last=[1.3] * 105).misses == ["as fifth of its class: 1.30 times as long"]


def test_a_fault_is_worse_than_a_miss() -> None:
    times = {"eager": CALM, "lazy": CALM}
    run = {
        "times": dict.fromkeys(("first", "last", "again"), times),
        "faults": {"map": "first model, call 1: KeyError()"},
    }
    mapped, lazy = find("a model", "training", [run])
    assert mapped.verdict == "WRONG"
    assert mapped.eager == {}
    assert lazy.verdict == "pass"
