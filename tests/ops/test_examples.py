"""Every op has an example, which `help` shows and which prints what it says."""

from __future__ import annotations

import doctest
import inspect

import pytest

import weft
from weft import _core
from weft._op_docs import examples

OPS = [op["name"] for op in _core.describe_ops()]


@pytest.mark.parametrize("name", OPS)
def test_has_an_example_that_runs(name: str) -> None:
    """An op without one: write it into src/weft/op_examples.txt."""
    names = {"weft": weft}
    test = doctest.DocTestParser().get_doctest(examples()[name], names, name, None, 0)
    report: list[str] = []
    failed = doctest.DocTestRunner(verbose=False).run(test, out=report.append).failed
    assert test.examples
    assert not failed, "".join(report)
    assert name in examples()[name]


def test_nothing_is_left_over() -> None:
    assert sorted(examples()) == sorted(OPS)
    assert list(examples()) == sorted(examples()), "sort them by name"


@pytest.mark.parametrize("form", [weft.tanh, weft.Tensor.tanh, weft.tanh_])
def test_help_shows_it(form: object) -> None:
    doc = inspect.getdoc(form) or ""
    assert "Returns the hyperbolic tangent" in doc
    assert doc.endswith("Example:\n    >>> import weft\n    " + "\n    ".join(lines_of("tanh")))


def lines_of(name: str) -> list[str]:
    return examples()[name].splitlines()
