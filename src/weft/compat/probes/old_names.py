"""Names of functions before they got an underscore, such as `nn.init.xavier_uniform`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from weft.nn import init
from weft.nn.utils import clip_grad_norm_

__all__ = [
    "clip_grad_norm",
    "constant",
    "dirac",
    "eye",
    "kaiming_normal",
    "kaiming_uniform",
    "normal",
    "orthogonal",
    "sparse",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
]


def _old(place: str, function: Callable[..., Any]) -> Callable[..., Any]:
    new = function.__name__
    old = new.removesuffix("_")

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`{place}.{old}` is now deprecated in favor of `{place}.{new}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = old
    return call


clip_grad_norm = _old("torch.nn.utils", clip_grad_norm_)
constant = _old("nn.init", init.constant_)
dirac = _old("nn.init", init.dirac_)
eye = _old("nn.init", init.eye_)
kaiming_normal = _old("nn.init", init.kaiming_normal_)
kaiming_uniform = _old("nn.init", init.kaiming_uniform_)
normal = _old("nn.init", init.normal_)
orthogonal = _old("nn.init", init.orthogonal_)
sparse = _old("nn.init", init.sparse_)
uniform = _old("nn.init", init.uniform_)
xavier_normal = _old("nn.init", init.xavier_normal_)
xavier_uniform = _old("nn.init", init.xavier_uniform_)
