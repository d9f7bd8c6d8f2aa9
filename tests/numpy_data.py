"""Lists with NumPy's numbers and arrays in them; tests/oracle checks the dtypes against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

_DOUBLES = np.array([1.0, 2.0, 3.0])
_FLOATS = _DOUBLES.astype(np.float32)
_HALVES = _DOUBLES.astype(np.float16)
_BYTES = np.array([1, 2, 3], dtype=np.int8)
_INTS = np.array([1, 2, 3])

# What `tensor` makes of each: the dtype and the sizes.
LISTS: dict[str, tuple[Any, str, tuple[int, ...]]] = {
    "float64": ([np.float64(1)], "float64", (1,)),
    "float32": ([np.float32(1)], "float32", (1,)),
    "float16": ([np.float16(1)], "float16", (1,)),
    "int8": ([np.int8(1)], "int8", (1,)),
    "int16": ([np.int16(1)], "int16", (1,)),
    "int32": ([np.int32(1)], "int32", (1,)),
    "int64": ([np.int64(1)], "int64", (1,)),
    "uint8": ([np.uint8(1)], "uint8", (1,)),
    "bool": ([np.bool_(True)], "bool", (1,)),
    "longlong": ([np.longlong(1)], "int64", (1,)),
    "float32 and a float": ([np.float32(1), 1.5], "float32", (2,)),
    "float16 and a float": ([np.float16(1), 1.5], "float32", (2,)),
    "float16 and an int": ([np.float16(1), 1], "float16", (2,)),
    "int8 and an int": ([np.int8(1), 1], "int64", (2,)),
    "int8 and uint8": ([np.int8(1), np.uint8(1)], "int16", (2,)),
    "float32 and float64": ([np.float32(1), np.float64(1)], "float64", (2,)),
    "int64 and float32": ([np.int64(1), np.float32(1)], "float32", (2,)),
    "bool and float16": ([np.bool_(True), np.float16(1)], "float16", (2,)),
    "float64 and a float": ([1.0, np.float64(1)], "float64", (2,)),
    "inside each other": ([[np.float64(1)], [np.int8(1)]], "float64", (2, 1)),
    "a tuple": ((np.float64(1), np.int8(1)), "float64", (2,)),
    "a number": (np.float64(1), "float64", ()),
    "a small number": (np.int8(1), "int8", ()),
    "a truth": (np.bool_(True), "bool", ()),
    "arrays": ([_DOUBLES, _DOUBLES], "float64", (2, 3)),
    "a tuple of arrays": ((_FLOATS, _FLOATS), "float32", (2, 3)),
    "an array and a list": ([_DOUBLES, [1, 2, 3]], "float64", (2, 3)),
    "a list and an array": ([[1, 2, 3], _FLOATS], "float32", (2, 3)),
    "arrays of two dtypes": ([_FLOATS, _DOUBLES], "float64", (2, 3)),
    "arrays of ints and halves": ([_BYTES, _HALVES], "float16", (2, 3)),
    "arrays in lists": ([[_DOUBLES, _DOUBLES], [_FLOATS, _FLOATS]], "float64", (2, 2, 3)),
    "matrices": ([np.ones((2, 2)), np.zeros((2, 2))], "float64", (2, 2, 2)),
    "empty arrays": ([np.ones(0), np.ones(0)], "float64", (2, 0)),
    "a part of an array": ([_INTS[::2], _INTS[1:]], "int64", (2, 2)),
    "an array turned around": ([_INTS[::-1]], "int64", (1, 3)),
}
