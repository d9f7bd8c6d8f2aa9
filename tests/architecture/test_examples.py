"""Every public name has an example; `pytest --doctest-modules src/weft` runs them.

Those of what C++ declares stand in core_examples.txt, and tests/test_core_docs.py runs them.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import types
from collections.abc import Iterator
from typing import Any

import pytest

import weft
from scripts.generate_docs import MODULE_PAGES, public_names
from weft import _core
from weft._core_docs import examples

MODULES = sorted({"weft", *(name for _, modules, _ in MODULE_PAGES.values() for name in modules)})
# What these methods do is seen in the example of their class: it calls the first; the
# second has run when it is made.
SHOWN_BY_THE_CLASS = {"forward", "reset_parameters"}
# The docs of other names, and of forms that write over their input, are made in a loop.
POINTER = re.compile(r"(?:Do what|Write the result of) `(\w+)` (?:does|over `input`)\.")


def example_of(value: Any, name: str) -> str:
    """Return the doc that has the example: its own, or that of the name which it points to."""
    doc = inspect.getdoc(value) or ""
    points_to = re.fullmatch(
        r"(?:Do what|Write the result of) `(\w+)` (?:does|over `input`)\.", doc
    )
    if points_to:
        original = getattr(weft, points_to[1], None) or getattr(weft.Tensor, points_to[1])
        return example_of(original, points_to[1])
    return doc if ">>>" in doc else examples().get(name, "")


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods that a class defines, but for those of a kind seen everywhere."""
    for name, value in vars(kind).items():
        plain = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if not name.startswith("_") and name not in SHOWN_BY_THE_CLASS and callable(plain):
            yield name, plain


def has_example(kind: type, method: str, value: Any) -> bool:
    """Tell whether a method, or the one of a base class that it overrides, has an example."""
    inherited = (vars(base)[method] for base in kind.__mro__[1:] if method in vars(base))
    return any(
        ">>>" in example_of(getattr(each, "__func__", each), f"{kind.__name__}.{method}")
        for each in (value, *inherited)
    )


@pytest.mark.parametrize("module_name", MODULES)
def test_every_name_has_an_example(module_name: str) -> None:
    module = importlib.import_module(module_name)
    missing: list[str] = []
    for name in public_names(module):
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) or not callable(value):
            continue
        if ">>>" not in example_of(value, getattr(value, "__name__", name)):
            missing.append(name)
        if isinstance(value, type) and value.__module__.startswith("weft"):
            missing += [
                f"{name}.{method}"
                for method, function in methods(value)
                if not has_example(value, method, function)
            ]
    assert missing == []


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, value in sorted(vars(weft.Tensor).items())
        if isinstance(value, types.FunctionType) and ">>>" in (value.__doc__ or "")
    ],
)
def test_examples_of_methods_run(name: str) -> None:
    """Some are made in a loop, where doctest does not find them."""
    method = getattr(weft.Tensor, name)
    test = doctest.DocTestParser().get_doctest(method.__doc__, {}, name, None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_the_check_itself() -> None:
    def undocumented() -> None:
        """Return nothing."""

    class Base:
        def method(self) -> None:
            """Do it. >>> Base().method()."""

    class Derived(Base):
        def method(self) -> None:
            """Do it otherwise."""

        def other(self) -> None:
            """Do something else."""

    assert ">>>" not in example_of(undocumented, "undocumented")
    assert ">>>" in example_of(weft.absolute, "absolute")
    assert ">>>" in example_of(_core.get_default_dtype, "get_default_dtype")
    assert [has_example(Derived, *each) for each in methods(Derived)] == [True, False]
