"""The tensors that an example's result holds, wherever in it they are."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, cast

from weft import _core, pytree

_NUMBERS = {int, float, str, bool, type(None)}
_CONTAINERS = (list, tuple, set, frozenset, deque, dict)
_CLOSED = (type, ModuleType, FunctionType, MethodType, _core.Forward, *weakref.ProxyTypes)
_MOST_OBJECTS = 100_000  # of users' classes: they may lead to anything


def tensors_in(tree: Any) -> list[_core.Tensor]:
    """Return the tensors in containers and in objects of users' classes, however nested."""
    if isinstance(tree, list) and {type(item) for item in cast("list[Any]", tree)} == {
        _core.Tensor
    }:
        return cast("list[Any]", tree)  # mostly a loss for each example
    found: list[_core.Tensor] = []
    seen: set[int] = set()
    objects = 0
    waiting: list[Any] = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, _core.Tensor):
            found.append(item)
            continue
        if type(item) in _NUMBERS or id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, _CONTAINERS):
            waiting.extend(reversed(_items_of(item)))
        elif objects < _MOST_OBJECTS:
            objects += 1
            with suppress(Exception):  # whatever a user's class does when it is looked at
                waiting.extend(_parts_of(item))
    return found


def _items_of(container: Any) -> list[Any]:
    values = (
        cast("dict[Any, Any]", container).values() if isinstance(container, dict) else container
    )
    return list(cast("Iterable[Any]", values))


def _parts_of(item: Any) -> list[Any]:
    """Return what an object of a user's class holds: a state, a hypothesis, a node of a tree."""
    if type(item).__module__ == "builtins" or isinstance(item, _CLOSED):
        return []
    parts = [*_slots_of(item)]
    with suppress(Exception):
        parts.extend(cast("dict[str, Any]", vars(item)).values())
    registered = pytree.tree_leaves(item)
    return [*parts, *(leaf for leaf in registered if leaf is not item)]


def _slots_of(item: Any) -> Iterator[Any]:
    for kind in type(item).__mro__:
        for slot in vars(kind).values():
            if isinstance(slot, MemberDescriptorType):
                with suppress(AttributeError):  # it is not set
                    yield slot.__get__(item)
