"""What `help` says of an op: the doc of the op table, and an example from op_examples.txt."""

from __future__ import annotations

from functools import cache
from typing import Any

from weft import _core


@cache
def examples() -> dict[str, str]:
    """Return the example of each op by its name, as it would stand in a session."""
    from pathlib import Path  # noqa: PLC0415 - slow to import, and few programs read docs

    text = Path(__file__).with_name("op_examples.txt").read_text(encoding="utf-8")
    named = (part.split("\n", 1) for part in text.strip().split("\n\n"))
    return {name: example.strip() for name, example in named}


_declared: Any = vars(_core.OpFunction)["__doc__"]


def _documentation(op: Any) -> str:
    declared = _declared.__get__(op)
    name = op.__name__
    example = examples().get(name) or examples().get(name.removesuffix("_"))
    if example is None:
        return declared
    lines = [">>> import weft", *example.splitlines()]
    return f"{declared}\n\nExample:\n" + "\n".join(f"    {line}" for line in lines)


_core.OpFunction.__doc__ = property(_documentation)  # type: ignore[assignment] # asked of each op
