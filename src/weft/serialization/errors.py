"""What can go wrong between objects and files."""

from __future__ import annotations


class LoadError(ValueError, RuntimeError):
    """A file that is damaged, cut short, or says things that cannot be true."""


class RefusedError(LoadError):
    """A file that asks for something that is no data, such as a call of a function."""


class SaveError(TypeError):
    """An object that has no place in a file; the message says where it lies."""
