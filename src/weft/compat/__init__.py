"""Answer `import torch` with Weft, so that PyTorch's scripts run unchanged (`weft run`)."""

from weft.compat.finder import TorchIsLoadedError, answering_torch

__all__ = ["TorchIsLoadedError", "answering_torch"]
