"""Write docs/coming-from-pytorch.md: what of PyTorch is the same, what differs, what is missing.

PyTorch's names are in scripts/torch_names.txt (`make oracle` checks them), what differs and why
names are missing in scripts/pytorch_differences.py. Whether Weft has a name, and with which
arguments, is asked of Weft itself, by the modules that answer `import torch`.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import weft
from scripts.pytorch_differences import DIFFERENCES, reason
from weft import _core
from weft.compat.forwarding import ForwardingModule
from weft.compat.table import MODULES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "coming-from-pytorch.md"
NAMES = ROOT / "scripts" / "torch_names.txt"
MODULE_CLASSES = "Module classes of torch.nn"
CLASSES = {
    "torch.Tensor": weft.Tensor,
    "torch.nn.Module": weft.nn.Module,
    "torch.optim.Optimizer": weft.optim.Optimizer,
}
# Arguments that nothing of Weft's takes, or that change nothing there: the page says so once.
LEFT_OUT = frozenset(
    "out layout pin_memory memory_format device names non_blocking size_average reduce capturable "
    "differentiable out_dtype cudnn_enable cudnn_enabled implicit".split()
)
_NOTHING = object()


@dataclass(frozen=True)
class Name:
    """A public name of PyTorch: its place, whether PyTorch documents it, and its parameters."""

    place: str
    name: str
    documented: bool = True
    parameters: tuple[str, ...] = ()

    @property
    def full(self) -> str:
        return f"{self.place}.{self.name}"


@cache
def torch_names() -> dict[str, list[Name]]:
    """Return PyTorch's public names by their places."""
    found: dict[str, list[Name]] = {}
    for section in NAMES.read_text(encoding="utf-8").strip().split("\n\n"):
        head, *lines = section.splitlines()
        place = head.strip("[]")
        found[place] = []
        for line in lines:
            mark, name, given = re.fullmatch(r"(\??)(\w+)(?:\((.*)\))?", line).groups()  # type: ignore[union-attr]
            parameters = tuple(given.split(", ")) if given else ()
            found[place].append(Name(place, name, not mark, parameters))
    return found


def found_in_weft(name: Name) -> Any:
    """Return what answers a name of PyTorch, or `_NOTHING`."""
    if name.place in CLASSES:
        return inspect.getattr_static(CLASSES[name.place], name.name, _NOTHING)
    try:
        return getattr(ForwardingModule(name.place, MODULES[name.place]), name.name)
    except (AttributeError, KeyError):
        return _NOTHING


def is_there(name: Name) -> bool:
    return found_in_weft(name) is not _NOTHING


def parameters_of(value: Any) -> dict[str, bool] | None:
    """Return the parameters of a function and whether they are given by name only.

    None if it takes any, or nobody knows.
    """
    value = inspect.unwrap(value)
    if isinstance(value, _core.OpFunction):
        positional, _, by_name = value.signature.partition("*, ")
        names = dict.fromkeys(re.findall(r"(\w+): ", positional), False)
        return names | dict.fromkeys(re.findall(r"(\w+): ", by_name), True)
    try:
        given = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    takes_any = any(each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL) for each in given)
    return None if takes_any else {each.name: each.kind == each.KEYWORD_ONLY for each in given}


def difference_of_parameters(name: Name, value: Any) -> str:
    """Say which of PyTorch's parameters a function lacks, or takes by name only; "" if none."""
    ours = parameters_of(value) if callable(value) else None
    if ours is None:
        return ""
    theirs = [
        each for each in name.parameters if each not in LEFT_OUT and not keyword.iskeyword(each)
    ]
    if name.place not in CLASSES and theirs[:1] != ["*"]:
        del theirs[:1]  # What comes first is hardly ever given by name.
    by_place = theirs[: theirs.index("*")] if "*" in theirs else theirs
    lacks = [f"`{each}`" for each in theirs if each not in ours and each[0] not in "_*"]
    by_name = [f"`{each}`" for each in by_place if ours.get(each)]
    said = [f"has no {', '.join(lacks)}"] if lacks else []
    said += [f"takes {', '.join(by_name)} by name only"] if by_name else []
    return "; ".join(said)


@cache
def said_differences() -> dict[str, str]:
    return {name: each.text for each in DIFFERENCES for name in each.names.split()}


def status(name: Name) -> tuple[str, str]:
    """Return "same", "differs" or "missing" of a name, and how or why."""
    value = found_in_weft(name)
    if value is _NOTHING:
        return "missing", reason(name.full)
    if name.full in said_differences():
        return "differs", said_differences()[name.full]
    how = difference_of_parameters(name, value)
    return ("differs", how) if how else ("same", "")


# ---- the page -----------------------------------------------------------------------------------

TOP = """\
<!-- Written by scripts/generate_coming_from_pytorch.py (`make docs`); do not edit. -->

# Coming from PyTorch

Weft's names are PyTorch's (version 2.13). There are three ways to use that:

- `weft run script.py` runs a script as it is: `import torch` finds Weft, and PyTorch need not be
  installed.
- `import weft as torch` in place of `import torch`, in a program of yours.
- `import weft`, for what PyTorch does not have: `weft.map`, `weft.lazy`, `weft.graph`,
  `weft.debug`.

The same seed gives the same random numbers, so a script's losses can be compared line by line.

## What will surprise you

{surprises}

## When a name is missing

The error says why if that is known, where else the name is, or which names are near; it is always
an AttributeError, so `getattr(torch, name, None)` and `hasattr` work for every name. Much of what
is missing can be written with what is there; [CONTRIBUTING.md](../CONTRIBUTING.md) says how such
functions are added.
`weft.load` reads what PyTorch's `torch.save` wrote, so a part of the work can stay with PyTorch.

## In numbers

"Same" means: the name is there and takes PyTorch's arguments. `make oracle` compares results: of
all ops, of PyTorch's own op database, of [modules](nn-coverage.md), optimizers, distributions and
scripts; and it runs the examples of these names with PyTorch, which must print the same.
Not counted as differences are arguments that mean nothing on one CPU or are deprecated
({left_out}).
Names that PyTorch has and does not document are left out unless Weft has them.

| module | same | differs | missing |
|---|---|---|---|
{counts}

Missing, by reason: {reasons}.
"""


def joined(names: list[str]) -> str:
    """Return names as one line of text; `abs[_]` stands for `abs` and `abs_`."""
    known = set(names)
    shown = [
        f"{name}[_]" if f"{name}_" in known else name
        for name in names
        if name.removesuffix("_") == name or name.removesuffix("_") not in known
    ]
    return ", ".join(f"`{name}`" for name in shown)


def section(place: str, found: dict[Name, tuple[str, str]]) -> Iterator[str]:
    """Write the part of the page about one module or class."""
    yield f"\n## {place}\n"
    same = [name.name for name, (kind, _) in found.items() if kind == "same"]
    if same:
        yield f"Same: {joined(same)}.\n"
    differing: dict[str, list[str]] = {}
    missing: dict[str, list[str]] = {}
    for name, (kind, text) in found.items():
        if kind != "same":
            (differing if kind == "differs" else missing).setdefault(text, []).append(name.name)
    if differing:
        yield "| differs | how |\n|---|---|"
        yield "\n".join(f"| {joined(names)} | {text} |" for text, names in differing.items()) + "\n"
    for why, names in sorted(missing.items()):
        yield f"- Missing, {why}: {joined(names)}.\n"


def page() -> str:
    """Return the page's text."""
    found = {
        place: {name: status(name) for name in names if name.documented or is_there(name)}
        for place, names in torch_names().items()
        if place != MODULE_CLASSES
    }
    counts = {place: Counter(kind for kind, _ in each.values()) for place, each in found.items()}
    counts["all"] = sum(counts.values(), Counter())
    rows = (
        f"| {place} | {count['same']} | {count['differs']} | {count['missing']} |"
        for place, count in counts.items()
    )
    statuses = (status for each in found.values() for status in each.values())
    reasons = Counter(text for kind, text in statuses if kind == "missing")
    text = TOP.format(
        surprises="\n".join(f"- {each.text}" for each in DIFFERENCES if not each.names),
        left_out=", ".join(f"`{name}`" for name in sorted(LEFT_OUT)),
        counts="\n".join(rows),
        reasons="; ".join(f"{reason}: {count}" for reason, count in reasons.most_common()),
    )
    parts = (part for place, each in found.items() for part in section(place, each))
    return text + "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
