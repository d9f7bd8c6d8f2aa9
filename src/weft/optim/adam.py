"""Adam and AdamW: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft import _core
from weft.optim.optimizer import Group, Optimizer, check_settings


class Adam(Optimizer):
    """Step by the average gradient over the root of its average square.

    Args:
        params: parameters or groups of them.
        lr: the learning rate.
        betas: how much of the two averages is kept at each step.
        eps: added to the root.
        weight_decay: factor of the parameters that is added to their gradients.
        amsgrad: whether to divide by the largest average square so far.
        foreach: accepted for PyTorch programs; the step is always one native call.
        maximize: whether to step along the gradient instead.
        capturable: accepted for PyTorch programs.
        differentiable: only False.
        fused: accepted for PyTorch programs.
        decoupled_weight_decay: whether weight decay shrinks the parameters directly, as in AdamW.

    Example:
        >>> import weft
        >>> x = weft.tensor([1.0], requires_grad=True)
        >>> optimizer = weft.optim.Adam([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        name = type(self).__name__
        check_settings(name, lr=lr, eps=eps, weight_decay=weight_decay)
        for i, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(
                    f"{name}(): betas must be at least 0 and below 1; betas[{i}] is {beta}."
                )
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _update(self, group: Group) -> None:
        params = [param for param in group["params"] if param.grad is not None]
        if not params:
            return
        states = [self.state[param] for param in params]
        amsgrad = group["amsgrad"]
        for param, state in zip(params, states, strict=True):
            if not state:
                _begin(param, state)
            if amsgrad and "max_exp_avg_sq" not in state:
                state["max_exp_avg_sq"] = _core.ops.zeros_like(param.detach())
        # Parameters that got their first gradient later than others are at another step: the latest
        # first, so that none is taken twice.
        steps = {state["step"] + 1 for state in states}
        for step in sorted(steps, reverse=True):
            if len(steps) == 1:
                _step(group, step, params, states)
            else:
                chosen = [i for i, state in enumerate(states) if state["step"] + 1 == step]
                _step(group, step, [params[i] for i in chosen], [states[i] for i in chosen])


def _begin(param: Any, state: dict[str, Any]) -> None:
    zeros_like, values = _core.ops.zeros_like, param.detach()
    # All of it or nothing, if there is no memory.
    state.update(step=0, exp_avg=zeros_like(values), exp_avg_sq=zeros_like(values))


def _step(group: Group, step: int, params: list[Any], states: list[dict[str, Any]]) -> None:
    beta1, beta2 = group["betas"]
    _core.adam_step(
        params,
        [param.grad for param in params],
        [state["exp_avg"] for state in states],
        [state["exp_avg_sq"] for state in states],
        [state["max_exp_avg_sq"] for state in states] if group["amsgrad"] else None,
        step,
        float(group["lr"]),
        beta1,
        beta2,
        group["eps"],
        group["weight_decay"],
        group["decoupled_weight_decay"],
        group["maximize"],
    )
    for state in states:
        state["step"] = step


class AdamW(Adam):
    """Do what Adam does, with weight decay that shrinks the parameters directly.

    Args:
        params: parameters or groups of them.
        lr: the learning rate.
        betas: how much of the two averages is kept at each step.
        eps: added to the root.
        weight_decay: the share, times the learning rate, that the parameters lose at each step.
        amsgrad: whether to divide by the largest average square so far.
        maximize: whether to step along the gradient instead.
        foreach: accepted for PyTorch programs; the step is always one native call.
        capturable: accepted for PyTorch programs.
        differentiable: only False.
        fused: accepted for PyTorch programs.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> weight = weft.ones(1, requires_grad=True)
        >>> optimizer = optim.AdamW([weight], lr=0.1, weight_decay=0.5)
        >>> (weight * 3).sum().backward()
        >>> optimizer.step()
        >>> weight.detach()
        tensor([0.8500])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
