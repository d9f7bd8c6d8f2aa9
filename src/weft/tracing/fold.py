"""Fold a trace: group its nodes by module, function, loop and round, calmly.

`weft.tracing.scopes` finds every call and loop. Here those are left out that say
nothing: a loop that ran once, a function around everything, around one thing, or around a
module's forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from weft.tracing.model import Node, Trace
from weft.tracing.scopes import LEAVES, Scope, find_scopes
from weft.tracing.sources import COMPREHENSIONS

GroupKind = Literal["module", "function", "loop", "iteration"]


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that belong together. A parent stands before its children.

    Attributes:
        kind: What it is.
        label: "encoder.0 (Linear)", "encode()", "for step in steps:", "3".
        parent: The group around it, -1: none.
        frame: Where it stands in the program.
        count: Of a loop: how many times it ran; 1 otherwise.

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> model = weft.nn.Sequential(weft.nn.ReLU())
        >>> trace = tracing.record(model, (weft.ones(2),)).trace()
        >>> [group.label for group in tracing.fold(trace).groups]
        ['Sequential', '0 (ReLU)']
    """

    kind: GroupKind
    label: str
    parent: int = -1
    frame: int = -1
    count: int = 1


@dataclass(frozen=True, slots=True)
class Folded:
    """How the nodes of a trace fold.

    Attributes:
        groups: All groups.
        group_of: For each node its innermost group, -1: none.
        group_of_read: The same for each read.

    Example:
        >>> import weft
        >>> from weft import tracing
        >>> trace = tracing.record(lambda: weft.ones(2) * 3).trace()
        >>> tracing.fold(trace).groups
        ()
    """

    groups: tuple[Group, ...]
    group_of: tuple[int, ...]
    group_of_read: tuple[int, ...] = ()


def fold(trace: Trace) -> Folded:
    """Group the nodes of a trace by module, function, loop and round.

    Args:
        trace: Any trace.

    Returns:
        The groups, and for each node the one that it is in.

    Example:
        >>> from weft.tracing import ModuleCall, Node, Trace
        >>> trace = Trace(
        ...     modules=(ModuleCall("encoder.0", "Linear"),), nodes=(Node("add", module=0),)
        ... )
        >>> fold(trace).groups[0].label
        'encoder.0 (Linear)'
    """
    return fold_scopes(trace, find_scopes(trace))


def fold_scopes(trace: Trace, scopes: Sequence[Scope]) -> Folded:
    """Group the nodes of a trace whose scopes are known.

    Args:
        trace: Any trace.
        scopes: Its scopes, the root first, parents before children.
    """
    kept = _kept(scopes)
    groups: list[Group] = []
    group_of_scope = [-1] * len(scopes)
    group_of = [-1] * len(trace.nodes)
    group_of_read = [-1] * len(trace.reads)
    for number, scope in enumerate(scopes):
        inside = group_of_scope[scope.parent] if number else -1
        if kept[number]:
            groups.append(_group(trace, scopes, number, inside))
            inside = len(groups) - 1
        group_of_scope[number] = inside
        for kind, item in scope.items:
            if kind == "node":
                group_of[item] = inside
            elif kind == "read":
                group_of_read[item] = inside
    _place_leaves(trace.nodes, groups, group_of)
    return Folded(tuple(groups), tuple(group_of), tuple(group_of_read))


def _kept(scopes: Sequence[Scope]) -> list[bool]:
    """Decide for each scope whether it becomes a group."""
    nodes = _counts(scopes)
    kept = [number > 0 and nodes[number] > 0 for number in range(len(scopes))]
    for number, scope in enumerate(scopes):
        if scope.kind in ("loop", "map"):
            rounds = [item for _, item in scope.items if nodes[item]]
            kept[number] = len(rounds) > 1 and (
                scope.kind == "map" or rounds_of(scopes, number) > 1
            )
            for item in rounds:
                kept[item] = kept[number]
    # From the inside out: what a scope shows are nodes and groups, after inner ones were left out.
    shown = [0] * len(scopes)
    for number in range(len(scopes) - 1, 0, -1):
        scope = scopes[number]
        shown[number] += sum(kind == "node" for kind, _ in scope.items)
        if scope.kind == "function" and kept[number]:
            under_module = scopes[scope.parent].kind == "module" and scope.name == "forward"
            nameless = scope.name == "<module>" or scope.name in COMPREHENSIONS
            kept[number] = shown[number] > 1 and not under_module and not nameless
        shown[scope.parent] += 1 if kept[number] else shown[number]
    total = nodes[0]
    for number, scope in enumerate(scopes):
        if kept[number]:
            around_all = scope.kind == "function" and nodes[number] == total
            alone = _is_alone(scopes, shown, kept, number)
            kept[number] = not around_all and not alone
    return kept


def _is_alone(scopes: Sequence[Scope], shown: list[int], kept: list[bool], number: int) -> bool:
    """Tell whether a function is all that a round shows."""
    if scopes[number].kind != "function":
        return False
    parent = scopes[number].parent
    while not kept[parent] and scopes[parent].parent >= 0:
        parent = scopes[parent].parent
    return scopes[parent].kind == "iteration" and shown[parent] == 1


def _counts(scopes: Sequence[Scope]) -> list[int]:
    """Return how many nodes each scope holds, inner scopes included."""
    counts = [sum(kind == "node" for kind, _ in scope.items) for scope in scopes]
    for number in range(len(scopes) - 1, 0, -1):
        counts[scopes[number].parent] += counts[number]
    return counts


def _group(trace: Trace, scopes: Sequence[Scope], number: int, parent: int) -> Group:
    scope = scopes[number]
    if scope.kind == "module":
        call = trace.modules[scope.number]
        return Group("module", _module_label(call.path, call.kind), parent, call.frame)
    if scope.kind == "function":
        name = "lambda" if scope.name == "<lambda>" else f"{scope.name}()"
        return Group("function", name, parent, scope.frame)
    if scope.kind == "iteration":
        if scopes[scope.parent].kind == "map":  # as they are counted in the list of examples
            return Group("iteration", str(scope.number - 1), parent, scope.frame)
        label = str(scope.number) if _is_counted(scopes, number) else "end"
        return Group("iteration", label, parent, scope.frame)
    if scope.kind == "map":
        return Group("loop", "weft.map", parent, scope.frame, len(scope.items))
    label = scope.name or f"line {scope.line}"
    return Group("loop", label, parent, scope.frame, rounds_of(scopes, number))


def rounds_of(scopes: Sequence[Scope], number: int) -> int:
    """Return how many times the body of a loop ran.

    Args:
        scopes: The scopes of a trace.
        number: Which of them is the loop.
    """
    return sum(_is_counted(scopes, item) for _, item in scopes[number].items)


def _is_counted(scopes: Sequence[Scope], number: int) -> bool:
    """Tell whether a round is more than the last test of its loop."""
    loop = scopes[scopes[number].parent]
    is_last = loop.items[-1][1] == number
    return not is_last or scopes[number].has_body or not scopes[loop.items[0][1]].has_body


def _module_label(path: str, kind: str) -> str:
    return kind if path in {"", kind} else f"{path} ({kind})"


def _place_leaves(nodes: Sequence[Node], groups: list[Group], group_of: list[int]) -> None:
    """Put parameters and constants into the innermost group around all that use them."""
    depths: list[int] = []
    for group in groups:
        depths.append(depths[group.parent] + 1 if group.parent >= 0 else 0)
    users: dict[int, int] = {}
    for number, node in enumerate(nodes):
        if node.kind in LEAVES:
            continue
        for one in node.inputs:
            if one.node >= 0 and nodes[one.node].kind in ("parameter", "constant"):
                mine = group_of[number]
                known = users.get(one.node)
                users[one.node] = mine if known is None else _around(groups, depths, known, mine)
    for number, group in users.items():
        # A loop itself holds nothing but rounds.
        while group >= 0 and groups[group].kind == "loop":
            group = groups[group].parent
        group_of[number] = group


def _around(groups: list[Group], depths: list[int], one: int, other: int) -> int:
    while one != other:
        if other < 0 or (one >= 0 and depths[one] >= depths[other]):
            one = groups[one].parent
        else:
            other = groups[other].parent
    return one
