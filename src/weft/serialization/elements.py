"""The ten element types, under the names that files have for them."""

from __future__ import annotations

from weft import _core
from weft._core import dtype

# The names of the safetensors format.
BY_CODE: dict[str, dtype] = {
    "F64": _core.float64,
    "F32": _core.float32,
    "F16": _core.float16,
    "BF16": _core.bfloat16,
    "I64": _core.int64,
    "I32": _core.int32,
    "I16": _core.int16,
    "I8": _core.int8,
    "U8": _core.uint8,
    "BOOL": _core.bool,
}
CODE_OF: dict[dtype, str] = {kind: code for code, kind in BY_CODE.items()}
BY_NAME: dict[str, dtype] = {kind.name: kind for kind in CODE_OF}

# The names of PyTorch's typed storages.
BY_STORAGE: dict[str, dtype] = {
    "DoubleStorage": _core.float64,
    "FloatStorage": _core.float32,
    "HalfStorage": _core.float16,
    "BFloat16Storage": _core.bfloat16,
    "LongStorage": _core.int64,
    "IntStorage": _core.int32,
    "ShortStorage": _core.int16,
    "CharStorage": _core.int8,
    "ByteStorage": _core.uint8,
    "BoolStorage": _core.bool,
}


def numpy_name(kind: dtype) -> str:
    """Return the NumPy type of the same bits; NumPy has no bfloat16."""
    return "uint16" if kind is _core.bfloat16 else kind.name
