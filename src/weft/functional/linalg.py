"""Linear algebra under PyTorch's names."""

from __future__ import annotations

from weft import _core
from weft.functional.linear_algebra import cross, linalg_norm, matrix_norm, multi_dot
from weft.functional.reductions import vector_norm
from weft.functional.shaping import diagonal

norm = linalg_norm
matmul = _core.ops.matmul

__all__ = ["cross", "diagonal", "matmul", "matrix_norm", "multi_dot", "norm", "vector_norm"]
