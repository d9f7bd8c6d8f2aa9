"""`torch.backends`: flags that may be set and change nothing."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any


def _no(*_: Any) -> bool:
    return False


def _none(*_: Any) -> None:
    return None


def _context(*_: Any, **__: Any) -> nullcontext[None]:
    return nullcontext()


cudnn = SimpleNamespace(
    enabled=False,
    benchmark=False,
    deterministic=False,
    allow_tf32=False,
    is_available=_no,
    version=_none,
    flags=_context,
)
cuda = SimpleNamespace(
    is_built=_no,
    matmul=SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=False),
    flash_sdp_enabled=_no,
    mem_efficient_sdp_enabled=_no,
    math_sdp_enabled=lambda: True,
    cudnn_sdp_enabled=_no,
    enable_flash_sdp=_none,
    enable_mem_efficient_sdp=_none,
    enable_math_sdp=_none,
    enable_cudnn_sdp=_none,
    sdp_kernel=_context,
)
mps = SimpleNamespace(is_available=_no, is_built=_no)
mkl = SimpleNamespace(is_available=_no, verbose=_context)
mkldnn = SimpleNamespace(is_available=_no, enabled=False, flags=_context, verbose=_context)
openmp = SimpleNamespace(is_available=_no)
