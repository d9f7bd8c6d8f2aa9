"""`torch.cuda` on a machine without a GPU."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

from weft._core import UnsupportedError
from weft.compat.probes import amp as _amp

amp = _amp.cuda


def is_available() -> bool:
    """Return False: only the CPU is supported so far."""
    return False


def is_initialized() -> bool:
    """Return False."""
    return False


def is_bf16_supported() -> bool:
    """Return False."""
    return False


def device_count() -> int:
    """Return 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Do nothing: there is no GPU whose stream could be seeded."""


def manual_seed_all(seed: int) -> None:
    """Do nothing: there is no GPU whose stream could be seeded."""


def empty_cache() -> None:
    """Do nothing: there is no GPU memory."""


def ipc_collect() -> None:
    """Do nothing: there is no GPU memory."""


def synchronize(device: Any = None) -> None:
    """Do nothing: a CPU's ops are done when they return."""


def memory_allocated(device: Any = None) -> int:
    """Return 0: there is no GPU memory."""
    del device
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """Do nothing: there is no GPU memory."""


def device(device: Any) -> AbstractContextManager[None]:
    """Return a context that does nothing."""
    del device
    return nullcontext()


def _refuse(*_: Any, **__: Any) -> NoReturn:
    """Raise: there is no GPU."""
    raise UnsupportedError("torch.cuda: there is no GPU; Weft supports only the CPU so far.")


set_device = current_device = get_device_name = get_device_properties = _refuse
get_device_capability = get_rng_state = set_rng_state = get_rng_state_all = _refuse
Stream = Event = current_stream = stream = mem_get_info = init = _refuse
