"""What docs/coming-from-pytorch.md says of PyTorch is so, and examples print the same there."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator

import pytest
import torch

from scripts.generate_coming_from_pytorch import Name, found_in_weft, status, torch_names
from scripts.pytorch_differences import DIFFERENCES, Difference, outcome
from tests.oracle import torch_names as written
from weft._core_docs import examples


def test_names_are_up_to_date() -> None:
    said = written.FILE.read_text(encoding="utf-8")
    assert said == written.text(), "run python -m tests.oracle.torch_names"


@pytest.fixture(autouse=True)
def _distributions_check_again() -> Iterator[None]:
    """`torch.compile` switches the checks of PyTorch's distributions off for the whole process."""
    yield
    torch.distributions.Distribution.set_default_validate_args(True)


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.names or each.text[:40])
def test_difference_is_shown(difference: Difference) -> None:
    assert outcome(torch, difference.code) == difference.theirs


def example_of(name: Name) -> str:
    """Return the docs of what answers a name, with the example written for PyTorch."""
    value = found_in_weft(name)
    doc = inspect.getdoc(value) or ""
    place = f"{name.place.rpartition('.')[2]}.{name.name}"
    doc = doc if ">>>" in doc else examples().get(place, examples().get(name.name, ""))
    doc = re.sub(r"\bweft\b", "torch", doc)
    # Some of Weft's functions are in PyTorch's nn.functional alone.
    base = name.name.removesuffix("_")
    return doc if hasattr(torch, base) else doc.replace(f"torch.{base}(", f"{name.place}.{base}(")


# Their examples use names that PyTorch lacks.
OWN = {"torch.Tensor.normal_", "torch.diff", "torch.autograd.set_detect_anomaly"}
# How many examples run at least; so nothing goes missing when docs are read otherwise.
COMPARED = 1150


@pytest.mark.filterwarnings("ignore")
def test_examples_print_the_same() -> None:
    different: dict[str, str] = {}
    compared = 0
    for name in (name for place in written.PLACES for name in torch_names()[place]):
        if status(name)[0] != "same" or name.full in OWN or not callable(found_in_weft(name)):
            continue
        scope = {"torch": torch}
        test = doctest.DocTestParser().get_doctest(example_of(name), scope, name.full, None, 0)
        report: list[str] = []
        if doctest.DocTestRunner(verbose=False).run(test, out=report.append).failed:
            different[name.full] = "".join(report)
        compared += bool(test.examples)
    assert different == {}
    assert compared >= COMPARED
