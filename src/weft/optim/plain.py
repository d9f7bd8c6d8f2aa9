"""What optimizers share that are written with tensor ops, one parameter at a time."""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Tensor
from weft.autograd import no_grad
from weft.optim.optimizer import Group, Optimizer


class PlainOptimizer(Optimizer):
    """An optimizer that says how one parameter changes.

    Subclasses define `_first_state` and `_change`.
    """

    def _first_state(self, group: Group, param: Tensor) -> dict[str, Any]:
        """Return the state of a parameter before its first step, without the count."""
        raise NotImplementedError

    def _change(self, group: Group, param: Tensor, slope: Tensor, state: dict[str, Any]) -> None:
        """Change a parameter by its gradient; `state["step"]` counts this step too."""
        raise NotImplementedError

    def _update(self, group: Group) -> None:
        with no_grad():
            for param in group["params"]:
                if param.grad is None:
                    continue
                state = self.state[param]
                if not state:
                    state.update({"step": 0, **self._first_state(group, param)})
                state["step"] += 1
                self._change(group, param, self._slope(group, param, param.grad), state)

    def _slope(self, group: Group, param: Tensor, gradient: Tensor) -> Tensor:
        """Return the gradient with its sign and with weight decay; or decay the parameter."""
        if group.get("maximize"):
            gradient = -gradient
        decay = group.get("weight_decay", 0.0)
        if not decay:
            return gradient
        if group.get("decoupled_weight_decay"):
            param.mul_(1 - float(group["lr"]) * decay)
            return gradient
        return gradient + param * decay


def zeros_of(param: Tensor) -> Tensor:
    """Return zeros in a parameter's shape and dtype."""
    return _core.ops.zeros_like(param.detach())
