"""Optimizer: the base class of everything that changes parameters by their gradients."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, ClassVar, TypeAlias, cast

from weft import _following
from weft._core import Tensor, UnsupportedError, is_lazy
from weft._following import Group, Growth
from weft.autograd import enable_grad
from weft.batching.scope import at_once
from weft.functional.creation import full

StepHook: TypeAlias = Callable[["Optimizer", tuple[Any, ...], dict[str, Any]], Any]


class HookHandle:
    """Take a step hook away again."""

    __slots__ = ("_hook", "_hooks")

    def __init__(self, hooks: list[StepHook], hook: StepHook) -> None:
        self._hooks = hooks
        self._hook = hook
        hooks.append(hook)

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)


def check_settings(owner: str, **settings: float) -> None:
    """Raise an error for a setting that is negative or NaN."""
    for name, value in settings.items():
        if not float(value) >= 0.0:
            raise ValueError(f"{owner}(): {name} must not be negative; {name} is {value}.")


class Optimizer:
    """Base class of optimizers.

    Subclasses define `_update`, which changes the parameters of one group, or `step` itself.

    Args:
        params: parameters, pairs of a name and a parameter, or groups: dictionaries with "params"
            and settings that differ from the defaults.
        defaults: the settings of groups that do not say otherwise.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> class Halve(optim.Optimizer):
        ...     def step(self):
        ...         for group in self.param_groups:
        ...             for parameter in group["params"]:
        ...                 parameter.data.mul_(group["factor"])
        >>> weight = weft.ones(1, requires_grad=True)
        >>> Halve([weight], {"factor": 0.5}).step()
        >>> weight.detach()
        tensor([0.5000])
    """

    # What tensors of the state begin with: the name of a setting. Others begin with zeros.
    _first_values: ClassVar[Mapping[str, str]] = {}

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        self._pre_hooks: list[StepHook] = []
        self._post_hooks: list[StepHook] = []
        if isinstance(params, Tensor):
            raise TypeError(
                f"{type(self).__name__}(): params must be a list of parameters or groups, not one "
                "tensor."
            )
        if defaults.get("differentiable"):
            raise UnsupportedError(
                f"{type(self).__name__}(): differentiable=True is not supported: a step leaves no "
                "graph."
            )
        given = list(params)
        if not given:
            raise ValueError(f"{type(self).__name__}(): params is empty.")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        for group in groups:
            self.add_param_group(cast("Group", group))
        _following.sign_up(self)

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters with settings of its own.

        Args:
            param_group: a dictionary with "params" and settings that differ from the defaults.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> weight = weft.ones(1, requires_grad=True)
            >>> optimizer = optim.SGD([weight], lr=0.1)
            >>> bias = weft.zeros(1, requires_grad=True)
            >>> optimizer.add_param_group({"params": [bias], "lr": 0.01})
            >>> [group["lr"] for group in optimizer.param_groups]
            [0.1, 0.01]
        """
        name = type(self).__name__
        if not isinstance(cast("Any", param_group), dict):
            raise TypeError(f"{name}: a group must be a dict, not a {type(param_group).__name__}.")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(f"{name}: params must have an order; a set has none.")
        params = [given] if isinstance(given, Tensor) else list(given)
        group = {**self.defaults, **param_group}
        if params and isinstance(params[0], tuple):
            group["param_names"] = [pair[0] for pair in params]
            params = [pair[1] for pair in params]
        seen = {id(param) for other in self.param_groups for param in other["params"]}
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"{name}: params must be tensors, not {type(param).__name__}.")
            if param.grad_fn is not None:
                raise ValueError(
                    f"{name}: params must be leaves, but one is the result of an operation, so it "
                    "would get no gradient. Pass the tensors it was made from."
                )
            if id(param) in seen:
                raise ValueError(f"{name}: a parameter appears twice.")
            seen.add(id(param))
        group["params"] = params
        self.param_groups.append(group)

    def _update(self, group: Group) -> None:
        """Change the parameters of one group."""
        raise NotImplementedError(f"{type(self).__name__} must define step().")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change all parameters once.

        Args:
            closure: a function that computes the loss and its gradients; called first.

        Returns:
            What the closure returned.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> weight = weft.ones(1, requires_grad=True)
            >>> optimizer = optim.SGD([weight], lr=0.1)
            >>> (weight * 3).sum().backward()
            >>> optimizer.step()
            >>> weight.detach()
            tensor([0.7000])
        """
        for hook in list(self._pre_hooks):
            changed = hook(self, (closure,), {})
            if changed is not None:
                (closure,) = changed[0]
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if is_lazy():
            with at_once([(p, p.grad) for group in self.param_groups for p in group["params"]]):
                self._update_all()
        else:
            self._update_all()
        for hook in list(self._post_hooks):
            hook(self, (closure,), {})
        return loss

    def _update_all(self) -> None:
        for group in self.param_groups:
            self._update(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> weight = weft.ones(1, requires_grad=True)
            >>> optimizer = optim.SGD([weight], lr=0.1)
            >>> weight.sum().backward()
            >>> optimizer.zero_grad()
            >>> weight.grad is None
            True
        """
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    param.grad = param.grad.new_zeros(param.grad.shape)

    def register_step_pre_hook(self, hook: StepHook) -> HookHandle:
        """Call `hook(optimizer, args, kwargs)` before each step.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> weight = weft.ones(1, requires_grad=True)
            >>> optimizer = optim.SGD([weight], lr=0.1)
            >>> handle = optimizer.register_step_pre_hook(lambda *_: print("before"))
            >>> optimizer.step()
            before
        """
        return HookHandle(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: StepHook) -> HookHandle:
        """Call `hook(optimizer, args, kwargs)` after each step.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> weight = weft.ones(1, requires_grad=True)
            >>> optimizer = optim.SGD([weight], lr=0.1)
            >>> handle = optimizer.register_step_post_hook(lambda *_: print("after"))
            >>> optimizer.step()
            after
        """
        return HookHandle(self._post_hooks, hook)

    # ---- models that change --------------------------------------------------------------------

    def grown_state(self, param: Tensor, growth: Growth) -> dict[str, Any]:
        """Return the state of a parameter as it is after growth.

        Tensors of the parameter's shape keep their old elements; new ones are what they are at a
        parameter's first step. The rest stays as it is.

        Args:
            param: the parameter, still in its old shape.
            growth: where its elements will be.

        Raises:
            ValueError: if the state has a tensor of another shape; subclasses that keep such define
                this method.

        Example:
            >>> import weft
            >>> from weft import nn, optim
            >>> layer = nn.Linear(2, 2)
            >>> optimizer = optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
            >>> layer(weft.ones(2)).sum().backward()
            >>> optimizer.step()
            >>> layer = nn.grow_(layer, out_features=3)  # asks for each parameter's
            >>> optimizer.state[layer.weight]["momentum_buffer"].shape
            weft.Size([3, 2])
        """
        owners = (g for g in self.param_groups if any(p is param for p in g["params"]))
        settings = next(owners, self.defaults)
        state = dict(self.state[param])
        for name, entry in state.items():
            if not isinstance(entry, Tensor) or entry.dim() == 0:
                continue
            if entry.shape != param.shape:
                raise ValueError(
                    f"{type(self).__name__} cannot follow growth: it keeps {name} of shape "
                    f"{tuple(entry.shape)} for a parameter of shape {tuple(param.shape)}."
                )
            first = settings[self._first_values[name]] if name in self._first_values else 0.0
            grown = full(growth.after, float(first), dtype=entry.dtype)
            state[name] = growth.write(entry, grown)
        return state

    def parameters_changed(self) -> None:
        """Hear that parameters have grown, come or gone; for subclasses that must know.

        Example:
            >>> from weft import nn, optim
            >>> class Telling(optim.SGD):
            ...     def parameters_changed(self):
            ...         print("changed")
            >>> layer = nn.Linear(2, 2)
            >>> optimizer = Telling(layer.parameters(), lr=0.1)
            >>> layer = nn.grow_(layer, out_features=3)
            changed
        """

    # ---- state ---------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return settings and state as plain dictionaries; parameters are numbers in them.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> weight = weft.ones(1, requires_grad=True)
            >>> optimizer = optim.SGD([weight], lr=0.1)
            >>> optimizer.state_dict()["param_groups"][0]["lr"]
            0.1
        """
        numbers: dict[int, int] = {}
        groups: list[Group] = []
        for group in self.param_groups:
            for param in group["params"]:
                numbers[id(param)] = len(numbers)
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {numbers.get(id(key), key): value for key, value in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take back what `state_dict` returned.

        Raises:
            ValueError: if the groups do not fit.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> weight = weft.ones(1, requires_grad=True)
            >>> optimizer = optim.SGD([weight], lr=0.1)
            >>> other = optim.SGD([weight], lr=1.0)
            >>> other.load_state_dict(optimizer.state_dict())
            >>> other.param_groups[0]["lr"]
            0.1
        """
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError(
                f"load_state_dict(): the optimizer has {len(self.param_groups)} group(s) of "
                f"parameters and the state_dict has {len(groups)}."
            )
        params: dict[Any, Tensor] = {}
        for own, given in zip(self.param_groups, groups, strict=True):
            if len(own["params"]) != len(given["params"]):
                raise ValueError(
                    f"load_state_dict(): a group has {len(own['params'])} parameter(s) in the "
                    f"optimizer and {len(given['params'])} in the state_dict."
                )
            params.update(zip(given["params"], own["params"], strict=True))
        state: dict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = {
                    name: _fitted(name, item, params[key]) for name, item in value.items()
                }
            else:
                state[key] = deepcopy(value)
        self.state = state
        for own, given in zip(self.param_groups, groups, strict=True):
            settings = {key: value for key, value in given.items() if key != "params"}
            own.update(deepcopy(settings))

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": dict(self.state),
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.state = defaultdict(dict, state["state"])
        self._pre_hooks = []
        self._post_hooks = []
        _following.sign_up(self)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [""] * (i > 0) + [f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def _fitted(name: str, item: Any, param: Tensor) -> Any:
    """Copy one entry of a state, in the parameter's dtype; steps are counted in ints."""
    if name == "step":
        return int(item)
    if isinstance(item, Tensor):
        copy = item.detach().clone()
        return copy.to(param.dtype) if param.is_floating_point() else copy
    return deepcopy(item)
