"""Nested state as JSON: what JSON has stands for itself, everything else is `{tag: content}`.

A tensor is a number: its place in the list of tensors that goes with the tree.
"""

from __future__ import annotations

import base64
import math
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any, cast

from weft._core import Tensor, dtype
from weft._tensor import Size, device, from_numpy
from weft.serialization.elements import BY_NAME
from weft.serialization.errors import LoadError, SaveError
from weft.serialization.kinds import is_exactly, is_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DEEPEST = 100  # containers within containers; JSON's readers have limits of their own
_PLAIN_INTEGER = 1 << 63
_MAPPINGS: dict[str, type[dict[Any, Any]]] = {
    "dict": dict,
    "ordered_dict": OrderedDict,
    "counter": cast("Any", Counter),
}
_SEQUENCES: dict[str, Callable[[Iterable[Any]], Any]] = {
    "tuple": tuple,
    "size": Size,
    "set": set,
    "frozenset": frozenset,
}
_TAG_OF: dict[type, str] = {
    **{kind: tag for tag, kind in _MAPPINGS.items()},
    tuple: "tuple",
    Size: "size",
    set: "set",
    frozenset: "frozenset",
}


class Encoder:
    """Turns an object into a JSON tree, collecting the tensors on the way with their names."""

    def __init__(self) -> None:
        self.tensors: list[tuple[str, Tensor]] = []
        self._numbers: dict[int, int] = {}
        self._open: set[int] = set()
        self._kept: list[Any] = []  # so that no other object gets the same id

    def encode(self, value: Any, path: tuple[Any, ...] = ()) -> Any:
        """Return the tree of a value that lies at a path.

        Raises:
            SaveError: if it has no place in a file.
        """
        kind = cast("type[Any]", type(value))
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if abs(value) < _PLAIN_INTEGER else {"int": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is bytes:
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, Tensor):
            return {"tensor": self._number(value, path)}
        if kind is list or kind in _TAG_OF:
            return self._container(value, kind, path)
        if kind is dtype:
            return {"dtype": value.name}
        if kind is device:
            return {"device": str(value)}
        if kind.__module__ == "numpy" and hasattr(value, "__array_interface__"):
            return self._numpy(value, path)
        raise SaveError(f"save(): {_complaint(value)} at {_shown(path)}.{_hint(value)}")

    def _number(self, tensor: Tensor, path: tuple[Any, ...]) -> int:
        """Return the place of a tensor in the list; the same object has one place."""
        number = self._numbers.setdefault(id(tensor), len(self.tensors))
        if number == len(self.tensors):
            self.tensors.append((".".join(map(str, path)) or "value", tensor))
        return number

    def _numpy(self, value: Any, path: tuple[Any, ...]) -> Any:
        import numpy as np  # noqa: PLC0415 - only for values that are NumPy's

        try:
            tensor = from_numpy(np.array(value))  # a copy: a scalar has no memory to share
        except TypeError as error:
            raise SaveError(
                f"save(): a NumPy value of type {value.dtype} at {_shown(path)} cannot be saved."
            ) from error
        self._kept.append(tensor)
        tag = "array" if is_exactly(value, np.ndarray) else "scalar"
        return {tag: self._number(tensor, path)}

    def _container(self, value: Any, kind: type, path: tuple[Any, ...]) -> Any:
        if id(value) in self._open:
            raise SaveError(f"save(): the {kind.__name__} at {_shown(path)} contains itself.")
        if len(path) >= DEEPEST:
            raise SaveError(f"save(): {_shown(path)} lies deeper than {DEEPEST} levels.")
        self._open.add(id(value))
        try:
            if kind is list:
                return [self.encode(item, (*path, i)) for i, item in enumerate(value)]
            tag = _TAG_OF[kind]
            if tag in _MAPPINGS:
                return self._mapping(value, tag, path)
            return {tag: [self.encode(item, (*path, i)) for i, item in enumerate(value)]}
        finally:
            self._open.discard(id(value))

    def _mapping(self, value: dict[Any, Any], tag: str, path: tuple[Any, ...]) -> Any:
        if all(is_exactly(key, str) for key in value):
            return {tag: {key: self.encode(item, (*path, key)) for key, item in value.items()}}
        pairs: list[Any] = []
        for key, item in value.items():
            if not is_key(key):
                raise SaveError(
                    f"save(): the dictionary at {_shown(path)} has the key {key!r:.80} of type "
                    f"{type(key).__name__}; keys are numbers, texts, bytes, None, and tuples of "
                    "these."
                )
            pairs.append([self.encode(key, (*path, key)), self.encode(item, (*path, key))])
        return {tag: pairs}


def _shown(path: tuple[Any, ...]) -> str:
    return "".join(f"[{key!r}]" for key in path) or "the top"


def _complaint(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"the function {value.__qualname__}"
    kind = cast("type", type(value))
    return f"an object of type {kind.__module__}.{kind.__qualname__}".replace("builtins.", "")


def _hint(value: Any) -> str:
    if hasattr(value, "state_dict"):
        return " Save its state_dict() instead."
    kinds = "numbers, texts, bytes, None, tensors, arrays, dtypes, and dicts, lists, tuples, sets"
    return f" Files hold {kinds}."


class Decoder:
    """Turns a JSON tree back into objects.

    Args:
        tensor: gives the tensor at a place of the list.
        where: names the file in messages.
    """

    def __init__(self, tensor: Callable[[int], Tensor], where: str) -> None:
        self._tensor = tensor
        self._where = where

    def decode(self, tree: Any, depth: int = 0) -> Any:
        """Return the object that a tree stands for.

        Raises:
            LoadError: if it stands for nothing.
        """
        if depth > DEEPEST + 1:
            raise LoadError(f"{self._where}: the tree is deeper than {DEEPEST} levels")
        if isinstance(tree, list):
            return [self.decode(item, depth + 1) for item in cast("list[Any]", tree)]
        if not isinstance(tree, dict):
            return tree
        tree = cast("dict[str, Any]", tree)
        if len(tree) != 1:
            raise LoadError(f"{self._where}: the tree has an object of {len(tree)} fields")
        ((tag, content),) = tree.items()
        try:
            return self._tagged(tag, content, depth + 1)
        except (TypeError, ValueError, IndexError) as error:
            if isinstance(error, LoadError):
                raise
            raise LoadError(f"{self._where}: a {tag!r} in the tree is damaged: {error}") from None

    def _tagged(self, tag: str, content: Any, depth: int) -> Any:
        if tag in _MAPPINGS:
            return self._mapping(_MAPPINGS[tag], content, depth)
        if tag in _SEQUENCES:
            if not isinstance(content, list):
                raise LoadError(f"{self._where}: a {tag!r} in the tree is no list")
            items = [self.decode(item, depth) for item in cast("list[Any]", content)]
            if "set" in tag and not all(map(is_key, items)):
                raise LoadError(f"{self._where}: a set in the tree holds what no set holds")
            if tag == "size" and not all(is_exactly(item, int) for item in items):
                raise LoadError(f"{self._where}: a size in the tree holds what is no int")
            return _SEQUENCES[tag](items)
        if tag in ("tensor", "array", "scalar"):
            if not is_exactly(content, int) or content < 0:
                raise LoadError(f"{self._where}: the tree names no tensor by {content!r:.80}")
            tensor = self._tensor(content)
            if tag == "tensor":
                return tensor
            array = tensor.detach().numpy()
            return array if tag == "array" else array[()]
        if is_exactly(content, str):
            return self._text(tag, content)
        raise LoadError(f"{self._where}: the tree has the unknown tag {tag!r:.80}")

    def _text(self, tag: str, content: str) -> Any:
        if tag == "bytes":
            return base64.b64decode(content, validate=True)
        if tag == "int":
            return int(content, 16)
        if tag == "float" and content in ("nan", "inf", "-inf"):
            return float(content)
        if tag == "device":
            return device(content)
        if tag == "dtype" and content in BY_NAME:
            return BY_NAME[content]
        raise LoadError(f"{self._where}: the tree has the unknown {tag!r:.80} {content!r:.80}")

    def _mapping(self, kind: type[dict[Any, Any]], content: Any, depth: int) -> Any:
        made = kind()
        if isinstance(content, dict):
            for key, item in cast("dict[str, Any]", content).items():
                made[key] = self.decode(item, depth)
            return made
        for key, item in content:
            key = self.decode(key, depth)
            if not is_key(key):
                raise LoadError(f"{self._where}: a dictionary has a key that is no key")
            made[key] = self.decode(item, depth)
        return made
