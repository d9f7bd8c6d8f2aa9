"""RMSprop and Adagrad, written with in-place tensor ops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft import _core
from weft._core import Tensor
from weft.autograd import no_grad
from weft.optim.optimizer import Group, Optimizer, check_settings
from weft.optim.plain import zeros_of


def _slope(group: Group, param: Tensor, gradient: Tensor) -> Tensor:
    """Return the gradient with sign and weight decay applied."""
    if group["maximize"]:
        gradient = -gradient
    if group["weight_decay"]:
        gradient = gradient + param * group["weight_decay"]
    return gradient


class RMSprop(Optimizer):
    """Step by the gradient over the root of its average square.

    Args:
        params: parameters or groups of them.
        lr: the learning rate.
        alpha: how much of the average is kept at each step.
        eps: added to the root.
        weight_decay: factor of the parameters that is added to their gradients.
        momentum: share of the last step that is kept.
        centered: whether to subtract the square of the average gradient.
        capturable: accepted for PyTorch programs.
        foreach: accepted for PyTorch programs.
        maximize: whether to step along the gradient instead.
        differentiable: only False.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> weight = weft.ones(1, requires_grad=True)
        >>> optimizer = optim.RMSprop([weight], lr=0.1, alpha=0.9)
        >>> (weight * 3).sum().backward()
        >>> optimizer.step()
        >>> weight.detach()
        tensor([0.6838])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_settings(
            "RMSprop", lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum
        )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group) -> None:
        with no_grad():
            for param in group["params"]:
                if param.grad is not None:
                    self._update_one(group, param, param.grad)

    def _update_one(self, group: Group, param: Tensor, gradient: Tensor) -> None:
        state, alpha, rate = self.state[param], group["alpha"], float(group["lr"])
        if not state:
            names = ["square_avg"]
            names += ["momentum_buffer"] * bool(group["momentum"])
            names += ["grad_avg"] * bool(group["centered"])
            # All of it or nothing, if there is no memory.
            state.update(step=0, **{name: zeros_of(param) for name in names})
        state["step"] += 1
        slope = _slope(group, param, gradient)
        square = state["square_avg"].mul_(alpha).add_(slope * slope * (1 - alpha))
        if group["centered"]:
            average = state["grad_avg"].mul_(alpha).add_(slope * (1 - alpha))
            square = square - average * average
        change = slope / (square.sqrt() + group["eps"])
        if group["momentum"]:
            change = state["momentum_buffer"].mul_(group["momentum"]).add_(change)
        param.sub_(change * rate)


class Adagrad(Optimizer):
    """Step by the gradient over the root of the sum of its squares.

    Args:
        params: parameters or groups of them.
        lr: the learning rate.
        lr_decay: how fast the learning rate falls with the steps.
        weight_decay: factor of the parameters that is added to their gradients.
        initial_accumulator_value: what the sums begin with.
        eps: added to the root.
        maximize: whether to step along the gradient instead.
        foreach: accepted for PyTorch programs.
        differentiable: only False.
        fused: accepted for PyTorch programs.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> weight = weft.ones(1, requires_grad=True)
        >>> optimizer = optim.Adagrad([weight], lr=0.1)
        >>> (weight * 3).sum().backward()
        >>> optimizer.step()
        >>> weight.detach()
        tensor([0.9000])
    """

    _first_values = {"sum": "initial_accumulator_value"}  # noqa: RUF012 (ClassVar in the base class)

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_settings(
            "Adagrad",
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                self._begin(group, param)

    def _begin(self, group: Group, param: Tensor) -> dict[str, Any]:
        start = _core.ops.zeros_like(param.detach())
        start.fill_(group["initial_accumulator_value"])
        self.state[param] = {"step": 0, "sum": start}
        return self.state[param]

    def _update(self, group: Group) -> None:
        with no_grad():
            for param in group["params"]:
                if param.grad is None:
                    continue
                state = self.state[param] or self._begin(group, param)
                slope = _slope(group, param, param.grad)
                rate = float(group["lr"]) / (1 + state["step"] * group["lr_decay"])
                state["step"] += 1
                total = state["sum"].add_(slope * slope)
                param.sub_(slope / (total.sqrt() + group["eps"]) * rate)
