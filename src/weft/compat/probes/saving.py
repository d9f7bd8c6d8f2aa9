"""`torch.save` and `torch.load`: as Weft's, and whole objects as pickles, as PyTorch's scripts do.

A pickle can run any code when it is read, so it is read only where the script says
`weights_only=False`. All else goes through `weft.save` and `weft.load`, which never call anything.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from weft.serialization import LoadError, SaveError
from weft.serialization import load as load_data
from weft.serialization import save as save_data

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]

_START = b"PICKLE OF A WEFT OBJECT\n"


def save(obj: Any, f: Any, pickle_module: Any = pickle, *args: Any, **kwargs: Any) -> None:
    """Save data as `weft.save` does, and what is no data, such as a whole module, as a pickle.

    Args:
        obj: what to save.
        f: a path or an open file.
        pickle_module: what pickles objects.
        args: accepted for PyTorch programs.
        kwargs: accepted for PyTorch programs.
    """
    del args, kwargs
    try:
        save_data(obj, f)
    except SaveError:
        text = _START + pickle_module.dumps(obj)
        if _is_path(f):
            Path(os.fsdecode(f)).write_bytes(text)
        else:
            f.write(text)


def load(f: Any, map_location: Any = None, pickle_module: Any = None, **options: Any) -> Any:
    """Load what `save` saved.

    Args:
        f: a path or an open file.
        map_location: only the CPU.
        pickle_module: what reads pickles.
        options: `weights_only` must be False to read a pickle; others go to `weft.load`.

    Raises:
        LoadError: if the file is a pickle and `weights_only` is not False.
    """
    file = Path(os.fsdecode(f)).open("rb") if _is_path(f) else f  # noqa: SIM115 - closed below
    try:
        place = file.tell()
        if file.read(len(_START)) == _START:
            if options.get("weights_only") is not False:
                raise LoadError(
                    "load(): the file is a pickle of a whole object, which can run any code; "
                    "weights_only=False reads it if you trust it."
                )
            return (pickle_module or pickle).load(file)
        file.seek(place)
    finally:
        if _is_path(f):
            file.close()
    return load_data(f, map_location, **options)


def _is_path(f: Any) -> bool:
    return isinstance(f, str | bytes | os.PathLike)


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Do nothing: of files that are read with weights_only nothing is ever called."""


def clear_safe_globals() -> None:
    """Do nothing."""


def get_safe_globals() -> list[Any]:
    """Return an empty list."""
    return []


def safe_globals(safe_globals: Iterable[Any]) -> AbstractContextManager[None]:
    """Return a context that does nothing."""
    del safe_globals
    return nullcontext()
