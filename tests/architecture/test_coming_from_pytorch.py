"""The pages about PyTorch say what Weft has, and each difference is one."""

from __future__ import annotations

import re

import pytest

import weft
from scripts import generate_coming_from_pytorch, generate_nn_coverage
from scripts.generate_coming_from_pytorch import (
    Name,
    found_in_weft,
    said_differences,
    status,
    torch_names,
)
from scripts.pytorch_differences import DIFFERENCES, Difference, outcome


@pytest.mark.parametrize("generator", [generate_coming_from_pytorch, generate_nn_coverage])
def test_page_is_up_to_date(generator) -> None:
    assert generator.PAGE.read_text(encoding="utf-8") == generator.page(), "run `make docs`"


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.names or each.text[:40])
def test_difference_is_shown(difference: Difference) -> None:
    """tests/oracle/test_coming_from_pytorch.py shows the other half."""
    assert outcome(weft, difference.code) == difference.ours
    assert difference.ours != difference.theirs
    assert difference.names or difference.text.endswith(".")


def test_differences_are_about_names_that_are_there() -> None:
    known = {name.full: name for names in torch_names().values() for name in names}
    said = [name for difference in DIFFERENCES for name in difference.names.split()]
    assert [name for name in said if name not in known] == []
    assert [name for name in said if status(known[name])[0] != "differs"] == []
    assert len(said) == len(set(said)), "a name differs in one place"


def test_arguments_that_are_said_to_be_missing_are() -> None:
    shown = 0
    for name in (name for names in torch_names().values() for name in names):
        how = status(name)[1].partition(";")[0]
        if name.full in said_differences() or not how.startswith("has no"):
            continue
        for argument in re.findall(r"`(\w+)`", how):
            with pytest.raises(TypeError, match=argument):
                found_in_weft(name)(**{argument: None})
            shown += 1
    assert shown > 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (Name("torch", "tanh", True, ("input",)), ("same", "")),
        (Name("torch", "tanh", True, ("input", "degree")), ("differs", "has no `degree`")),
        (Name("torch", "imag", True), ("missing", "complex numbers")),
        (Name("torch", "never_heard_of", True), ("missing", "not yet")),
        (Name("torch.Tensor", "abs_"), ("same", "")),
        (Name("torch.hub", "load"), ("missing", "not yet")),
    ],
)
def test_status(name: Name, expected: tuple[str, str]) -> None:
    assert status(name) == expected
