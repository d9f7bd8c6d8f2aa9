"""Modules that look as PyTorch's and forward each name to Weft when it is first asked for."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from weft._missing import MissingName, why_missing
from weft.compat.table import MODULES

_NOTHING = object()


class ForwardingModule(ModuleType):
    """A module of PyTorch's name whose attributes are Weft's.

    Args:
        name: the name, such as "torch.nn".
        sources: where to look for attributes, in order: modules, or "module:object".
    """

    def __init__(self, name: str, sources: tuple[str, ...]) -> None:
        super().__init__(name, f"PyTorch's `{name}`, answered by {', '.join(sources)}.")
        self.__path__ = []
        self._sources = sources

    def check(self) -> None:
        """Raise an error if Weft lacks everything that this module forwards to."""
        if not self._found():
            parent, _, name = self.__name__.rpartition(".")
            raise ModuleNotFoundError(lacking(parent, name))

    def _found(self) -> list[Any]:
        return [source for source in map(_source, self._sources) if source is not None]

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return self._public()
        if name.startswith("__") and name != "__version__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        full = f"{self.__name__}.{name}"
        value = self._look_up(name)
        # PyTorch hides some modules behind functions of the same name, such as gradcheck.
        if full in MODULES and not callable(value):
            try:
                return importlib.import_module(full)
            except ModuleNotFoundError as error:
                raise AttributeError(str(error)) from None
        if value is _NOTHING:
            raise MissingName(self, name, f"Weft has no {full}")
        self.__dict__[name] = value
        return value

    def _look_up(self, name: str) -> Any:
        for source in self._found():
            try:
                return getattr(source, name)
            except AttributeError:
                continue
        return _NOTHING

    def _public(self) -> list[str]:
        """Return what `from module import *` takes."""
        listed = (getattr(source, "__all__", dir(source)) for source in self._found())
        return [name for names in listed for name in names if not name.startswith("_")]

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._public()}
        depth = self.__name__.count(".") + 1
        below = (each.split(".") for each in MODULES if each.startswith(f"{self.__name__}."))
        names.update(parts[depth] for parts in below)
        return sorted(names)


def lacking(parent: str, name: str, module: ModuleType | None = None) -> str:
    """Say that Weft lacks a name, why if that is known, and what is near."""
    return f"Weft has no {parent}.{name}{why_missing(parent, name, module)}"


def _source(place: str) -> Any:
    """Return a module, or an object in one; None if Weft has no such module."""
    module, _, attribute = place.partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and module.startswith(error.name):
            return None
        raise
    return getattr(found, attribute) if attribute else found
