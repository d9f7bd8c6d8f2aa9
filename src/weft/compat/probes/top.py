"""Names of `torch` itself that ask about the machine or the build, or are old."""

from __future__ import annotations

from typing import Any

from weft._core import Tensor, get_num_threads, set_default_dtype
from weft._tensor import device
from weft.compat.probes import amp, backends, cuda, distributed, jit, testing, version
from weft.compat.probes.amp import GradScaler, autocast
from weft.compat.probes.devices import accelerator, cpu, mps, xpu
from weft.compat.probes.types import (
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from weft.compat.probes.version import __version__

__all__ = [
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "GradScaler",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "__version__",
    "accelerator",
    "amp",
    "are_deterministic_algorithms_enabled",
    "autocast",
    "backends",
    "channels_last",
    "contiguous_format",
    "cpu",
    "cuda",
    "distributed",
    "get_default_device",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_autocast_enabled",
    "is_storage",
    "jit",
    "mps",
    "preserve_format",
    "set_default_device",
    "set_default_tensor_type",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "strided",
    "testing",
    "typename",
    "use_deterministic_algorithms",
    "version",
    "xpu",
]

channels_last = "torch.channels_last"
contiguous_format = "torch.contiguous_format"
preserve_format = "torch.preserve_format"
strided = "torch.strided"

_settings = {"precision": "highest", "deterministic": True}


def set_float32_matmul_precision(precision: str) -> None:
    """Note the wish: products of float32 are always computed in float32."""
    if precision not in {"highest", "high", "medium"}:
        raise ValueError(
            f"set_float32_matmul_precision(): precision must be 'highest', 'high' or 'medium'; "
            f"it is {precision!r}."
        )
    _settings["precision"] = precision


def get_float32_matmul_precision() -> str:
    """Return what was set last."""
    return str(_settings["precision"])


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Note the wish: results never depend on the number of threads or on timing."""
    del warn_only
    _settings["deterministic"] = mode


def are_deterministic_algorithms_enabled() -> bool:
    """Return what was set last."""
    return bool(_settings["deterministic"])


def get_num_interop_threads() -> int:
    """Return the number of threads."""
    return get_num_threads()


def set_num_interop_threads(num: int) -> None:
    """Do nothing: ops do not run beside each other."""


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Return False: nothing is cast."""
    del device_type
    return False


def get_default_device() -> device:
    """Return the CPU."""
    return device("cpu")


def set_default_device(device_: Any) -> None:
    """Check that the device is the CPU."""
    if device_ is not None:
        device(device_)


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by an old type such as `torch.DoubleTensor`."""
    old = {"torch.FloatTensor": FloatTensor, "torch.DoubleTensor": DoubleTensor}
    set_default_dtype((old[t] if isinstance(t, str) else t).dtype)


def is_storage(obj: Any) -> bool:
    """Return False: storages are not objects."""
    del obj
    return False


def typename(obj: Any) -> str:
    """Return the name of a tensor's type, or of another object's."""
    return obj.type() if isinstance(obj, Tensor) else type(obj).__name__
