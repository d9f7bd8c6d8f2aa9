"""Adadelta, Rprop and ASGD: optimizers whose steps find their own size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.optim.optimizer import Group, check_settings
from weft.optim.plain import PlainOptimizer, zeros_of

ops = _core.ops


class Adadelta(PlainOptimizer):
    """Step by the gradient, scaled by how large recent steps were to recent gradients.

    Args:
        params: parameters or groups of them.
        lr: the factor of each step.
        rho: how much of the averages is kept at each step.
        eps: added under the roots.
        weight_decay: factor of the parameters that is added to their gradients.
        foreach: accepted for PyTorch programs.
        capturable: accepted for PyTorch programs.
        maximize: whether to step along the gradient instead.
        differentiable: accepted for PyTorch programs.

    Example:
        >>> import weft
        >>> weight = weft.nn.Parameter(weft.ones(2))
        >>> weight.grad = weft.ones(2)
        >>> weft.optim.Adadelta([weight]).step()
        >>> bool((weight < 1).all())
        True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings("Adadelta", lr=lr, eps=eps, weight_decay=weight_decay)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Adadelta(): rho must be between 0 and 1; rho is {rho}.")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _first_state(self, group: Group, param: Tensor) -> dict[str, Any]:
        del group
        return {"square_avg": zeros_of(param), "acc_delta": zeros_of(param)}

    def _change(self, group: Group, param: Tensor, slope: Tensor, state: dict[str, Any]) -> None:
        rho, eps = group["rho"], group["eps"]
        square = state["square_avg"].mul_(rho).add_(slope * slope * (1 - rho))
        steps = state["acc_delta"]
        change = ops.sqrt(steps + eps) / ops.sqrt(square + eps) * slope
        steps.mul_(rho).add_(change * change * (1 - rho))
        param.sub_(change * float(group["lr"]))


class Rprop(PlainOptimizer):
    """Step by the gradient's sign; steps grow while it stays and shrink when it turns.

    Args:
        params: parameters or groups of them.
        lr: the size of the first step.
        etas: by how much steps shrink and grow.
        step_sizes: the smallest and the largest step.
        capturable: accepted for PyTorch programs.
        foreach: accepted for PyTorch programs.
        maximize: whether to step along the gradient instead.
        differentiable: accepted for PyTorch programs.

    Example:
        >>> import weft
        >>> weight = weft.nn.Parameter(weft.ones(2))
        >>> weight.grad = weft.ones(2)
        >>> weft.optim.Rprop([weight], lr=0.5).step()
        >>> weight.data
        tensor([0.5000, 0.5000])
    """

    _first_values = {"step_size": "lr"}  # noqa: RUF012 (ClassVar in the base class)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings("Rprop", lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Rprop(): etas must lie on both sides of 1; etas is {etas}.")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _first_state(self, group: Group, param: Tensor) -> dict[str, Any]:
        size = zeros_of(param)
        size.fill_(float(group["lr"]))
        return {"prev": zeros_of(param), "step_size": size}

    def _change(self, group: Group, param: Tensor, slope: Tensor, state: dict[str, Any]) -> None:
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]
        agreement = slope * state["prev"]
        turned = agreement < 0
        size = state["step_size"]
        factor = ops.masked_fill(zeros_of(size) + 1.0, agreement > 0, grow)
        factor = ops.masked_fill(factor, turned, shrink)
        size.copy_(ops.clamp(size * factor, smallest, largest))
        slope = ops.masked_fill(slope, turned, 0.0)
        param.sub_(ops.sign(slope) * size)
        state["prev"].copy_(slope)


class ASGD(PlainOptimizer):
    """Step by the gradient, and keep an average of the parameters in the state as "ax".

    Args:
        params: parameters or groups of them.
        lr: the learning rate of the first step.
        lambd: how fast parameters and learning rate decay.
        alpha: the power by which the learning rate decays.
        t0: the step at which averaging begins.
        weight_decay: factor of the parameters that is added to their gradients.
        foreach: accepted for PyTorch programs.
        maximize: whether to step along the gradient instead.
        differentiable: accepted for PyTorch programs.
        capturable: accepted for PyTorch programs.

    Example:
        >>> import weft
        >>> weight = weft.nn.Parameter(weft.ones(2))
        >>> weight.grad = weft.ones(2)
        >>> weft.optim.ASGD([weight], lr=0.5, lambd=0.0).step()
        >>> weight.data
        tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_settings("ASGD", lr=lr, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _first_state(self, group: Group, param: Tensor) -> dict[str, Any]:
        return {"eta": float(group["lr"]), "mu": 1.0, "ax": zeros_of(param)}

    def _change(self, group: Group, param: Tensor, slope: Tensor, state: dict[str, Any]) -> None:
        rate, lambd, step = float(group["lr"]), group["lambd"], state["step"]
        param.mul_(1 - lambd * float(state["eta"]))
        param.sub_(slope * float(state["eta"]))
        average = state["ax"]
        average.add_((param - average) * float(state["mu"]))
        state["eta"] = rate / (1 + lambd * rate * step) ** group["alpha"]
        state["mu"] = 1 / max(1, step - group["t0"])
