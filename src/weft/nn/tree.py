"""Cells for trees: children's states in, the parent's state out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from weft import _core
from weft._core import Tensor
from weft.batching.cells import cell
from weft.nn import init
from weft.nn.linear import Linear
from weft.nn.module import Module

ops = _core.ops

State = tuple[Tensor, Tensor]


@cell
class TreeLSTMCell(Module):
    """Compute the state of a tree's node from those of its children.

    A binary node has a forget gate for each child, with weights of its own: the rows of the
    weights are those of the input gate, both forget gates, the new memory and the output gate. A
    child-sum node adds up its children's hidden states and has any number of them. A node without
    children is a leaf: what it would get from them is zero.

    Args:
        input_size: size of a node's own input; 0 if nodes have none.
        hidden_size: size of the hidden state and of the memory.
        child_sum: whether the order of children does not matter.

    Example:
        >>> import weft
        >>> cell = weft.nn.TreeLSTMCell(0, 3)
        >>> leaf = (weft.zeros(3), weft.zeros(3))
        >>> hidden, memory = cell(None, (leaf, leaf))
        >>> hidden.shape
        weft.Size([3])
    """

    def __init__(self, input_size: int, hidden_size: int, child_sum: bool = False) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.child_sum = child_sum
        gates = 4 if child_sum else 5
        self.input_gates = Linear(input_size, gates * hidden_size) if input_size else None
        if child_sum:
            self.state_gates = Linear(hidden_size, 3 * hidden_size)
            self.forget_gate = Linear(hidden_size, hidden_size)
        else:
            self.state_gates = Linear(2 * hidden_size, 5 * hidden_size)
        bound = 1 / math.sqrt(hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input: Tensor | None, children: Sequence[State] = ()) -> State:
        """Return the node's hidden state and memory."""
        self._check(input, len(children))
        own = None if self.input_gates is None or input is None else self.input_gates(input)
        if own is not None and not children:
            return self._leaf(own)
        return self._child_sum(own, children) if self.child_sum else self._binary(own, children)

    def _check(self, input: Tensor | None, count: int) -> None:
        if (input is None) != (self.input_gates is None):
            has = f"an input of size {self.input_size}" if self.input_gates else "no input"
            raise ValueError(f"TreeLSTMCell(input_size={self.input_size}): its nodes have {has}")
        if count == 0 and self.input_gates is None:
            raise ValueError("TreeLSTMCell(input_size=0): a node needs children")
        if count not in (0, 2) and not self.child_sum:
            raise ValueError(f"TreeLSTMCell: a binary node has two children or none, not {count}")

    def _leaf(self, own: Tensor) -> State:
        size = self.hidden_size
        bias = cast("Tensor", self.state_gates.bias)
        if not self.child_sum:
            return ops.lstm_gates(own + bias, ops.zeros_like(own[..., : 2 * size]))
        gates = own[..., : 3 * size] + bias
        i, o = gates[..., : 2 * size].sigmoid().split(size, -1)
        memory = i * gates[..., 2 * size :].tanh()
        return o * memory.tanh(), memory

    def _binary(self, own: Tensor | None, children: Sequence[State]) -> State:
        (left, left_memory), (right, right_memory) = children
        gates = self.state_gates(ops.cat([left, right], -1))
        if own is not None:
            gates = gates + own
        return ops.lstm_gates(gates, ops.cat([left_memory, right_memory], -1))

    def _child_sum(self, own: Tensor | None, children: Sequence[State]) -> State:
        size = self.hidden_size
        hidden = children[0][0]
        for child, _ in children[1:]:
            hidden = hidden + child
        gates = self.state_gates(hidden)
        if own is not None:
            gates = gates + own[..., : 3 * size]
        i, o = gates[..., : 2 * size].sigmoid().split(size, -1)
        memory = i * gates[..., 2 * size :].tanh()
        for child, child_memory in children:
            forget = self.forget_gate(child)
            if own is not None:
                forget = forget + own[..., 3 * size :]
            memory = memory + forget.sigmoid() * child_memory
        return o * memory.tanh(), memory

    def extra_repr(self) -> str:
        """Say the sizes."""
        kind = ", child_sum=True" if self.child_sum else ""
        return f"{self.input_size}, {self.hidden_size}{kind}"
