"""Small NumPy references that several tests share."""

from __future__ import annotations

import numpy as np


def sum_to(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Undo broadcasting: sum over what was repeated."""
    array = np.asarray(array)
    array = np.asarray(array.sum(axis=tuple(range(array.ndim - len(shape)))))
    repeated = tuple(i for i, size in enumerate(shape) if size == 1)
    return np.asarray(array.sum(axis=repeated, keepdims=True)).reshape(shape)
