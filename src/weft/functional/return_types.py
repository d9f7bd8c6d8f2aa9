"""Named tuples for functions with several results."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def _represent(self: Any) -> str:
    lines = [f"{name}={getattr(self, name)!r}" for name in self._fields]
    return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(lines) + ")"


def _made(name: str, *fields: str) -> Any:
    # A class statement cannot take its name from a variable.
    kind: Any = namedtuple(name, fields)  # noqa: PYI024 # pyright: ignore[reportUntypedNamedTuple]
    kind.__repr__ = _represent
    kind.__doc__ = f"What `{name}` returns: {' and '.join(fields)}."
    kind.__module__ = __name__
    return kind


max = _made("max", "values", "indices")
min = _made("min", "values", "indices")
median = _made("median", "values", "indices")
nanmedian = _made("nanmedian", "values", "indices")
mode = _made("mode", "values", "indices")
sort = _made("sort", "values", "indices")
topk = _made("topk", "values", "indices")
kthvalue = _made("kthvalue", "values", "indices")
cummax = _made("cummax", "values", "indices")
cummin = _made("cummin", "values", "indices")
aminmax = _made("aminmax", "min", "max")
