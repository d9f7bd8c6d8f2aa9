"""Pruning: set a share of a parameter to zero, and keep it there.

The parameter moves to `<name>_orig`, a mask of zeros and ones is the buffer `<name>_mask`, and a
hook sets the product of both before each forward.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from weft._core import Tensor, ops
from weft._missing import explain_missing
from weft.functional.creation import ones_like, rand_like, zeros_like
from weft.functional.linear_algebra import norm
from weft.functional.selection import topk
from weft.nn.module import Module

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod:
    """Base class of ways to prune; a subclass says in `compute_mask` what stays.

    Attributes:
        PRUNING_TYPE: "unstructured" for single elements, "structured" for slices along `dim`,
            "global" for a mask over everything.
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: str
    dim: int

    def prunes(self, name: str) -> bool:
        """Tell whether the method is applied to the parameter of this name."""
        return self._tensor_name == name

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return a mask of zeros and ones for the importances `t`."""
        raise NotImplementedError(f"{type(self).__name__} must define compute_mask().")

    def __call__(self, module: Module, inputs: Any) -> None:  # noqa: ARG002 - a hook's signature
        """Set the pruned parameter: what runs before forward."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Module) -> Tensor:
        """Return the original parameter times the mask."""
        name = self._tensor_name
        original = getattr(module, f"{name}_orig")
        return getattr(module, f"{name}_mask").to(original.dtype) * original

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """Return a tensor with its least important elements set to zero."""
        scores = t if importance_scores is None else importance_scores
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, mask)

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prune a parameter of a module, on top of how it is pruned already.

        Args:
            module: whose parameter.
            name: its name.
            args: arguments of the method.
            importance_scores: what the mask is computed from; the parameter by default.
            kwargs: arguments of the method.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        key, earlier = _hook_of(module, name)
        original = getattr(module, name)
        if earlier is None:
            delattr(module, name)
            module.register_parameter(f"{name}_orig", original)
            mask = ones_like(original)
        else:
            del _hooks(module)[key]
            mask = getattr(module, f"{name}_mask").clone()
            container = earlier
            if not isinstance(container, PruningContainer):
                container = PruningContainer(earlier)
            container.add_pruning_method(method)
            method = container
        scores = original if importance_scores is None else importance_scores
        mask = method.compute_mask(scores.detach(), mask).to(original.dtype)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def remove(self, module: Module) -> None:
        """Make the parameter an ordinary one again, with its zeros."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        original = getattr(module, f"{name}_orig")
        for part in (name, f"{name}_orig", f"{name}_mask"):
            delattr(module, part)
        original.data = pruned.detach()
        module.register_parameter(name, original)


def _hooks(module: Any) -> Any:
    return module._forward_pre_hooks


def _hook_of(module: Module, name: str) -> tuple[int, BasePruningMethod | None]:
    for key, hook in _hooks(module).items():
        if isinstance(hook, BasePruningMethod) and hook.prunes(name):
            return key, hook
    return -1, None


class PruningContainer(BasePruningMethod):
    """Several ways to prune one parameter, one after the other.

    Args:
        methods: the ways.
    """

    def __init__(self, *methods: BasePruningMethod) -> None:
        self._methods = list(methods)
        self._tensor_name = methods[0]._tensor_name

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add one that comes last."""
        self._methods.append(method)

    def __len__(self) -> int:
        return len(self._methods)

    def __iter__(self) -> Any:
        return iter(self._methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Prune what the mask leaves by the method that came last."""
        method = self._methods[-1]
        mask = default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            kept = mask == 1
            part = method.compute_mask(t[kept], default_mask[kept])
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.ndim
            others = tuple(i for i in range(t.ndim) if i != dim)
            rows = mask.sum(others) != 0
            kept = tuple(rows if i == dim else slice(None) for i in range(t.ndim))
            part = method.compute_mask(t[kept], default_mask[kept])
        else:
            kept = tuple(slice(None) for _ in range(t.ndim))
            part = method.compute_mask(t, default_mask)
        mask[kept] = part.to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Keeps everything."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask as it is."""
        del t
        return default_mask


class _ByAmount(BasePruningMethod):
    """Prunes a number or a share of elements or slices.

    Args:
        amount: how many if it is an int, which share if it is a float.
    """

    def __init__(self, amount: float) -> None:
        if isinstance(amount, float) and not 0.0 <= amount <= 1.0:
            raise ValueError(f"amount must be an int, or a share from 0 to 1; it is {amount}.")
        self.amount = amount

    def _count(self, whole: int) -> int:
        count = round(self.amount * whole) if isinstance(self.amount, float) else int(self.amount)
        if count > whole:
            raise ValueError(f"amount={count} is more than the {whole} that can be pruned.")
        return count


class RandomUnstructured(_ByAmount):
    """Prunes elements at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return a mask with as many zeros as asked."""
        return _without_least(-rand_like(t), default_mask, self._count(t.numel()))


class L1Unstructured(_ByAmount):
    """Prunes the elements nearest to zero."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return a mask with as many zeros as asked."""
        return _without_least(ops.abs(t), default_mask, self._count(t.numel()))


def _without_least(scores: Tensor, mask: Tensor, count: int) -> Tensor:
    mask = mask.clone()
    if count:
        mask.view(-1)[topk(scores.reshape(-1), count, largest=False)[1]] = 0
    return mask


class _Structured(_ByAmount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return a mask in which as many slices as asked are zeros."""
        slices = t.shape[self.dim]
        kept = slices - self._count(slices)
        mask = zeros_like(t)
        where: list[Any] = [slice(None)] * t.ndim
        where[self.dim] = topk(self._scores(t), kept)[1]
        mask[tuple(where)] = 1
        return mask * default_mask.to(mask.dtype)


class RandomStructured(_Structured):
    """Prunes slices along a dimension at random."""

    def _scores(self, t: Tensor) -> Tensor:
        return ops.rand((t.shape[self.dim],))


class LnStructured(_Structured):
    """Prunes the slices along a dimension with the least norm."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Tensor) -> Tensor:
        others = tuple(i for i in range(t.ndim) if i != self.dim % t.ndim)
        return norm(t, self.n, dim=others)


class CustomFromMask(BasePruningMethod):
    """Prunes what a mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of both masks."""
        del t
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Register pruning of a parameter without pruning anything."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune elements of a parameter at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prune the elements of a parameter that are nearest to zero.

    Example:
        >>> import weft
        >>> from weft.nn.utils import prune
        >>> layer = prune.l1_unstructured(weft.nn.Linear(2, 3), "weight", amount=2)
        >>> int((layer.weight == 0).sum())
        2
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune slices of a parameter along a dimension at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: float,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the slices of a parameter along a dimension that have the least norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune what a mask says."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune elements of several parameters as if they were one.

    Args:
        parameters: pairs of a module and a name.
        pruning_method: a class of methods that prune single elements.
        importance_scores: what to prune by, for some of the pairs.
        kwargs: arguments of the method.
    """
    pairs = list(parameters)
    scores = importance_scores or {}
    tensors: list[Tensor] = [
        scores[pair].detach() if pair in scores else getattr(*pair).detach() for pair in pairs
    ]
    masks = [
        getattr(module, f"{name}_mask", None) if _hook_of(module, name)[1] else None
        for module, name in pairs
    ]
    known = [
        ones_like(tensor) if mask is None else mask
        for tensor, mask in zip(tensors, masks, strict=True)
    ]
    method: Any = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError("global_unstructured(): only methods for single elements can be global.")
    method._tensor_name = "temp"
    container = PruningContainer(method)
    flat = ops.cat([tensor.reshape(-1) for tensor in tensors])
    final = container.compute_mask(flat, ops.cat([mask.reshape(-1) for mask in known]))
    start = 0
    for (module, name), tensor in zip(pairs, tensors, strict=True):
        part = final[start : start + tensor.numel()].reshape(tensor.shape)
        start += tensor.numel()
        custom_from_mask(module, name, part)


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter an ordinary one again, with its zeros."""
    key, method = _hook_of(module, name)
    if method is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    method.remove(module)
    del _hooks(module)[key]
    return module


def is_pruned(module: Module) -> bool:
    """Tell whether a parameter of a module, or of one below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in _hooks(each).values()
    )


explain_missing(__name__)
