"""The models that can be named on the command line, in the order of the report."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.measure import Row, Settings
from benchmarks.models import (
    beam,
    characters,
    child_sum,
    costs,
    dense,
    early_exit,
    experts,
    lattice,
    memory,
    parser,
    spellings,
    tagger,
    tree_lstm,
)
from benchmarks.models.common import Measure, Size, all_sizes, main_sizes, over_sizes

Case = Callable[[], list[Row]]
Guard = Callable[[str, Case], list[Row]]


def build_cases(weft: Any, torch: Any, settings: Settings, guarded: Guard) -> dict[str, Case]:
    """Return the models by name.

    Args:
        weft: the library.
        torch: the other one.
        settings: how long to measure, and with which threads.
        guarded: runs a case and turns an exception into a row without a number.
    """

    def model(name: str, measure: Measure, sizes: list[Size]) -> Case:
        return partial(over_sizes, weft, torch, settings, sizes, measure, guarded, name)

    trees, others = all_sizes(settings), main_sizes(settings)
    with_cells: Measure = partial(tree_lstm.measure, cells=True)
    cases = {
        "tree-lstm": model("Tree-LSTM", tree_lstm.measure, trees),
        "tree-lstm-cells": model("Tree-LSTM with cells", with_cells, trees),
        "tree-lstm-memory": partial(memory.measure, settings),
        "tagger": model("BiLSTM tagger", tagger.measure, others),
        "parser": model("transition parser", parser.measure, others),
        "experts": model("mixture of experts", experts.measure, others),
    }
    printed = {
        "lattice": ("lattice LSTM", lattice.measure),
        "child-sum": ("child-sum Tree-LSTM", child_sum.measure),
        "early-exit": ("early exit", early_exit.measure),
        "beam": ("beam search", beam.measure),
        "spellings": ("ways of writing", spellings.measure),
    }
    for name, (title, measure) in printed.items():
        cases[name] = model(title, measure, main_sizes(settings))
    for name in characters.MODELS:
        cases[name] = partial(characters.measure, weft, torch, settings, name)
    cases["lazy-dense"] = partial(dense.measure, weft, torch, settings)
    cases["lazy-costs"] = partial(costs.measure, settings)
    return cases
