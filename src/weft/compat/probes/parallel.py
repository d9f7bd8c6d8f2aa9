"""`torch.nn.parallel`: several devices, of which there is one."""

from __future__ import annotations

from typing import Any, NoReturn

from weft._core import UnsupportedError
from weft.nn import Module

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


class DataParallel(Module):
    """Call a module as it is, as PyTorch's does without a GPU.

    Args:
        module: the module.
        device_ids: accepted for PyTorch programs.
        output_device: accepted for PyTorch programs.
        dim: accepted for PyTorch programs.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        del output_device, dim
        self.module = module
        self.device_ids = list(device_ids or ())

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module, inputs: Any, device_ids: Any = None, *_: Any, **kwargs: Any
) -> Any:
    """Call a module with an input, or with a tuple of them."""
    del device_ids, kwargs
    return module(*inputs) if isinstance(inputs, tuple) else module(inputs)


def DistributedDataParallel(*_: Any, **__: Any) -> NoReturn:
    """Raise: there are no process groups."""
    raise UnsupportedError(
        "torch.nn.parallel.DistributedDataParallel: Weft runs in one process; call the module."
    )
