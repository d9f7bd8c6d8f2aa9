"""Differentiation: backward, grad, user-written functions, and checks of gradients."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from weft import _core
from weft._core import Node
from weft._missing import MissingName
from weft._tensor import Tensor
from weft._vmap import vmap
from weft.autograd import functional, graph
from weft.autograd.function import Function
from weft.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from weft.autograd.gradcheck import gradcheck, gradgradcheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    # They watch a run, so they stand above this layer; found when first used.
    from weft.debug.anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly

__all__ = [
    "Function",
    "Node",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]


def __getattr__(name: str) -> Any:
    if name in {"detect_anomaly", "is_anomaly_enabled", "set_detect_anomaly"}:
        return getattr(import_module("weft.debug.anomaly"), name)
    raise MissingName(sys.modules[__name__], name)


def _as_tuple(given: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    return (given,) if isinstance(given, Tensor) else tuple(given)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Accumulate the gradients of tensors into `.grad` of the leaves of their graph.

    Args:
        tensors: What to differentiate.
        grad_tensors: Their gradients; None for tensors of one element.
        retain_graph: Keep what was saved, so that backward can run again.
        create_graph: Record backward itself, for higher derivatives.
        inputs: Accumulate only into these, which may be results too.

    Example:
        >>> import weft
        >>> x = weft.ones(2, requires_grad=True)
        >>> weft.autograd.backward([x.sum(), (x * x).sum()])
        >>> x.grad
        tensor([3., 3.])
    """
    roots = _as_tuple(tensors)
    if grad_tensors is None:
        gradients: tuple[Tensor | None, ...] = (None,) * len(roots)
    else:
        gradients = (grad_tensors,) if isinstance(grad_tensors, Tensor) else tuple(grad_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    wanted = None if inputs is None else _as_tuple(inputs)
    if wanted is not None and not wanted:
        raise RuntimeError("'inputs' argument to backward() cannot be empty.")
    _core.run_backward(roots, gradients, wanted, keep, create_graph, True)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """Return the gradients of outputs with respect to inputs, without touching any `.grad`.

    Args:
        outputs: What to differentiate.
        inputs: With respect to what: leaves or results.
        grad_outputs: Gradients of the outputs; None for outputs of one element.
        retain_graph: Keep what was saved, so that it can run again; by default as create_graph.
        create_graph: Record backward itself, for higher derivatives.
        only_inputs: Only True: `backward` accumulates into leaves.
        allow_unused: Return None for inputs that the outputs do not depend on instead of raising.
        is_grads_batched: The gradients of the outputs have a first dimension more, along which lie
            several of them; so have the results.
        materialize_grads: Return zeros instead of None for unused inputs.

    Returns:
        One gradient per input.

    Raises:
        RuntimeError: If an input was not used, and neither allow_unused nor materialize_grads is
            set.

    Example:
        >>> import weft
        >>> x = weft.tensor(3.0, requires_grad=True)
        >>> weft.autograd.grad(x * x, x)
        (tensor(6.),)
    """
    if not only_inputs:
        raise _core.UnsupportedError("grad(): only_inputs must be True; backward() accumulates")
    roots, wanted = _as_tuple(outputs), _as_tuple(inputs)
    if grad_outputs is None:
        gradients: tuple[Tensor | None, ...] = (None,) * len(roots)
    else:
        gradients = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        results = _batched(roots, gradients, wanted, create_graph)
    else:
        results = _core.run_backward(roots, gradients, wanted, keep, create_graph, False)
    if materialize_grads:
        return tuple(
            _core.ops.zeros(list(given.shape), dtype=given.dtype) if result is None else result
            for result, given in zip(results, wanted, strict=True)
        )
    if not allow_unused:
        for number, result in enumerate(results):
            if result is None:
                raise _core.GradientError(
                    f"One of the differentiated Tensors appears to not have been used in the graph "
                    f"(input {number}, of shape {tuple(wanted[number].shape)}). Set "
                    f"allow_unused=True if this is the desired behavior."
                )
    return results


def _batched(
    roots: tuple[Tensor, ...],
    gradients: tuple[Tensor | None, ...],
    wanted: tuple[Tensor, ...],
    create_graph: bool,
) -> tuple[Any, ...]:
    """Run backward once for all gradients; inputs that were not used get None."""
    used: list[bool] = []

    def pull(*given: Tensor | None) -> list[Tensor]:
        results = _core.run_backward(roots, given, wanted, True, create_graph, False)
        used.extend(result is not None for result in results)
        return [result for result in results if result is not None]

    found = iter(vmap(pull, in_dims=tuple(None if x is None else 0 for x in gradients))(*gradients))
    return tuple(next(found) if is_used else None for is_used in used)
