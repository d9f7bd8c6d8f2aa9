"""Change learning rates as training goes on.

Each scheduler steps once when it is made, which sets the first learning rate.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from weft._missing import explain_missing
from weft.optim.optimizer import Group, Optimizer


class LRScheduler:
    """Base class of schedulers.

    Subclasses define `get_lr`, which returns one learning rate a group for `last_epoch`. If that
    goes by the ones before, `_get_closed_form_lr` may say them from the beginning, for a step that
    is asked for.

    Args:
        optimizer: whose learning rates to change.
        last_epoch: the last step that was taken; -1 to begin.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> class Halve(optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [base * 0.5**self.last_epoch for base in self.base_lrs]
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = Halve(optimizer)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(cast("object", optimizer), Optimizer):
            raise TypeError(
                f"{type(self).__name__}(): optimizer must be an Optimizer, not a "
                f"{type(optimizer).__name__}."
            )
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{type(self).__name__}(): a group has no 'initial_lr', which resuming at "
                    f"last_epoch {last_epoch} needs."
                )
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._last_lr: list[float] = []
        self._initial_step()

    @property
    def _groups(self) -> list[Group]:
        return self.optimizer.param_groups

    def get_lr(self) -> list[float]:
        """Return the learning rates of `last_epoch`, one a group.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> class Fixed(optim.lr_scheduler.LRScheduler):
            ...     def get_lr(self):
            ...         return [0.3 for group in self.optimizer.param_groups]
            >>> Fixed(optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)).get_last_lr()
            [0.3]
        """
        raise NotImplementedError(f"{type(self).__name__} must define get_lr().")

    def _get_closed_form_lr(self) -> list[float]:
        """Return the learning rates of `last_epoch`, whatever they are now."""
        return self.get_lr()

    def _initial_step(self) -> None:
        """Take the step that goes with making a scheduler, which only resumes what was set."""
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def get_last_lr(self) -> list[float]:
        """Return the learning rates that were set last, one a group.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
            >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
            >>> scheduler.get_last_lr()
            [1.0]
        """
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go one step on, or to the given one, and set the learning rates.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
            >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
            >>> optimizer.step()
            >>> scheduler.step()  # once an epoch, after the optimizer
            >>> scheduler.get_last_lr()
            [0.5]
        """
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        rates = self.get_lr() if epoch is None else self._get_closed_form_lr()
        for group, rate in zip(self._groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self._groups]

    def _scaled(self, factor: float) -> list[float]:
        """Return the learning rates as they are now, times a factor."""
        return [group["lr"] * factor for group in self._groups]

    def _base_scaled(self, factor: float) -> list[float]:
        """Return the first learning rates, times a factor."""
        return [base * factor for base in self.base_lrs]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
            >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
            >>> scheduler.state_dict()["last_epoch"]
            0
        """
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` returned.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
            >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
            >>> scheduler.load_state_dict(scheduler.state_dict() | {"last_epoch": 7})
            >>> scheduler.last_epoch
            7
        """
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """Multiply the first learning rate by what a function says of the step.

    Args:
        optimizer: whose learning rates to change.
        lr_lambda: a function of the step, or one a group.
        last_epoch: the last step that was taken.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.333, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas = [lr_lambda] * count if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != count:
            raise ValueError(
                f"{type(self).__name__}(): lr_lambda must have one function a group; there are "
                f"{count} groups and {len(self.lr_lambdas)} functions."
            )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the first learning rates times what the functions say."""
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer and the functions."""
        return {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}


class StepLR(LRScheduler):
    """Multiply the learning rate by `gamma` every `step_size` steps.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 1.0, 0.1, 0.1]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates, smaller at every `step_size`th step."""
        due = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return self._scaled(self.gamma if due else 1.0)

    def _get_closed_form_lr(self) -> list[float]:
        return self._base_scaled(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(LRScheduler):
    """Multiply the learning rate by `gamma` at each of the given steps.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.1)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.1, 0.1, 0.01]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = sorted(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates, smaller at a milestone."""
        return self._scaled(self.gamma ** self.milestones.count(self.last_epoch))

    def _get_closed_form_lr(self) -> list[float]:
        return self._base_scaled(self.gamma ** bisect_right(self.milestones, self.last_epoch))


class ExponentialLR(LRScheduler):
    """Multiply the learning rate by `gamma` at each step.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates, smaller at every step."""
        return self._scaled(1.0 if self._is_initial else self.gamma)

    def _get_closed_form_lr(self) -> list[float]:
        return self._base_scaled(self.gamma**self.last_epoch)


class ConstantLR(LRScheduler):
    """Begin with a share of the learning rate and take all of it after `total_iters` steps.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates."""
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._scaled(1.0 / self.factor if self.last_epoch == self.total_iters else 1.0)

    def _get_closed_form_lr(self) -> list[float]:
        return self._base_scaled(1.0 if self.last_epoch >= self.total_iters else self.factor)


class LinearLR(LRScheduler):
    """Go from one share of the learning rate to another in `total_iters` even steps.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.25, 0.5, 0.75, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates."""
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._scaled(1.0)
        change = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * change
        return self._scaled(1.0 + change / before)

    def _get_closed_form_lr(self) -> list[float]:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        change = self.end_factor - self.start_factor
        return self._base_scaled(self.start_factor + change * share)


class CosineAnnealingLR(LRScheduler):
    """Let the learning rate fall to `eta_min` along a cosine within `T_max` steps.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.75, 0.25, 0.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates."""
        step, least = self.last_epoch, self.eta_min
        if self._is_initial:
            return self._scaled(1.0)
        if (step - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The valley: the way up begins with an addition, because the cosine's share is zero.
            climb = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                group["lr"] + (base - least) * climb
                for base, group in zip(self.base_lrs, self._groups, strict=True)
            ]
        ratio = (1 + math.cos(math.pi * step / self.T_max)) / (
            1 + math.cos(math.pi * (step - 1) / self.T_max)
        )
        return [ratio * (group["lr"] - least) + least for group in self._groups]

    def _get_closed_form_lr(self) -> list[float]:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Let the learning rate fall along a cosine, again and again.

    Args:
        optimizer: whose learning rates to change.
        T_0: steps of the first fall.
        T_mult: how many times longer each fall is than the one before.
        eta_min: the least learning rate.
        last_epoch: the last step that was taken.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or T_mult < 1:
            raise ValueError(
                "CosineAnnealingWarmRestarts(): T_0 must be positive and T_mult at least 1; T_0 is "
                f"{T_0}, T_mult is {T_mult}."
            )
        self.T_0 = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        self.T_i = T_0
        super().__init__(optimizer, last_epoch)

    def step(self, epoch: float | None = None) -> None:
        """Go one step on, or to the given one, which may lie between two.

        Example:
            >>> import weft
            >>> from weft import optim
            >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
            >>> scheduler = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
            >>> scheduler.step(0.5)
            >>> round(scheduler.get_last_lr()[0], 3)
            0.854
        """
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ValueError(
                    f"CosineAnnealingWarmRestarts.step(): epoch must not be negative: {epoch}"
                )
            self.T_cur, self.T_i = epoch, self.T_0
        if self.T_mult == 1:
            self.T_cur %= self.T_0
        while self.T_cur >= self.T_i:
            self.T_cur -= self.T_i
            self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)
        self._step_count += 1
        for group, rate in zip(self._groups, self.get_lr(), strict=True):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self._groups]

    def get_lr(self) -> list[float]:
        """Return the learning rates."""
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class OneCycleLR(LRScheduler):
    """Let the learning rate rise once and fall below where it began.

    Args:
        optimizer: whose learning rates to change.
        max_lr: the highest learning rate, or one a group.
        total_steps: steps in all, or
        epochs: this many times
        steps_per_epoch: this many.
        pct_start: share of the steps in which it rises.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: whether the momentum falls and rises as the learning rate does the opposite.
        base_momentum: the lowest momentum, or one a group.
        max_momentum: the highest, or one a group.
        div_factor: how many times smaller than `max_lr` it begins.
        final_div_factor: how many times smaller than that it ends.
        three_phase: whether it falls to where it began first, and then to the end.
        last_epoch: the last step that was taken.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=4)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.04, 0.812, 0.283, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError(
                    "OneCycleLR(): total_steps, or epochs and steps_per_epoch, must be given."
                )
            total_steps = epochs * steps_per_epoch
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"OneCycleLR(): anneal_strategy must be 'cos' or 'linear', not {anneal_strategy!r}."
            )
        if cycle_momentum and not {"momentum", "betas"} & set(optimizer.defaults):
            raise ValueError("OneCycleLR(): the optimizer has no momentum to cycle.")
        groups = optimizer.param_groups
        self.total_steps = total_steps
        self.anneal_strategy = anneal_strategy
        self.cycle_momentum = cycle_momentum
        # Where a phase ends, and what learning rate and momentum are there.
        turn, last = pct_start * total_steps - 1, total_steps - 1
        self.ends = [0, turn, 2 * turn, last] if three_phase else [0, turn, last]
        highest = _one_a_group(max_lr, groups)
        first = [rate / div_factor for rate in highest]
        final = [rate / final_div_factor for rate in first]
        low, high = _one_a_group(base_momentum, groups), _one_a_group(max_momentum, groups)
        names = ["initial_lr", "max_lr", "min_lr"]
        values = [first, highest, final]
        if cycle_momentum:
            names += ["base_momentum", "max_momentum"]
            values += [low, high]
        # The groups remember them, so that who resumes goes on as it was begun.
        for name, each in zip(names, values, strict=True):
            for i, group in enumerate(groups):
                if last_epoch == -1:
                    group[name] = each[i]
                elif name in group:
                    each[i] = group[name]
        self.rates = [first, highest, first, final] if three_phase else [first, highest, final]
        self.momentums = [high, low, high, high] if three_phase else [high, low, high]
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates, and set the momentums."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"OneCycleLR: step {step} is beyond the {self.total_steps} in all.")
        last = len(self.ends) - 2
        phase = next((i for i in range(last) if step <= self.ends[i + 1]), last)
        start, end = self.ends[phase : phase + 2]
        share = (step - start) / (end - start)
        if self.cycle_momentum:
            pairs = zip(*self.momentums[phase : phase + 2], strict=True)
            for group, (before, after) in zip(self._groups, pairs, strict=True):
                _set_momentum(group, self._between(before, after, share))
        pairs = zip(*self.rates[phase : phase + 2], strict=True)
        return [self._between(before, after, share) for before, after in pairs]

    def _between(self, start: float, end: float, share: float) -> float:
        if self.anneal_strategy == "linear":
            return start + (end - start) * share
        return end + (start - end) / 2 * (1 + math.cos(math.pi * share))


class SequentialLR(LRScheduler):
    """Use one scheduler after the other.

    Args:
        optimizer: whose learning rates to change.
        schedulers: the schedulers.
        milestones: at which steps the next one takes over.
        last_epoch: the last step that was taken.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> warm = optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
        >>> decay = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
        >>> scheduler = optim.lr_scheduler.SequentialLR(optimizer, [warm, decay], milestones=[2])
        >>> scheduler.get_last_lr()
        [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "SequentialLR(): there must be one milestone fewer than schedulers; there are "
                f"{len(milestones)} milestones and {len(schedulers)} schedulers."
            )
        self.optimizer = optimizer
        self.schedulers = list(schedulers)
        self.milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        # Each scheduler has already stepped when it was made; only the first one's step counts.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        _undo(self.schedulers)
        first = self.schedulers[bisect_right(self.milestones, 0)]
        first._initial_step()  # pyright: ignore[reportPrivateUsage]
        self._last_lr = first.get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Go one step on with the scheduler whose turn it is."""
        if epoch is not None:
            raise ValueError("SequentialLR.step() takes no epoch.")
        self.last_epoch += 1
        place = bisect_right(self.milestones, self.last_epoch)
        scheduler = self.schedulers[place]
        if place > 0 and self.milestones[place - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer."""
        state = super().state_dict()
        state["schedulers"] = [scheduler.state_dict() for scheduler in self.schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` returned."""
        given = dict(state_dict)
        for scheduler, state in zip(self.schedulers, given.pop("schedulers"), strict=True):
            scheduler.load_state_dict(state)
        self.__dict__.update(given)


def _undo(schedulers: Iterable[LRScheduler]) -> None:
    """Take back the step with which each scheduler began, and each of those that are its parts."""
    for scheduler in schedulers:
        if isinstance(scheduler, SequentialLR):
            _undo(scheduler.schedulers)
        elif isinstance(scheduler, ChainedScheduler):
            _undo(scheduler._schedulers)  # pyright: ignore[reportPrivateUsage]
        else:
            scheduler.last_epoch -= 1


class ReduceLROnPlateau(LRScheduler):
    """Lower the learning rate when a measure has stopped getting better.

    Args:
        optimizer: whose learning rates to change.
        mode: "min" if smaller is better, "max" if larger is.
        factor: what the learning rate is multiplied by.
        patience: how many steps without a better measure are allowed.
        threshold: how much better counts.
        threshold_mode: "rel" for a share of the best measure, "abs" for a difference.
        cooldown: steps to wait after a change.
        min_lr: the least learning rate, or one a group.
        eps: smaller changes are not made.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.1, patience=1)
        >>> for loss in (3.0, 3.0, 3.0):
        ...     scheduler.step(loss)
        >>> optimizer.param_groups[0]["lr"]
        0.1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau(): factor must be below 1; factor is {factor}.")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                "ReduceLROnPlateau(): mode must be 'min' or 'max' and threshold_mode 'rel' or "
                f"'abs'; they are {mode!r} and {threshold_mode!r}."
            )
        self.optimizer = optimizer
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        count = len(optimizer.param_groups)
        self.min_lrs = [min_lr] * count if isinstance(min_lr, int | float) else list(min_lr)
        self.eps = eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = 0
        self.cooldown_counter = 0
        self.last_epoch = 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of a measure and lower the learning rates if it is time.

        Args:
            metrics: the measure, a number or a tensor with one element.
            epoch: which step this is.
        """
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self._groups, self.min_lrs, strict=True):
                lower = max(float(group["lr"]) * self.factor, least)
                if float(group["lr"]) - lower > self.eps:
                    group["lr"] = lower
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = [group["lr"] for group in self._groups]

    def _is_better(self, current: float) -> bool:
        sign = 1 if self.mode == "min" else -1
        margin = self.threshold
        if self.threshold_mode == "rel":
            # As a share of the best so far; nothing is a share of infinity.
            margin = self.threshold * self.best if math.isfinite(self.best) else 0.0
        return current * sign < self.best * sign - margin


class MultiplicativeLR(LambdaLR):
    """Multiply the learning rate at each step by what a function says of the step.

    Args:
        optimizer: whose learning rates to change.
        lr_lambda: a function of the step, or one a group.
        last_epoch: the last step that was taken.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.MultiplicativeLR(optimizer, lambda step: 0.5)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.25, 0.125]
    """

    def get_lr(self) -> list[float]:
        """Return the learning rates times what the functions say."""
        if self._is_initial:
            return self._scaled(1.0)
        pairs = zip(self._groups, self.lr_lambdas, strict=True)
        return [group["lr"] * function(self.last_epoch) for group, function in pairs]


class PolynomialLR(LRScheduler):
    """Let the learning rate fall to zero as a power of the steps that are left.

    Args:
        optimizer: whose learning rates to change.
        total_iters: steps until zero.
        power: the power; 1 is a straight line.
        last_epoch: the last step that was taken.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=1.0)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.75, 0.5, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates, smaller until `total_iters`."""
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._scaled(1.0)
        left = self.total_iters - self.last_epoch
        return self._scaled((left / (left + 1)) ** self.power)

    def _get_closed_form_lr(self) -> list[float]:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return self._base_scaled((1.0 - share) ** self.power)


class ChainedScheduler(LRScheduler):
    """Step several schedulers together; each changes what the one before has set.

    Args:
        schedulers: of one optimizer.
        optimizer: theirs, if given.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> warm = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> decay = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
        >>> scheduler = optim.lr_scheduler.ChainedScheduler([warm, decay])
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.45]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        if not schedulers:
            raise ValueError("ChainedScheduler(): schedulers must not be empty.")
        self.optimizer = optimizer or schedulers[0].optimizer
        if any(scheduler.optimizer is not self.optimizer for scheduler in schedulers):
            raise ValueError("ChainedScheduler(): the schedulers must be of one optimizer.")
        self._schedulers = list(schedulers)
        self._last_lr = [group["lr"] for group in self._groups]

    def step(self, epoch: int | None = None) -> None:
        """Step each scheduler."""
        del epoch
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [group["lr"] for group in self._groups]

    def state_dict(self) -> dict[str, Any]:
        """Return the states of the schedulers."""
        states = [scheduler.state_dict() for scheduler in self._schedulers]
        return {"_last_lr": self._last_lr, "_schedulers": states}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` returned."""
        self._last_lr = state_dict["_last_lr"]
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class CyclicLR(LRScheduler):
    """Let the learning rate rise and fall again and again.

    Args:
        optimizer: whose learning rates to change.
        base_lr: the lowest learning rate, or one a group.
        max_lr: the highest, or one a group.
        step_size_up: steps in which it rises.
        step_size_down: steps in which it falls; as many if not given.
        mode: "triangular", "triangular2" (each cycle half as high) or "exp_range" (times `gamma` to
            the power of the step).
        gamma: for "exp_range".
        scale_fn: a factor of the height instead of `mode`'s, by cycle or step.
        scale_mode: what `scale_fn` is called with: "cycle" or "iterations".
        cycle_momentum: whether the momentum falls and rises as the learning rate does the opposite.
        base_momentum: the lowest momentum, or one a group.
        max_momentum: the highest, or one a group.
        last_epoch: the last step that was taken.

    Example:
        >>> import weft
        >>> from weft import optim
        >>> optimizer = optim.SGD([weft.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.CyclicLR(optimizer, 0.1, max_lr=0.5, step_size_up=2)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(round(scheduler.get_last_lr()[0], 3))
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.1, 0.3, 0.5, 0.3]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        factors: dict[str, tuple[str, Callable[[float], float]]] = {
            "triangular": ("cycle", lambda _: 1.0),
            "triangular2": ("cycle", lambda cycle: 0.5 ** (cycle - 1)),
            "exp_range": ("iterations", lambda step: gamma**step),
        }
        if scale_fn is None:
            if mode not in factors:
                raise ValueError(f"CyclicLR(): mode must be one of {list(factors)}, not {mode!r}.")
            scale_mode, scale_fn = factors[mode]
        groups = optimizer.param_groups
        if cycle_momentum and not {"momentum", "betas"} & set(optimizer.defaults):
            raise ValueError("CyclicLR(): the optimizer has no momentum to cycle.")
        self.scale_fn, self.scale_mode = scale_fn, scale_mode
        self.total_size = float(step_size_up + (step_size_down or step_size_up))
        self.step_ratio = step_size_up / self.total_size
        self.max_lrs = _one_a_group(max_lr, groups)
        self.cycle_momentum = cycle_momentum
        self.base_momentums = _one_a_group(base_momentum, groups)
        self.max_momentums = _one_a_group(max_momentum, groups)
        base_lrs = _one_a_group(base_lr, groups)
        if last_epoch == -1:
            for group, rate in zip(groups, base_lrs, strict=True):
                group["lr"] = rate
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def get_lr(self) -> list[float]:
        """Return the learning rates, and set the momentums."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1 + self.last_epoch / self.total_size - cycle
        rise = self.step_ratio
        height = place / rise if place <= rise else (place - 1) / (rise - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            lows, highs = self.base_momentums, self.max_momentums
            for group, low, high in zip(self._groups, lows, highs, strict=True):
                _set_momentum(group, high - (high - low) * height * scale)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height * scale for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer and the function."""
        return {key: value for key, value in super().state_dict().items() if key != "scale_fn"}


def _one_a_group(value: float | Sequence[float], groups: list[Group]) -> list[float]:
    return list(value) if isinstance(value, Sequence) else [float(value)] * len(groups)


def _set_momentum(group: Group, momentum: float) -> None:
    if "momentum" in group:
        group["momentum"] = momentum
    else:
        group["betas"] = (momentum, *group["betas"][1:])


explain_missing(__name__)
