"""Mixed precision: on a CPU Weft computes in the tensors' own dtypes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ContextDecorator
from types import SimpleNamespace
from typing import Any, Self

from weft._core import Tensor, bfloat16, dtype
from weft.compat.probes.notices import say_once

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


class autocast(ContextDecorator):  # noqa: N801 - PyTorch's name
    """Do nothing but say once that nothing is cast.

    Args:
        device_type: "cpu", or "cuda", which there is none of.
        dtype: accepted for PyTorch programs.
        enabled: whether PyTorch would cast.
        cache_enabled: accepted for PyTorch programs.
    """

    def __init__(
        self,
        device_type: str = "cuda",
        dtype: dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        del cache_enabled
        self.device = device_type
        self.fast_dtype = dtype or bfloat16
        self._enabled = enabled

    def __enter__(self) -> Self:
        if self._enabled:
            say_once("autocast does nothing: ops run in the dtypes of their tensors.")
        return self

    def __exit__(self, *_: object) -> None:
        pass


class GradScaler:
    """A scaler that is disabled, as PyTorch's is without a GPU.

    Args:
        device: accepted for PyTorch programs.
        options: accepted for PyTorch programs.
    """

    def __init__(self, device: Any = "cuda", **options: Any) -> None:
        del device, options

    def scale(self, outputs: Any) -> Any:
        """Return the loss as it is."""
        return outputs

    def unscale_(self, optimizer: Any) -> None:
        """Leave the gradients as they are."""

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Step the optimizer."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Do nothing: there is no scale."""

    def get_scale(self) -> float:
        """Return 1."""
        return 1.0

    def is_enabled(self) -> bool:
        """Return False."""
        return False

    def state_dict(self) -> dict[str, Any]:
        """Return an empty dictionary."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Do nothing: there is no state."""


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str = "cuda", cast_inputs: Any = None
) -> Any:
    """Return a Function's forward as it is."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    return fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str = "cuda") -> Any:
    """Return a Function's backward as it is."""
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd


def is_autocast_available(device_type: str) -> bool:
    """Return False: nothing is cast."""
    del device_type
    return False


class _CudaAutocast(autocast):
    def __init__(
        self, enabled: bool = True, dtype: dtype | None = None, cache_enabled: bool = True
    ) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


cuda = SimpleNamespace(
    GradScaler=GradScaler, autocast=_CudaAutocast, custom_bwd=custom_bwd, custom_fwd=custom_fwd
)
