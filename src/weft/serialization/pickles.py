"""Reading a pickle as data: a stack machine that calls nothing.

A pickle is a program. This one is read as text would be: strings, numbers and containers come out
as they are; a name such as `torch._utils._rebuild_tensor_v2` stays a name, and "calling" it looks
up in a table (`torch_names.py`) what data the name with these arguments stands for. A name that is
not in the table, or an opcode that weight files do not need, ends the reading.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from weft.serialization.errors import LoadError, RefusedError
from weft.serialization.kinds import is_exactly, is_key
from weft.serialization.tree import DEEPEST

if TYPE_CHECKING:
    from collections.abc import Callable

_LARGEST_INTEGER = 1024  # bytes
_MOST_PLACES = 20_000_000  # of a tree in which what is shared is counted each time


@dataclass(frozen=True, slots=True)
class Name:
    """A name of a module's content, as a pickle spells it; it is never looked up there."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class _Mark:
    """What separates the items of a container under construction from what is below."""


_MARK = _Mark()
_STOP = ord(".")


class Reader:
    """Reads one pickle after the other from a stretch of bytes.

    Args:
        data: the bytes.
        where: names the file in messages.
        known: tells whether a name stands for data; raises RefusedError if not.
        meaning: tells what data a name with arguments stands for.
        persistent: tells what a persistent id stands for.
    """

    def __init__(
        self,
        data: bytes,
        where: str,
        known: Callable[[Name], Any],
        meaning: Callable[[Name, tuple[Any, ...]], Any],
        persistent: Callable[[Any], Any],
    ) -> None:
        self.position = 0
        self._data = data
        self._where = where
        self._known = known
        self._meaning = meaning
        self._persistent = persistent
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def read(self) -> Any:
        """Read one pickle and return its data.

        Raises:
            RefusedError: if it asks for something that is no data.
            LoadError: if it is damaged, cyclic, or grows beyond measure.
        """
        self._stack = []
        self._memo = {}
        try:
            while True:
                code = self._take(1)[0]
                if code == _STOP:
                    break
                step = self._STEPS.get(code)
                if step is None:
                    self._refuse(f"the opcode {bytes((code,))!r}")
                else:
                    step(self)
            if len(self._stack) != 1:
                raise self._damaged("it ends with an unfinished value")
            return check_tree(self._pop(), self._where)
        except (IndexError, KeyError, TypeError, ValueError, struct.error) as error:
            if isinstance(error, LoadError):
                raise
            raise self._damaged(str(error) or type(error).__name__) from None
        finally:
            self._stack = []
            self._memo = {}

    # ---- bytes ---------------------------------------------------------------------------------

    def _damaged(self, why: str) -> LoadError:
        return LoadError(
            f"{self._where}: the pickle is damaged before byte {self.position}: {why:.200}"
        )

    def _refuse(self, what: str) -> None:
        raise RefusedError(
            f"{self._where}: the file asks for {what}, which is no data. Weft reads weight files "
            "without running what they say; save a state_dict() of tensors instead."
        )

    def _take(self, count: int) -> bytes:
        piece = self._data[self.position : self.position + count]
        if len(piece) != count:
            raise self._damaged("it is cut short")
        self.position += count
        return piece

    def _number(self, count: int) -> int:
        return int.from_bytes(self._take(count), "little")

    def _line(self) -> str:
        end = self._data.find(b"\n", self.position, self.position + 1000)
        if end < 0:
            raise self._damaged("a name does not end")
        line = self._take(end - self.position).decode("utf-8")
        self.position += 1
        return line

    def _integer(self, count: int) -> int:
        if count > _LARGEST_INTEGER:
            raise self._damaged(f"a number of {count} bytes")
        return int.from_bytes(self._take(count), "little", signed=True)

    # ---- the stack -----------------------------------------------------------------------------

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self) -> Any:
        value = self._stack.pop()
        if value is _MARK:
            raise self._damaged("a mark lies where a value should be")
        return value

    def _pop_marked(self) -> list[Any]:
        """Take what lies above the last mark, and the mark."""
        stack = self._stack
        at = len(stack) - 1
        while at >= 0 and stack[at] is not _MARK:
            at -= 1
        if at < 0:
            raise self._damaged("there is no mark")
        items = stack[at + 1 :]
        del stack[at:]
        return items

    def _top(self, *kinds: type) -> Any:
        value = self._stack[-1]
        if type(value) not in kinds:
            raise self._damaged(f"items are added to a {type(value).__name__}")
        return value

    def _extend(self, items: list[Any]) -> None:
        cast("list[Any]", self._top(list)).extend(items)

    def _set_items(self, items: list[Any]) -> None:
        target = cast("dict[Any, Any]", self._top(dict, OrderedDict))
        if len(items) % 2:
            raise self._damaged("a key has no value")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not is_key(key):
                raise self._damaged(f"a {type(key).__name__} is the key of a dictionary")
            target[key] = value

    def _add(self, items: list[Any]) -> None:
        target = cast("set[Any]", self._top(set))
        if not all(map(is_key, items)):
            raise self._damaged("a set holds what no set holds")
        target.update(items)

    def _remember(self, number: int) -> None:
        value = self._stack[-1]
        if value is _MARK:
            raise self._damaged("a mark is given a number")
        self._memo[number] = value

    # ---- names ---------------------------------------------------------------------------------

    def _push_name(self, module: Any, name: Any) -> None:
        if not is_exactly(module, str) or not is_exactly(name, str):
            raise self._damaged("a name is no text")
        self._push(self._known(Name(module, name)))

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        self._push_name(module, name)

    def _reduce(self) -> None:
        arguments, name = self._pop(), self._pop()
        if not is_exactly(name, Name):
            self._refuse(f"a call of a {type(name).__name__}")
        if not is_exactly(arguments, tuple):
            raise self._damaged(f"{name} has no tuple of arguments")
        self._push(self._meaning(name, cast("tuple[Any, ...]", arguments)))

    def _build(self) -> None:
        """Drop what a state_dict carries besides its items: versions of its modules."""
        state, value = self._pop(), self._stack[-1]
        if not is_exactly(value, OrderedDict) or not is_exactly(state, dict):
            self._refuse(f"setting the state of a {type(value).__name__}")

    def _text(self, count: int) -> None:
        self._push(self._take(count).decode("utf-8", "surrogatepass"))

    def _old_text(self, count: int) -> None:
        """Read a string of Python 2, which is text wherever weight files have one."""
        self._push(self._take(count).decode("latin-1"))

    def _protocol(self) -> None:
        if self._number(1) > 5:
            raise self._damaged("an unknown protocol")

    # ---- what each opcode does -------------------------------------------------------------

    _STEPS: ClassVar[dict[int, Callable[[Reader], object]]] = {
        0x80: _protocol,
        0x95: lambda r: r._number(8),  # FRAME: a hint for readers of streams
        ord("("): lambda r: r._push(_MARK),
        ord("0"): lambda r: r._pop(),
        ord("1"): lambda r: r._pop_marked(),
        # values
        ord("N"): lambda r: r._push(None),
        0x88: lambda r: r._push(True),
        0x89: lambda r: r._push(False),
        ord("J"): lambda r: r._push(r._integer(4)),
        ord("K"): lambda r: r._push(r._number(1)),
        ord("M"): lambda r: r._push(r._number(2)),
        0x8A: lambda r: r._push(r._integer(r._number(1))),
        0x8B: lambda r: r._push(r._integer(r._number(4))),
        ord("G"): lambda r: r._push(struct.unpack(">d", r._take(8))[0]),
        ord("X"): lambda r: r._text(r._number(4)),
        0x8C: lambda r: r._text(r._number(1)),
        0x8D: lambda r: r._text(r._number(8)),
        ord("U"): lambda r: r._old_text(r._number(1)),
        ord("T"): lambda r: r._old_text(r._number(4)),
        ord("C"): lambda r: r._push(r._take(r._number(1))),
        ord("B"): lambda r: r._push(r._take(r._number(4))),
        0x8E: lambda r: r._push(r._take(r._number(8))),
        # containers
        ord("}"): lambda r: r._push({}),
        ord("]"): lambda r: r._push([]),
        ord(")"): lambda r: r._push(()),
        0x8F: lambda r: r._push(set()),
        ord("t"): lambda r: r._push(tuple(r._pop_marked())),
        0x85: lambda r: r._push((r._pop(),)),
        0x86: lambda r: r._push((r._pop(), r._pop())[::-1]),
        0x87: lambda r: r._push((r._pop(), r._pop(), r._pop())[::-1]),
        ord("a"): lambda r: r._extend([r._pop()]),
        ord("e"): lambda r: r._extend(r._pop_marked()),
        ord("s"): lambda r: r._set_items([r._pop(), r._pop()][::-1]),
        ord("u"): lambda r: r._set_items(r._pop_marked()),
        0x90: lambda r: r._add(r._pop_marked()),
        # the memo
        ord("h"): lambda r: r._push(r._memo[r._number(1)]),
        ord("j"): lambda r: r._push(r._memo[r._number(4)]),
        ord("q"): lambda r: r._remember(r._number(1)),
        ord("r"): lambda r: r._remember(r._number(4)),
        0x94: lambda r: r._remember(len(r._memo)),
        # names
        ord("c"): lambda r: r._push_name(r._line(), r._line()),
        0x93: _stack_global,
        ord("R"): _reduce,
        ord("b"): _build,
        ord("Q"): lambda r: r._push(r._persistent(r._pop())),
    }


def check_tree(tree: Any, where: str) -> Any:
    """Return a tree that can be walked: without cycles, not too deep, not too large.

    What is shared counts each time: a few bytes of lists of the same lists can stand for more
    places than there is time to visit.

    Raises:
        LoadError: if it cannot.
    """
    places: dict[int, int] = {}  # of containers that are done
    depths: dict[int, int] = {}
    open_now: set[int] = set()
    waiting: list[tuple[Any, bool]] = [(tree, False)]
    while waiting:
        value, done = waiting.pop()
        children = children_of(value)
        if children is None or id(value) in places:
            continue
        if not done:
            if id(value) in open_now:
                raise LoadError(f"{where}: the pickle's data contains itself")
            open_now.add(id(value))
            waiting.append((value, True))
            waiting.extend((child, False) for child in children)
            continue
        open_now.discard(id(value))
        places[id(value)] = 1 + sum(places.get(id(child), 1) for child in children)
        depths[id(value)] = 1 + max((depths.get(id(child), 0) for child in children), default=0)
        if places[id(value)] > _MOST_PLACES or depths[id(value)] > DEEPEST:
            raise LoadError(f"{where}: the pickle's data is nested beyond measure")
    return tree


def children_of(value: Any) -> list[Any] | None:
    """Return what lies in a container; None for anything else."""
    if isinstance(value, dict):
        return list(cast("dict[Any, Any]", value).values())
    if isinstance(value, list | tuple):
        return list(cast("list[Any]", value))
    return None
