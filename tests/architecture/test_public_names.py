"""Every public name is documented by a sentence that begins with a verb."""

from __future__ import annotations

import importlib
import inspect
import re
import types
from typing import Any

import pytest

import weft
from scripts.generate_docs import public_names, without_signature
from weft import _core

MODULES = (
    "weft",
    "weft.nn",
    "weft.nn.functional",
    "weft.nn.init",
    "weft.nn.utils",
    "weft.optim",
    "weft.optim.lr_scheduler",
    "weft.autograd",
    "weft.autograd.functional",
    "weft.autograd.graph",
    "weft.debug",
    "weft.tracing",
    "weft.viewer",
    "weft.random",
    "weft.pytree",
    "weft.serialization",
    "weft.distributions",
    "weft.func",
    "weft.utils.checkpoint",
    "weft.utils.data",
)
# A function's sentence says what it does. These words begin sentences that say what something is.
NO_VERBS = frozenset(
    "A All An And Any As Both Each Every For From How If In Is It Its Like More Never No Not Now Of"
    " On One Only Other Our Same See Some Such That The Their These This To Two What When"
    " Where Whether Which Who Why With Without You Your".split()
)


def sentence_of(value: Any) -> str:
    """Return the first sentence of the documentation, on one line."""
    doc = inspect.getdoc(value) or ""
    if isinstance(value, _core.OpFunction):
        # The signature comes first; an in-place form says so before its sentence.
        head, _, rest = doc.partition("\n\n")
        said = head.partition("; ")[2]
        doc = said.capitalize() if head.startswith(f"{value.__name__}: the in-place form") else rest
    doc = without_signature(doc)
    return " ".join(doc.strip().partition("\n\n")[0].split())


def complaint(value: Any) -> str | None:
    """Say what is wrong with the documentation of a function or class, or nothing."""
    sentence = sentence_of(value)
    if not sentence:
        return "no docstring"
    if not re.search(r"[.:]($|\s)", sentence):
        return f"not a sentence: {sentence!r}"
    first = re.match(r"`?(\w+)", sentence)
    if first is None or not (first[1][0].isupper() or sentence[0] == "`"):
        return f"does not begin with a capital letter: {sentence!r}"
    if not isinstance(value, type) and first[1] in NO_VERBS:
        return f"does not begin with a verb: {sentence!r}"
    return None


def described(module: types.ModuleType, name: str) -> Any:
    """Return what a name stands for, or None where there is nothing to document."""
    value = getattr(module, name)
    return value if callable(value) or isinstance(value, types.ModuleType) else None


@pytest.mark.parametrize("module_name", MODULES)
def test_names_are_documented(module_name: str) -> None:
    module = importlib.import_module(module_name)
    assert inspect.getdoc(module), f"{module_name} has no docstring"
    values = {name: described(module, name) for name in public_names(module)}
    complaints = {
        name: (None if isinstance(value, types.ModuleType) and value.__doc__ else complaint(value))
        for name, value in values.items()
        if value is not None
    }
    assert {name: text for name, text in complaints.items() if text} == {}


def test_methods_are_documented() -> None:
    missing = {}
    for name in dir(weft.Tensor):
        value = inspect.getattr_static(weft.Tensor, name)
        if name.startswith("_") or isinstance(value, bool | int | str):
            continue
        if inspect.isdatadescriptor(value):
            if not inspect.getdoc(value):
                missing[name] = "no docstring"
        elif text := complaint(value):
            missing[name] = text
    assert missing == {}


@pytest.mark.parametrize(
    "module_name", ["weft.nn", "weft.optim", "weft.distributions", "weft.utils.data"]
)
def test_methods_of_classes_are_documented(module_name: str) -> None:
    module = importlib.import_module(module_name)
    missing = {}
    for name in public_names(module):
        value = getattr(module, name)
        if not isinstance(value, type):
            continue
        for method, function in vars(value).items():
            plain = isinstance(function, types.FunctionType) and not method.startswith("_")
            if plain and not inspect.getdoc(getattr(value, method)) and method != "forward":
                missing[f"{name}.{method}"] = "no docstring"
    assert missing == {}


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("Return the sum.", None),
        ("Return the sum", "not a sentence"),
        ("The sum.", "does not begin with a verb"),
        ("return the sum.", "capital letter"),
        ("", "no docstring"),
    ],
)
def test_the_check_itself(doc: str, expected: str | None) -> None:
    def function() -> None:
        pass

    function.__doc__ = doc
    found = complaint(function)
    assert (found is None) if expected is None else (found is not None and expected in found)
