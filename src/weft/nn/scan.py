"""Run recurrent cells over a whole sequence as one node of the graph.

Backward goes over the steps once and multiplies for the hidden weight's gradient at the end, all
steps together; a graph of single steps would make and add one matrix a step. Under `create_graph`
backward differentiates the plain steps instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from weft import _core, autograd
from weft._core import Tensor
from weft.autograd import Function

ops = _core.ops

States: TypeAlias = list[Tensor]


def _transposed(weight: Tensor) -> Tensor:
    # A copy: products with few rows run faster over it, and all steps share it.
    return ops.contiguous(ops.t(weight))


def lstm_steps(
    gates: Tensor, hidden: Tensor, memory: Tensor, weight: Tensor
) -> tuple[States, States, States]:
    """Run the steps of an LSTM; the gates' input part (steps, batch, 4 * size) is given.

    Returns:
        The gates, the hidden states and the memories of all steps.
    """
    transposed = _transposed(weight)
    before: States = []
    hiddens: States = []
    memories: States = []
    for step in ops.unbind(gates, 0):
        step = ops.addmm(step, hidden, transposed)
        hidden, memory = ops.lstm_gates(step, memory)
        before.append(step)
        hiddens.append(hidden)
        memories.append(memory)
    return before, hiddens, memories


def lstm_plain(gates: Tensor, hidden: Tensor, memory: Tensor, weight: Tensor) -> Any:
    """Return the hidden states of all steps and the last memory, step by step."""
    _, hiddens, memories = lstm_steps(gates, hidden, memory, weight)
    return ops.stack(hiddens, 0), memories[-1]


def gru_steps(
    gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[States, States]:
    """Run the steps of a GRU; the gates' input part (steps, batch, 3 * size) is given.

    Returns:
        The gates' hidden parts and the hidden states of all steps.
    """
    transposed = _transposed(weight)
    from_hidden: States = []
    hiddens: States = []
    for step in ops.unbind(gates, 0):
        part = ops.mm(hidden, transposed)
        if bias is not None:
            part = ops.add(part, bias)
        hidden = ops.gru_gates(step, part, hidden)
        from_hidden.append(part)
        hiddens.append(hidden)
    return from_hidden, hiddens


def gru_plain(gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """Return the hidden states of all steps, step by step."""
    return ops.stack(gru_steps(gates, hidden, weight, bias)[1], 0)


def _weight_gradient(of_gates: Tensor, first: Tensor, outputs: Tensor) -> Tensor:
    """Multiply the gradients of the gates with the hidden states that went into them."""
    previous = ops.cat([ops.unsqueeze(first, 0), ops.slice(outputs, 0, 0, -1)], 0)
    rows = of_gates.shape[0] * of_gates.shape[1]
    return ops.mm(ops.t(of_gates.reshape(rows, -1)), previous.reshape(rows, -1))


def _again(
    plain: Callable[..., Any], inputs: tuple[Any, ...], wanted: tuple[bool, ...], grads: Any
) -> tuple[Any, ...]:
    """Differentiate the plain steps, so that their gradients have gradients."""
    results = plain(*inputs)
    outputs = (results,) if isinstance(results, Tensor) else results
    pairs = [
        (output, grad) for output, grad in zip(outputs, grads, strict=True) if grad is not None
    ]
    chosen = [item for item, want in zip(inputs, wanted, strict=True) if want]
    found = iter(
        autograd.grad(
            [output for output, _ in pairs],
            chosen,
            [grad for _, grad in pairs],
            create_graph=True,
            allow_unused=True,
        )
    )
    return tuple(next(found) if want else None for want in wanted)


class LSTMScan(Function):
    """Hidden states of all steps and the last memory of an LSTM."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, hidden: Tensor, memory: Tensor, weight: Tensor) -> Any:
        """Run all steps and keep what backward needs."""
        before, hiddens, memories = lstm_steps(gates, hidden, memory, weight)
        outputs = ops.stack(hiddens, 0)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(gates, hidden, memory, weight, outputs, *before, *memories)
        return outputs, memories[-1].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Go back over the steps."""
        gates, hidden, memory, weight, outputs, *rest = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        if _core.is_grad_enabled():
            return _again(lstm_plain, (gates, hidden, memory, weight), wanted, grads)
        count = gates.shape[0]
        before, memories = rest[:count], [memory, *rest[count:]]
        of_outputs = ops.zeros_like(outputs) if grads[0] is None else grads[0]
        of_output = ops.unbind(of_outputs, 0)
        of_hidden, of_memory = of_output[-1], grads[1]
        of_gates: list[Any] = [None] * count
        for i in range(count - 1, -1, -1):
            of_step, of_memory = ops.lstm_gates_backward(
                before[i], memories[i], memories[i + 1], of_hidden, of_memory
            )
            of_gates[i] = of_step
            if i:
                of_hidden = ops.addmm(of_output[i - 1], of_step, weight)
        all_gates = ops.stack(of_gates, 0)
        return (
            all_gates,
            ops.mm(of_gates[0], weight) if wanted[1] else None,
            of_memory,
            _weight_gradient(all_gates, hidden, outputs) if wanted[3] else None,
        )


class GRUScan(Function):
    """Hidden states of all steps of a GRU."""

    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Any:
        """Run all steps and keep what backward needs."""
        from_hidden, hiddens = gru_steps(gates, hidden, weight, bias)
        outputs = ops.stack(hiddens, 0)
        ctx.save_for_backward(gates, hidden, weight, bias, outputs, *from_hidden)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Go back over the steps."""
        gates, hidden, weight, bias, outputs, *from_hidden = ctx.saved_tensors
        wanted = ctx.needs_input_grad
        if _core.is_grad_enabled():
            return _again(gru_plain, (gates, hidden, weight, bias), wanted, grads)
        steps, of_output = ops.unbind(gates, 0), ops.unbind(grads[0], 0)
        previous = [hidden, *ops.unbind(outputs, 0)]
        of_hidden = of_output[-1]
        of_gates: list[Any] = [None] * len(steps)
        of_parts: list[Any] = [None] * len(steps)
        for i in range(len(steps) - 1, -1, -1):
            of_gates[i], of_parts[i], direct = ops.gru_gates_backward(
                of_hidden, steps[i], from_hidden[i], previous[i]
            )
            if i:
                direct = ops.add(direct, of_output[i - 1])
            of_hidden = ops.addmm(direct, of_parts[i], weight)
        all_parts = ops.stack(of_parts, 0)
        return (
            ops.stack(of_gates, 0),
            of_hidden,
            _weight_gradient(all_parts, hidden, outputs) if wanted[2] else None,
            ops.sum(all_parts, [0, 1]) if bias is not None and wanted[3] else None,
        )
