"""`torch.onnx`: it can be imported, and says what it cannot do when it is used."""

from __future__ import annotations

from typing import Any, NoReturn

from weft._core import UnsupportedError

__all__ = ["dynamo_export", "export", "is_in_onnx_export"]


def export(*_: Any, **__: Any) -> NoReturn:
    """Raise: nothing is exported."""
    raise UnsupportedError("torch.onnx.export: Weft writes no ONNX files; save the state_dict.")


dynamo_export = export


def is_in_onnx_export() -> bool:
    """Return False."""
    return False
