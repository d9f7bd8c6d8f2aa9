"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.optim.optimizer import Group, Optimizer, check_settings


class SGD(Optimizer):
    """Step against the gradient, with momentum if asked.

    Args:
        params: parameters or groups of them.
        lr: the learning rate.
        momentum: share of the last step that is kept.
        dampening: share of the gradient that momentum leaves out.
        weight_decay: factor of the parameters that is added to their gradients.
        nesterov: whether momentum looks one step ahead.
        maximize: whether to step along the gradient instead.
        foreach: accepted for PyTorch programs; the step is always one native call.
        differentiable: only False.
        fused: accepted for PyTorch programs.

    Example:
        >>> import weft
        >>> x = weft.tensor([1.0], requires_grad=True)
        >>> optimizer = weft.optim.SGD([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_settings("SGD", lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("SGD(): nesterov needs a momentum and no dampening.")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group) -> None:
        params = [param for param in group["params"] if param.grad is not None]
        if not group["momentum"]:
            _step(group, params, None, first=False)
            return
        state = self.state
        old = [param for param in params if state[param].get("momentum_buffer") is not None]
        if len(old) < len(params):
            known = {id(param) for param in old}
            new = [param for param in params if id(param) not in known]
            buffers = [_core.ops.zeros_like(param.detach()) for param in new]
            _step(group, new, buffers, first=True)
            for param, buffer in zip(new, buffers, strict=True):
                state[param]["momentum_buffer"] = buffer
        _step(group, old, [state[param]["momentum_buffer"] for param in old], first=False)


def _step(group: Group, params: list[Any], buffers: list[Tensor] | None, first: bool) -> None:
    if not params:
        return
    _core.sgd_step(
        params,
        [param.grad for param in params],
        buffers,
        first,
        float(group["lr"]),
        group["momentum"],
        group["dampening"],
        group["weight_decay"],
        group["nesterov"],
        group["maximize"],
    )
