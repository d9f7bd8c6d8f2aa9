"""Say in errors in which module they happened: "in model.2 (Linear)"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import currentframe
from types import FrameType
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary, ref

if TYPE_CHECKING:
    from weft.nn.module import Module

_OWN_FOLDER = __file__.removesuffix("/nn/locating.py")


class _Place:
    """How far an error has come on its way out.

    Args:
        error: The error, whose text is as the op worded it.
        module: The innermost module.
    """

    def __init__(self, error: BaseException, module: Module) -> None:
        self.text = str(error)
        self.kind = type(module).__name__
        self.outermost = ref(module)
        self.path = ""  # of the innermost module, in the outermost
        self.shown = error.args

    def leave(self, module: Module) -> bool:
        """Go on to a module that calls the outermost so far; false if it is not known how."""
        inner = self.outermost()
        if inner is not module:
            path = None if inner is None else _path_in(module, inner)
            if path is None:
                return False
            self.outermost = ref(module)
            self.path = _joined(path, self.path)
        return True

    def words(self, frame: FrameType | None) -> str:
        """Return the error's text with the place, whose outermost module the frame has called."""
        module = self.outermost()
        name = _name_of(module, frame)
        if name or self.path:
            where = f"{_joined(name or type(module).__name__, self.path)} ({self.kind})"
        else:
            where = self.kind
        return f"{self.text}\n  in {where}"


_places: WeakKeyDictionary[BaseException, _Place] = WeakKeyDictionary()


def name_module(error: BaseException, module: Module) -> None:
    """Let an error say in which module it happened; called for each module that it leaves.

    Args:
        error: One of Weft's.
        module: The module, whose call has not returned yet.
    """
    place = _places.get(error)
    if place is None:
        place = _places[error] = _Place(error, module)
    if error.args != place.shown or not place.leave(module):
        return
    here = currentframe()
    error.args = place.shown = (place.words(here and here.f_back), *error.args[1:])


def _path_in(module: Module, wanted: Module) -> str | None:
    """Return under which name a module finds another one; None if it does not."""
    for name, each in module.named_modules():
        if each is wanted:
            return name
    for name, value in vars(module).items():  # modules in plain containers are not registered
        for index, each in _items(value):
            if each is wanted:
                return f"{name}[{index!r}]"
    return None


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, list | tuple):
        yield from enumerate(cast("Sequence[Any]", value))
    elif isinstance(value, dict):
        yield from cast("Mapping[Any, Any]", value).items()


def _name_of(module: Module | None, frame: FrameType | None) -> str:
    """Return the name of the variable, or of the attribute of `self`, that holds a module."""
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FOLDER):
        frame = frame.f_back
    if frame is None:
        return ""
    variables = frame.f_locals
    own = getattr(variables.get("self"), "__dict__", {})
    for names in (variables, own, frame.f_globals):
        for name, value in names.items():
            if value is module and name != "self" and not name.startswith("_"):
                return name
    return ""


def _joined(first: str, second: str) -> str:
    return f"{first}.{second}" if first and second else first or second
