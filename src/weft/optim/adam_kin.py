"""Adamax, NAdam and RAdam: Adam with another norm, with Nesterov's momentum, and with a warm-up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.optim.optimizer import Group, check_settings
from weft.optim.plain import PlainOptimizer, zeros_of

ops = _core.ops


def check_betas(owner: str, betas: tuple[float, float]) -> None:
    """Raise an error unless both betas are in [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"{owner}(): betas[{i}] must be in [0, 1); it is {beta}.")


class Adamax(PlainOptimizer):
    """Step by the average gradient over its largest recent size.

    Args:
        params: parameters or groups of them.
        lr: the learning rate.
        betas: how much of the average and of the largest size is kept at each step.
        eps: added to the gradient's size.
        weight_decay: factor of the parameters that is added to their gradients.
        foreach: accepted for PyTorch programs.
        maximize: whether to step along the gradient instead.
        differentiable: accepted for PyTorch programs.
        capturable: accepted for PyTorch programs.

    Example:
        >>> import weft
        >>> weight = weft.nn.Parameter(weft.ones(2))
        >>> weight.grad = weft.ones(2)
        >>> weft.optim.Adamax([weight], lr=0.5).step()
        >>> weight.data
        tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_settings("Adamax", lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas("Adamax", betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _first_state(self, group: Group, param: Tensor) -> dict[str, Any]:
        del group
        return {"exp_avg": zeros_of(param), "exp_inf": zeros_of(param)}

    def _change(self, group: Group, param: Tensor, slope: Tensor, state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        average = state["exp_avg"].lerp_(slope, 1 - beta1)
        largest = ops.maximum(state["exp_inf"] * beta2, ops.abs(slope) + group["eps"])
        state["exp_inf"].copy_(largest)
        rate = float(group["lr"]) / (1 - beta1 ** state["step"])
        param.sub_(average / largest * rate)


class NAdam(PlainOptimizer):
    """Step as Adam does, with Nesterov's momentum.

    Args:
        params: parameters or groups of them.
        lr: the learning rate.
        betas: how much of the averages of the gradient and of its square is kept at each step.
        eps: added to the root.
        weight_decay: factor of the parameters that is added to their gradients.
        momentum_decay: how fast the momentum grows to its full size.
        decoupled_weight_decay: whether weight decay shrinks the parameters instead.
        foreach: accepted for PyTorch programs.
        maximize: whether to step along the gradient instead.
        capturable: accepted for PyTorch programs.
        differentiable: accepted for PyTorch programs.

    Example:
        >>> import weft
        >>> weight = weft.nn.Parameter(weft.ones(2))
        >>> weight.grad = weft.ones(2)
        >>> weft.optim.NAdam([weight], lr=0.5).step()
        >>> bool((weight < 1).all())
        True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(
            "NAdam", lr=lr, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay
        )
        check_betas("NAdam", betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _first_state(self, group: Group, param: Tensor) -> dict[str, Any]:
        del group
        return {"mu_product": 1.0, "exp_avg": zeros_of(param), "exp_avg_sq": zeros_of(param)}

    def _change(self, group: Group, param: Tensor, slope: Tensor, state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        step, rate = state["step"], float(group["lr"])
        now, soon = (
            beta1 * (1 - 0.5 * 0.96 ** (count * group["momentum_decay"]))
            for count in (step, step + 1)
        )
        state["mu_product"] = product = float(state["mu_product"]) * now
        average = state["exp_avg"].lerp_(slope, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).add_(slope * slope * (1 - beta2))
        size = ops.sqrt(square / (1 - beta2**step)) + group["eps"]
        param.sub_(slope / size * (rate * (1 - now) / (1 - product)))
        param.sub_(average / size * (rate * soon / (1 - product * soon)))


class RAdam(PlainOptimizer):
    """Step as Adam does once enough gradients were seen to trust their variance.

    Args:
        params: parameters or groups of them.
        lr: the learning rate.
        betas: how much of the averages of the gradient and of its square is kept at each step.
        eps: added to the root.
        weight_decay: factor of the parameters that is added to their gradients.
        decoupled_weight_decay: whether weight decay shrinks the parameters instead.
        foreach: accepted for PyTorch programs.
        maximize: whether to step along the gradient instead.
        capturable: accepted for PyTorch programs.
        differentiable: accepted for PyTorch programs.

    Example:
        >>> import weft
        >>> weight = weft.nn.Parameter(weft.ones(2))
        >>> weight.grad = weft.ones(2)
        >>> weft.optim.RAdam([weight], lr=0.5).step()
        >>> weight.data
        tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings("RAdam", lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas("RAdam", betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _first_state(self, group: Group, param: Tensor) -> dict[str, Any]:
        del group
        return {"exp_avg": zeros_of(param), "exp_avg_sq": zeros_of(param)}

    def _change(self, group: Group, param: Tensor, slope: Tensor, state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        step = state["step"]
        average = state["exp_avg"].lerp_(slope, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).add_(slope * slope * (1 - beta2))
        change = average * (float(group["lr"]) / (1 - beta1**step))
        kept = beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * kept / (1 - kept)
        if length > 5.0:  # fewer gradients say too little of their variance
            factor = (length - 4) * (length - 2) * longest
            factor /= (longest - 4) * (longest - 2) * length
            change = change * (math.sqrt(1 - kept) / (ops.sqrt(square) + group["eps"]))
            change = change * math.sqrt(factor)
        param.sub_(change)
