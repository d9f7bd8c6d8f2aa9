"""LBFGS: steps that use the curvature seen in the last steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from weft import _core
from weft._core import Tensor
from weft._following import Growth
from weft.autograd import enable_grad, no_grad
from weft.optim.line_search import Point, strong_wolfe
from weft.optim.optimizer import Optimizer, check_settings

ops = _core.ops


class LBFGS(Optimizer):
    """Minimise by quasi-Newton steps; each call of `step` evaluates the closure many times.

    Args:
        params: the parameters, all in one group.
        lr: the factor of each step.
        max_iter: how many iterations one call of `step` does, at most.
        max_eval: how often it calls the closure, at most; 5 / 4 of `max_iter` if not given.
        tolerance_grad: end when no element of the gradient is larger.
        tolerance_change: end when neither loss nor parameters change more.
        history_size: how many steps are remembered.
        line_search_fn: None, or "strong_wolfe".

    Example:
        >>> import weft
        >>> weight = weft.nn.Parameter(weft.tensor([3.0, -2.0]))
        >>> optimizer = weft.optim.LBFGS([weight], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((weight - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> _ = optimizer.step(closure)
        >>> weight.data
        tensor([1.0000, 1.0000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_settings("LBFGS", lr=lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueError(
                f"LBFGS(): line_search_fn must be None or 'strong_wolfe', not {line_search_fn!r}."
            )
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS(): all parameters must be in one group.")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def grown_state(self, param: Tensor, growth: Growth) -> dict[str, Any]:
        """Return nothing: what is known of the curvature is of all parameters as one vector."""
        del param, growth
        return {}

    def parameters_changed(self) -> None:
        """Begin anew."""
        self.state.clear()

    # ---- all parameters as one vector ------------------------------------------------------------

    def _gradient(self) -> Tensor:
        parts = [
            ops.zeros((param.numel(),), dtype=param.dtype)
            if param.grad is None
            else param.grad.reshape(-1)
            for param in self._params
        ]
        return ops.cat(parts, 0)

    def _move(self, direction: Tensor, distance: float) -> None:
        place = 0
        for param in self._params:
            part = direction[place : place + param.numel()].reshape(param.shape)
            param.add_(part * distance)
            place += param.numel()

    # ---- steps -----------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Do up to `max_iter` iterations.

        Args:
            closure: computes the loss and its gradients anew, and returns the loss.

        Returns:
            The loss at the beginning.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> x = weft.zeros(1, requires_grad=True)
            >>> optimizer = optim.LBFGS([x])
            >>> def closure():
            ...     optimizer.zero_grad()
            ...     loss = ((x - 3) ** 2).sum()
            ...     loss.backward()
            ...     return loss
            >>> _ = optimizer.step(closure)
            >>> x.detach().round(decimals=3)
            tensor([3.])
        """
        if closure is None:
            raise TypeError("LBFGS.step(): a closure is needed that computes the loss anew.")
        for hook in list(self._pre_hooks):
            hook(self, (closure,), {})
        with no_grad():
            first = self._step(closure)
        for hook in list(self._post_hooks):
            hook(self, (closure,), {})
        return first

    def _step(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def evaluate() -> Any:
            state["func_evals"] += 1
            with enable_grad():
                return closure()

        first = evaluate()
        loss, gradient, used = float(first), self._gradient(), 1
        if _largest(gradient) <= group["tolerance_grad"]:
            return first
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient)
            state["d"], state["prev_flat_grad"] = direction, gradient
            before = loss
            distance = float(group["lr"])
            if state["n_iter"] == 1:
                distance *= min(1.0, 1.0 / float(ops.sum(ops.abs(gradient))))
            slope = float(ops.dot(gradient, direction))
            state["t"] = distance
            if slope > -group["tolerance_change"]:
                break
            is_last = iteration == group["max_iter"]
            if group["line_search_fn"] is not None:
                start = Point(0.0, loss, gradient, slope)
                point, looks = self._search(evaluate, start, direction, distance)
                distance, loss, gradient = point.distance, point.loss, point.gradient
                self._move(direction, distance)
                used += looks
            else:
                self._move(direction, distance)
                if not is_last:
                    loss, gradient = float(evaluate()), self._gradient()
                    used += 1
            state["t"], state["prev_loss"] = distance, before
            if is_last or used >= group["max_eval"]:
                break
            if _largest(gradient) <= group["tolerance_grad"]:
                break
            if _largest(direction * distance) <= group["tolerance_change"]:
                break
            if abs(loss - before) < group["tolerance_change"]:
                break
        return first

    def _direction(self, state: dict[str, Any], gradient: Tensor) -> Tensor:
        """Return the negative gradient times what is known of the inverse Hessian."""
        if state["n_iter"] == 1:
            state.update({"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1.0})
            return -gradient
        changes, steps, weights = state["old_dirs"], state["old_stps"], state["ro"]
        change = gradient - state["prev_flat_grad"]
        step = state["d"] * state["t"]
        product = float(ops.dot(change, step))
        if product > 1e-10:  # else the curvature is not positive
            if len(changes) == self.param_groups[0]["history_size"]:
                for memory in (changes, steps, weights):
                    memory.pop(0)
            changes.append(change)
            steps.append(step)
            weights.append(1.0 / product)
            state["H_diag"] = product / float(ops.dot(change, change))
        direction = -gradient
        shares: list[float] = []
        for change, step, weight in reversed(list(zip(changes, steps, weights, strict=True))):
            shares.append(float(ops.dot(step, direction)) * weight)
            direction = direction - change * shares[-1]
        direction = direction * state["H_diag"]
        for change, step, weight in zip(changes, steps, weights, strict=True):
            back = float(ops.dot(change, direction)) * weight
            direction = direction + step * (shares.pop() - back)
        return direction

    def _search(
        self, evaluate: Callable[[], Any], start: Point, direction: Tensor, distance: float
    ) -> tuple[Point, int]:
        kept = [param.detach().clone() for param in self._params]

        def at(distance: float) -> Point:
            self._move(direction, distance)
            loss, gradient = float(evaluate()), self._gradient()
            for param, value in zip(self._params, kept, strict=True):
                param.copy_(value)
            return Point(distance, loss, gradient, float(ops.dot(gradient, direction)))

        return strong_wolfe(at, start, distance, _largest(direction))


def _largest(vector: Tensor) -> float:
    return float(ops.amax(ops.abs(vector)))
