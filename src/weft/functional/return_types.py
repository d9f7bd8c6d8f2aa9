"""Named tuples for functions with several results."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from weft import _core


def _represent(self: Any) -> str:
    lines = [f"{name}={getattr(self, name)!r}" for name in self._fields]
    name = f"{_core.shown_package()}.return_types.{type(self).__name__}"
    return f"{name}(\n" + ",\n".join(lines) + ")"


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
linalg_cholesky_ex = _made("linalg_cholesky_ex", "L", "info")
linalg_eigh = _made("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex = _made("linalg_inv_ex", "inverse", "info")
linalg_lstsq = _made("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu = _made("linalg_lu", "P", "L", "U")
linalg_lu_factor = _made("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _made("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_qr = _made("linalg_qr", "Q", "R")
linalg_slogdet = _made("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = _made("linalg_solve_ex", "result", "info")
linalg_svd = _made("linalg_svd", "U", "S", "Vh")
lu_unpack = _made("lu_unpack", "P", "L", "U")
qr = _made("qr", "Q", "R")
slogdet = _made("slogdet", "sign", "logabsdet")
svd = _made("svd", "U", "S", "V")
triangular_solve = _made("triangular_solve", "solution", "cloned_coefficient")
histogram = _made("histogram", "hist", "bin_edges")
histogramdd = _made("histogramdd", "hist", "bin_edges")
