"""What is not compiled, and how that is said."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Refusal:
    """One construct of one function that has no instructions."""

    line: int
    construct: str
    reason: str
    instead: str
    file: str
    function: str

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line} in {self.function}: {self.construct} is not compiled, "
            f"because {self.reason}. Instead: {self.instead}."
        )


class RefusedError(Exception):
    """A function cannot be compiled; Python runs it."""

    def __init__(self, refusals: list[Refusal]) -> None:
        super().__init__("\n".join(str(refusal) for refusal in sorted(refusals)))
        self.refusals = sorted(refusals)


# By the name of the syntax tree's node: construct, reason, and what to write instead.
CONSTRUCTS: dict[str, tuple[str, str, str]] = {
    "AsyncFor": (
        "`async for`",
        "a routine cannot wait for an event loop",
        "a plain loop",
    ),
    "ClassDef": (
        "`class` inside a function",
        "it makes a new type at each call",
        "a class of the module",
    ),
    "Import": (
        "`import` inside a function",
        "it runs a module's code once",
        "an import at the top of the module",
    ),
    "ImportFrom": (
        "`import` inside a function",
        "it runs a module's code once",
        "an import at the top of the module",
    ),
    "Match": ("`match`", "patterns call into classes", "`if` and `isinstance`"),
    "TryStar": ("`except*`", "it takes groups of exceptions apart", "`except`"),
    "AsyncFunctionDef": (
        "`async def` inside a function",
        "a routine cannot wait for an event loop",
        "a function of the module",
    ),
}

# Functions that look at the frame that calls them, which a routine does not have.
FRAME_READERS = frozenset({"eval", "exec", "globals", "locals", "breakpoint"})
FRAME_READERS_WITHOUT_ARGUMENTS = frozenset({"dir", "super", "vars"})
FRAME_ATTRIBUTES = frozenset({"_getframe", "currentframe"})
