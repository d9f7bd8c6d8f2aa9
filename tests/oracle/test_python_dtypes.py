"""int, float and bool where a dtype is wanted, against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import weft

pytestmark = pytest.mark.filterwarnings("ignore")

CALLS: dict[str, Callable[[Any, Any, type], Any]] = {
    "tensor": lambda t, x, kind: t.tensor([1, 0], dtype=kind),
    "tensor of a number": lambda t, x, kind: t.tensor(1, dtype=kind),
    "tensor of an array": lambda t, x, kind: t.tensor(np.ones(2), dtype=kind),
    "as_tensor": lambda t, x, kind: t.as_tensor(x, dtype=kind),
    "asarray": lambda t, x, kind: t.asarray([1, 2], dtype=kind),
    "zeros": lambda t, x, kind: t.zeros(2, dtype=kind),
    "empty": lambda t, x, kind: t.empty(2, dtype=kind) * 0,
    "full": lambda t, x, kind: t.full((2,), 3, dtype=kind),
    "eye": lambda t, x, kind: t.eye(2, dtype=kind),
    "scalar_tensor": lambda t, x, kind: t.scalar_tensor(1, dtype=kind),
    "arange": lambda t, x, kind: t.arange(2, dtype=kind),
    "linspace": lambda t, x, kind: t.linspace(0, 1, 2, dtype=kind),
    "logspace": lambda t, x, kind: t.logspace(0, 1, 2, dtype=kind),
    "rand": lambda t, x, kind: t.rand(2, dtype=kind) * 0,
    "randn_like": lambda t, x, kind: t.randn_like(x, dtype=kind) * 0,
    "randint": lambda t, x, kind: t.randint(2, (2,), dtype=kind) * 0,
    "randperm": lambda t, x, kind: t.randperm(2, dtype=kind) * 0,
    "tril_indices": lambda t, x, kind: t.tril_indices(2, 2, dtype=kind),
    "zeros_like": lambda t, x, kind: t.zeros_like(x, dtype=kind),
    "full_like": lambda t, x, kind: t.full_like(x, 1, dtype=kind),
    "new_zeros": lambda t, x, kind: x.new_zeros(2, dtype=kind),
    "new_full": lambda t, x, kind: x.new_full((2,), 1, dtype=kind),
    "new_tensor": lambda t, x, kind: x.new_tensor([1], dtype=kind),
    "to": lambda t, x, kind: x.to(kind),
    "to, named": lambda t, x, kind: x.to(dtype=kind),
    "to, device": lambda t, x, kind: x.to("cpu", kind),
    "to, copy": lambda t, x, kind: x.to(kind, copy=True),
    "view": lambda t, x, kind: t.zeros(2, dtype=t.float64).view(kind),
    "sum": lambda t, x, kind: x.sum(dtype=kind),
    "sum of a dimension": lambda t, x, kind: x.sum(0, dtype=kind),
    "mean": lambda t, x, kind: x.mean(dtype=kind),
    "nansum": lambda t, x, kind: x.nansum(dtype=kind),
    "prod": lambda t, x, kind: x.prod(dtype=kind),
    "cumsum": lambda t, x, kind: x.cumsum(0, dtype=kind),
    "cumprod": lambda t, x, kind: t.cumprod(x, 0, dtype=kind),
    "norm": lambda t, x, kind: t.linalg.vector_norm(x, dtype=kind),
    "matrix_norm": lambda t, x, kind: t.linalg.matrix_norm(x.reshape(1, 2), dtype=kind),
    "softmax": lambda t, x, kind: t.softmax(x, 0, dtype=kind),
    "log_softmax": lambda t, x, kind: t.nn.functional.log_softmax(x, 0, dtype=kind),
    "promote_types": lambda t, x, kind: t.zeros(2, dtype=t.promote_types(kind, t.float32)),
    "can_cast": lambda t, x, kind: t.tensor([t.can_cast(kind, t.int64), t.can_cast(t.int64, kind)]),
    "finfo": lambda t, x, kind: t.tensor(t.finfo(kind).eps),
    "iinfo": lambda t, x, kind: t.tensor(t.iinfo(kind).max),
    "Linear": lambda t, x, kind: t.nn.Linear(2, 2, dtype=kind).weight.detach() * 0,
    "Module.to": lambda t, x, kind: t.nn.Linear(2, 2).to(kind).weight.detach() * 0,
    "Module.to, named": lambda t, x, kind: t.nn.Linear(2, 2).to(dtype=kind).bias.detach() * 0,
}


NAMES = {int: "int64", float: "float64", bool: "bool"}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("name", CALLS)
def test_python_types_stand_for_dtypes(name: str, kind: type) -> None:
    """What PyTorch takes and refuses like the dtype, Weft does."""

    def outcome(library: Any, kind: Any) -> Any:
        try:
            made = CALLS[name](library, library.tensor([1.0, 2.0]), kind)
        except Exception as error:  # noqa: BLE001 - their classes differ
            return type(error)
        return str(made.dtype), made.tolist()

    assert outcome(torch, kind) == outcome(torch, getattr(torch, NAMES[kind]))
    assert outcome(weft, kind) == outcome(weft, getattr(weft, NAMES[kind]))


REFUSED: dict[str, Callable[[Any], Any]] = {
    "default": lambda t: t.set_default_dtype(float),
    "str": lambda t: t.zeros(2, dtype=str),
    "to str": lambda t: t.zeros(2).to(str),
    "list": lambda t: t.tensor([1], dtype=list),
    "sum": lambda t: t.zeros(2).sum(dtype=type),
    "iinfo": lambda t: t.iinfo(float),
    "finfo": lambda t: t.finfo(int),
    "Module.to": lambda t: t.nn.Linear(1, 1).to(int),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_types_are_refused(name: str) -> None:
    for library in (torch, weft):
        with pytest.raises(TypeError):
            REFUSED[name](library)
