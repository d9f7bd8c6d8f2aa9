"""Averages of a model's weights over training: stochastic weight averaging and moving averages."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, cast

from weft._core import Tensor, ops
from weft._missing import explain_missing
from weft.autograd import no_grad
from weft.batching.scope import at_once
from weft.nn.module import Module
from weft.nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d
from weft.optim.lr_scheduler import LRScheduler
from weft.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

# Of one tensor: (average, current, number so far) to the new average. Of many: writes the averages.
AverageOne = Callable[[Tensor, Tensor, Any], Tensor]
AverageMany = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> AverageOne:
    """Return a function that keeps `decay` of the average and adds the rest of the new weights."""

    def average(averaged: Tensor, current: Tensor, count: Any) -> Tensor:
        del count
        return decay * averaged + (1 - decay) * current

    return average


def get_swa_avg_fn() -> AverageOne:
    """Return a function that computes the plain mean."""

    def average(averaged: Tensor, current: Tensor, count: Any) -> Tensor:
        return averaged + (current - averaged) / (count + 1)

    return average


def _for_all(average: AverageOne) -> AverageMany:
    def average_all(averaged: Sequence[Tensor], current: Sequence[Tensor], count: Any) -> None:
        with no_grad():
            for own, other in zip(averaged, current, strict=True):
                own.copy_(average(own, other, count))

    return average_all


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageMany:
    """Return what `get_ema_avg_fn` returns, for lists of tensors, which it writes."""
    return _for_all(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> AverageMany:
    """Return what `get_swa_avg_fn` returns, for lists of tensors, which it writes."""
    return _for_all(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model whose parameters are an average over training.

    Args:
        model: the model to average.
        device: only the CPU.
        avg_fn: how one tensor is averaged; the plain mean by default.
        multi_avg_fn: how lists of tensors are averaged, instead.
        use_buffers: whether buffers are averaged too; otherwise they are copied.

    Example:
        >>> import weft
        >>> model = weft.nn.Linear(1, 1)
        >>> averaged = weft.optim.swa_utils.AveragedModel(model)
        >>> averaged.update_parameters(model)
        >>> averaged.n_averaged
        tensor(1)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: AverageOne | None = None,
        multi_avg_fn: AverageMany | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel(): give avg_fn or multi_avg_fn, not both.")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", ops.full((), 0))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the model's weights as they are now into the average."""
        pairs = list(zip(self._averaged(self.module), self._averaged(model), strict=True))
        with at_once(pairs, [*self.module.buffers(), *model.buffers()]):
            self._take(pairs, model)

    def _take(self, pairs: list[tuple[Tensor, Tensor]], model: Module) -> None:
        averaged = [own.detach() for own, _ in pairs]
        current = [other.detach() for _, other in pairs]
        if self.n_averaged == 0:
            for own, other in zip(averaged, current, strict=True):
                own.copy_(other)
        else:
            average = self.multi_avg_fn or _for_all(self.avg_fn or get_swa_avg_fn())
            average(averaged, current, self.n_averaged)
        if not self.use_buffers:
            for own, other in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(other.detach())
        self.n_averaged += 1

    def _averaged(self, model: Module) -> list[Tensor]:
        return [*model.parameters(), *(model.buffers() if self.use_buffers else ())]


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of a model's batch normalisations anew, in one pass.

    Args:
        loader: batches; of a list or tuple the first item is the input.
        model: the model.
        device: only the CPU.
    """
    kinds = (BatchNorm1d, BatchNorm2d, BatchNorm3d)
    norms: list[Any] = [module for module in model.modules() if isinstance(module, kinds)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    with no_grad():
        for batch in loader:
            given = cast("Any", batch)[0] if isinstance(batch, (list, tuple)) else batch
            model(given if device is None else given.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Go from the learning rates as they are to a constant one.

    Args:
        optimizer: whose learning rates to change.
        swa_lr: the last learning rate, or one a group.
        anneal_epochs: steps on the way.
        anneal_strategy: "cos" or "linear".
        last_epoch: the last step that was taken.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in {"cos", "linear"}:
            raise ValueError(
                f"SWALR(): anneal_strategy must be 'cos' or 'linear', not {anneal_strategy!r}."
            )
        if anneal_epochs < 0:
            raise ValueError(f"SWALR(): anneal_epochs must not be negative; it is {anneal_epochs}.")
        count = len(optimizer.param_groups)
        several = isinstance(swa_lr, (list, tuple))
        rates: list[float] = list(cast("Any", swa_lr)) if several else [swa_lr] * count
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs = anneal_epochs
        self.anneal_strategy = anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """Return how far the way is done after a step, from 0 to 1."""
        done = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return done if self.anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self) -> list[float]:
        """Return the learning rates of `last_epoch`, one a group."""
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates: list[float] = []
        for group in self._groups:
            # Where this way began follows from where it is.
            if before == 1:
                start = group["swa_lr"]
            else:
                start = (group["lr"] - before * group["swa_lr"]) / (1 - before)
            rates.append(group["swa_lr"] * now + start * (1 - now))
        return rates


explain_missing(__name__)
