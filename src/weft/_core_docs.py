"""What `help` says of the core's names: the doc of the C++ side, and an example.

The examples stand in core_examples.txt by name: ops, classes, functions, methods ("Tensor.size").
Docs of functions and methods that are no ops cannot be changed from here; the reference has theirs.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from weft import _core


@cache
def examples() -> dict[str, str]:
    """Return the examples by name, as they would stand in a session."""
    from pathlib import Path  # noqa: PLC0415 - slow to import, and few programs read docs

    text = Path(__file__).with_name("core_examples.txt").read_text(encoding="utf-8")
    named = (part.split("\n", 1) for part in text.strip().split("\n\n"))
    return {name: example.strip() for name, example in named}


def with_example(doc: str, name: str) -> str:
    """Return a doc with the example of a name, if there is one."""
    if name not in examples():
        return doc
    lines = (">>> import weft", *examples()[name].splitlines())
    return f"{doc}\n\nExample:\n" + "\n".join(f"    {line}" for line in lines)


class _ClassDoc:
    """The doc of a class, completed when it is asked for."""

    def __init__(self, doc: str, name: str) -> None:
        self._doc = doc
        self._name = name

    def __get__(self, _instance: object, _owner: type) -> str:
        return with_example(self._doc, self._name)


def _op_doc(op: Any) -> str:
    # An in-place form has the example of its op.
    name = op.__name__ if op.__name__ in examples() else op.__name__.removesuffix("_")
    return with_example(_declared.__get__(op), name)


_declared: Any = vars(_core.OpFunction)["__doc__"]
_core.OpFunction.__doc__ = property(_op_doc)  # type: ignore[assignment]
for _name, _value in vars(_core).items():
    # Of some, __doc__ is that of what an instance holds.
    if isinstance(_value, type) and not _name.startswith("_") and isinstance(_value.__doc__, str):
        _value.__doc__ = _ClassDoc(_value.__doc__, _name)  # type: ignore[assignment]
_core.seal_op_functions()
