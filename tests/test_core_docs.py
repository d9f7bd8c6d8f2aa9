"""Everything that C++ declares has an example, which prints what it says."""

from __future__ import annotations

import doctest
import inspect

import pytest

import weft
from weft import _core
from weft._core_docs import examples

OPS = [op["name"] for op in _core.describe_ops()]


@pytest.mark.parametrize("name", sorted({*OPS, *examples()}))
def test_example_runs(name: str) -> None:
    """An op without one: write it into src/weft/core_examples.txt."""
    names = {"weft": weft}
    test = doctest.DocTestParser().get_doctest(examples()[name], names, name, None, 0)
    report: list[str] = []
    failed = doctest.DocTestRunner(verbose=False).run(test, out=report.append).failed
    assert test.examples
    assert not failed, "".join(report)
    assert name in OPS or hasattr(_core, name.partition(".")[0]), "of something that is not there"


def test_examples_are_sorted() -> None:
    assert list(examples()) == sorted(examples())


@pytest.mark.parametrize("form", [weft.tanh, weft.Tensor.tanh, weft.tanh_])
def test_help_of_an_op_shows_it(form: object) -> None:
    doc = inspect.getdoc(form) or ""
    assert "Returns the hyperbolic tangent" in doc
    assert doc.endswith(shown("tanh"))


def test_help_of_a_class_shows_it() -> None:
    doc = inspect.getdoc(weft.ShapeError) or ""
    assert doc.startswith("Shapes that do not fit together.\n\nExample:\n")
    assert doc.endswith(shown("ShapeError"))


def shown(name: str) -> str:
    return "".join(f"\n    {line}" for line in (">>> import weft", *examples()[name].splitlines()))
