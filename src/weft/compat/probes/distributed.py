"""`torch.distributed`: Weft runs in one process, and no group of processes can be made."""

from __future__ import annotations

from typing import Any, NoReturn

from weft._core import UnsupportedError


def is_available() -> bool:
    """Return False."""
    return False


is_initialized = is_nccl_available = is_gloo_available = is_mpi_available = is_available
is_torchelastic_launched = is_available


def _refuse(*_: Any, **__: Any) -> NoReturn:
    """Raise: there are no process groups."""
    raise UnsupportedError("torch.distributed: Weft runs in one process; there are no groups.")


init_process_group = destroy_process_group = new_group = barrier = get_backend = _refuse
get_rank = get_world_size = broadcast = all_reduce = all_gather = reduce = gather = _refuse
scatter = reduce_scatter = send = recv = all_to_all = broadcast_object_list = _refuse
all_gather_object = all_gather_into_tensor = monitored_barrier = _refuse
