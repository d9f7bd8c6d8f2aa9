"""Recurrent cells, and the layers that run them over sequences.

A layer multiplies all steps by the input weights in one product; only the hidden part runs step by
step (see scan.py).
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any, NamedTuple

from weft import _core
from weft._core import Tensor
from weft.batching.cells import cell
from weft.functional.creation import empty
from weft.nn import functional as F
from weft.nn import init
from weft.nn.module import Module
from weft.nn.parameter import Parameter
from weft.nn.scan import GRUScan, LSTMScan, gru_plain, lstm_plain
from weft.nn.utils.rnn import PackedSequence

ops = _core.ops

MOST_LAYERS = 10_000  # more are surely a mistake, and would take hours to make


def _sum(bias_ih: Any, bias_hh: Any) -> Any:
    # Added first: the two biases then share one sum over the batch in backward.
    return None if bias_ih is None else bias_ih + bias_hh


class _Recurrent(Module):
    """What cells and layers share: how parameters are drawn."""

    hidden_size: int

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)


class RNNCellBase(_Recurrent):
    """Base class of the recurrent cells: their sizes and parameters.

    Example:
        >>> from weft import nn
        >>> isinstance(nn.GRUCell(4, 8), nn.RNNCellBase)
        True
    """

    gate_count: int
    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        width = self.gate_count * hidden_size
        self.weight_ih = Parameter(empty((width, input_size), dtype=dtype, device=device))
        self.weight_hh = Parameter(empty((width, hidden_size), dtype=dtype, device=device))
        for name in ("bias_ih", "bias_hh"):
            given = Parameter(empty((width,), dtype=dtype, device=device)) if bias else None
            self.register_parameter(name, given)
        self.reset_parameters()

    def _start(self, input: Tensor) -> Tensor:
        if input.ndim > 2:
            self._refuse(input)
        return input.new_zeros((*input.shape[:-1], self.hidden_size))

    def _checked(self, input: Tensor, state: Tensor) -> Tensor:
        """Refuse a state that would be stretched over the batch, or stretch the batch."""
        if input.ndim > 2:
            self._refuse(input)
        if state.shape != (*input.shape[:-1], self.hidden_size):
            raise _core.ShapeError(
                f"{type(self).__name__}(): hx must have the input's batch and hidden_size "
                f"{self.hidden_size}; it is {tuple(state.shape)}, input is {tuple(input.shape)}."
            )
        return state

    def _refuse(self, input: Tensor) -> None:
        raise _core.ShapeError(
            f"{type(self).__name__}(): input must be (batch, input_size) or (input_size,); it is "
            f"{tuple(input.shape)}."
        )

    def extra_repr(self) -> str:
        """Say the sizes."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(RNNCellBase):
    """Run one step of a plain recurrent network.

    Args:
        input_size: size of an input.
        hidden_size: size of the hidden state.
        bias: whether there are biases.
        nonlinearity: "tanh" or "relu".
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> cell = nn.RNNCell(4, 8)
        >>> hidden = weft.zeros(2, 8)
        >>> for step in weft.zeros(5, 2, 4):
        ...     hidden = cell(step, hidden)
        >>> hidden.shape
        weft.Size([2, 8])
    """

    gate_count = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = _checked_nonlinearity(nonlinearity)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next hidden state."""
        hidden = self._start(input) if hx is None else self._checked(input, hx)
        gates = ops.linear(input, self.weight_ih, _sum(self.bias_ih, self.bias_hh)) + ops.linear(
            hidden, self.weight_hh
        )
        return ops.tanh(gates) if self.nonlinearity == "tanh" else ops.relu(gates)

    def extra_repr(self) -> str:
        """Say the sizes."""
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity={self.nonlinearity}"


@cell
class LSTMCell(RNNCellBase):
    """Run one step of a long short-term memory.

    Args:
        input_size: size of an input.
        hidden_size: size of the hidden state and of the cell.
        bias: whether there are biases.
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> cell = weft.nn.LSTMCell(4, 3)
        >>> hidden, memory = cell(weft.zeros(2, 4))
        >>> hidden.shape, memory.shape
        (weft.Size([2, 3]), weft.Size([2, 3]))
    """

    gate_count = 4

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the next hidden state and cell."""
        if hx is None:
            hidden = memory = self._start(input)
        else:
            hidden, memory = (self._checked(input, state) for state in hx)
        gates = ops.linear(input, self.weight_ih, _sum(self.bias_ih, self.bias_hh)) + ops.linear(
            hidden, self.weight_hh
        )
        return ops.lstm_gates(gates, memory)


@cell
class GRUCell(RNNCellBase):
    """Run one step of a gated recurrent unit.

    Args:
        input_size: size of an input.
        hidden_size: size of the hidden state.
        bias: whether there are biases.
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.GRUCell(4, 8)(weft.zeros(2, 4), weft.zeros(2, 8)).shape
        weft.Size([2, 8])
    """

    gate_count = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next hidden state."""
        hidden = self._start(input) if hx is None else self._checked(input, hx)
        return ops.gru_gates(
            ops.linear(input, self.weight_ih, self.bias_ih),
            ops.linear(hidden, self.weight_hh, self.bias_hh),
            hidden,
        )


def _checked_nonlinearity(name: str) -> str:
    if name not in ("tanh", "relu"):
        raise ValueError(f"nonlinearity must be 'tanh' or 'relu', not {name!r}.")
    return name


class _Span(NamedTuple):
    """Steps of packed sequences that as many sequences have."""

    start: int  # the first row
    steps: int
    batch: int


def _spans(counts: list[int]) -> list[_Span]:
    found: list[_Span] = []
    row = 0
    for batch, group in groupby(counts):
        steps = len(list(group))
        found.append(_Span(row, steps, batch))
        row += steps * batch
    return found


class RNNBase(_Recurrent):
    """Layers of one kind of cell, forward and backward in time, run over whole sequences.

    Example:
        >>> from weft import nn
        >>> isinstance(nn.GRU(4, 8), nn.RNNBase)
        True
    """

    gate_count: int
    has_memory = False

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if proj_size:
            raise _core.UnsupportedError(f"{name}(): proj_size is not supported; use a Linear.")
        if not 0.0 <= dropout <= 1.0:
            raise ValueError(f"{name}(): dropout must be between 0 and 1; dropout is {dropout}.")
        if hidden_size <= 0 or not 0 < num_layers <= MOST_LAYERS:
            raise ValueError(
                f"{name}(): hidden_size must be positive and num_layers from 1 to {MOST_LAYERS}; "
                f"hidden_size is {hidden_size}, num_layers is {num_layers}."
            )
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        width = self.gate_count * hidden_size
        directions = ("", "_reverse") if bidirectional else ("",)
        for layer in range(num_layers):
            depth = input_size if layer == 0 else hidden_size * len(directions)
            for direction in directions:
                sizes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (width, depth),
                    "weight_hh": (width, hidden_size),
                }
                if bias:
                    sizes |= {"bias_ih": (width,), "bias_hh": (width,)}
                for kind, size in sizes.items():
                    given = Parameter(empty(size, dtype=dtype, device=device))
                    self.register_parameter(f"{kind}_l{layer}{direction}", given)
        self.reset_parameters()

    @property
    def _direction_count(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """Return the parameters, one list for each layer and direction."""
        each = 4 if self.bias else 2
        flat = list(self.parameters())
        return [flat[i : i + each] for i in range(0, len(flat), each)]

    def flatten_parameters(self) -> None:
        """Do nothing: there is no other layout in memory to choose.

        Example:
            >>> from weft import nn
            >>> nn.LSTM(4, 8).flatten_parameters()
        """

    def _scan(
        self,
        sequence: Tensor,
        hidden: Tensor,
        memory: Tensor | None,
        weights: list[Any],
        reverse: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Run one layer in one direction.

        Returns the hidden states (steps, batch, size) in the order they were run, and the last
        memory if there is one.
        """
        raise NotImplementedError

    def _run(
        self, input: Tensor, hidden: Tensor | None, memory: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        if input.dim() not in (2, 3):
            raise _core.ShapeError(
                f"{type(self).__name__}: input must have 2 or 3 dimensions; input is "
                f"{tuple(input.shape)}."
            )
        alone = input.dim() == 2
        if alone:
            input = input.unsqueeze(1)
            hidden = None if hidden is None else hidden.unsqueeze(1)
            memory = None if memory is None else memory.unsqueeze(1)
        elif self.batch_first:
            input = input.transpose(0, 1)
        steps, batch, depth = input.shape
        if depth != self.input_size:
            raise _core.ShapeError(
                f"{type(self).__name__}: input's last size must equal input_size; input is "
                f"{tuple(input.shape)}, input_size is {self.input_size}."
            )
        if steps == 0:
            raise _core.ShapeError(f"{type(self).__name__}: input must have at least one step.")
        first_hidden = self._first_states(input, hidden, "hx", batch)
        first_memory = self._first_states(input, memory, "cx", batch) if self.has_memory else None

        last_hidden: list[Tensor] = []
        last_memory: list[Tensor] = []
        place = 0
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                input = F.dropout(input, self.dropout, True)
            outputs: list[Tensor] = []
            for direction in range(self._direction_count):
                states, final = self._scan(
                    input,
                    first_hidden[place],
                    first_memory[place] if first_memory else None,
                    self.all_weights[place],
                    direction == 1,
                )
                last_hidden.append(ops.select(states, 0, -1))
                if final is not None:
                    last_memory.append(final)
                outputs.append(ops.flip(states, 0) if direction else states)
                place += 1
            input = outputs[0] if len(outputs) == 1 else ops.cat(outputs, -1)

        result = input
        hidden_n = ops.stack(last_hidden, 0)
        memory_n = ops.stack(last_memory, 0) if last_memory else None
        if alone:
            result, hidden_n = result.squeeze(1), hidden_n.squeeze(1)
            memory_n = None if memory_n is None else memory_n.squeeze(1)
        elif self.batch_first:
            result = result.transpose(0, 1)
        return result, hidden_n, memory_n

    def _run_packed(
        self, packed: PackedSequence, hidden: Tensor | None, memory: Tensor | None
    ) -> tuple[PackedSequence, Tensor, Tensor | None]:
        """Run over sequences of different lengths, all steps of which are there."""
        spans = _spans([int(count) for count in packed.batch_sizes.tolist()])
        batch = spans[0].batch
        if packed.sorted_indices is not None:
            hidden = None if hidden is None else ops.index_select(hidden, 1, packed.sorted_indices)
            memory = None if memory is None else ops.index_select(memory, 1, packed.sorted_indices)
        data = packed.data
        first_hidden = self._first_states(data, hidden, "hx", batch)
        first_memory = self._first_states(data, memory, "cx", batch) if self.has_memory else None
        last_hidden: list[Tensor] = []
        last_memory: list[Tensor] = []
        place = 0
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                data = F.dropout(data, self.dropout, True)
            outputs: list[Tensor] = []
            for direction in range(self._direction_count):
                states, final, kept = self._run_spans(
                    data,
                    spans,
                    first_hidden[place],
                    first_memory[place] if first_memory else None,
                    self.all_weights[place],
                    direction == 1,
                )
                outputs.append(states)
                last_hidden.append(final)
                if kept is not None:
                    last_memory.append(kept)
                place += 1
            data = outputs[0] if len(outputs) == 1 else ops.cat(outputs, -1)
        hidden_n = ops.stack(last_hidden, 0)
        memory_n = ops.stack(last_memory, 0) if last_memory else None
        if packed.unsorted_indices is not None:
            back = packed.unsorted_indices
            hidden_n = ops.index_select(hidden_n, 1, back)
            memory_n = None if memory_n is None else ops.index_select(memory_n, 1, back)
        return packed._replace(data=data), hidden_n, memory_n

    def _run_spans(
        self,
        data: Tensor,
        spans: list[_Span],
        hidden: Tensor,
        memory: Tensor | None,
        weights: list[Any],
        reverse: bool,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Run one layer in one direction, span by span.

        Returns the states in the order of `data`, the last ones of each sequence, and the last
        memories if there are any.
        """
        outputs: list[Tensor] = []
        ended_hidden: list[Tensor] = []
        ended_memory: list[Tensor] = []
        first_hidden, first_memory = hidden, memory
        before = spans[0].batch if not reverse else 0
        for span in reversed(spans) if reverse else spans:
            if span.batch < before:  # going forward, the shortest sequences end
                ended_hidden.append(ops.slice(hidden, 0, span.batch, before))
                hidden = ops.slice(hidden, 0, 0, span.batch)
                if memory is not None:
                    ended_memory.append(ops.slice(memory, 0, span.batch, before))
                    memory = ops.slice(memory, 0, 0, span.batch)
            elif reverse:  # going back, they begin
                fresh = ops.slice(first_hidden, 0, before, span.batch)
                hidden = ops.cat([hidden, fresh], 0) if before else fresh
                if memory is not None and first_memory is not None:
                    fresh = ops.slice(first_memory, 0, before, span.batch)
                    memory = ops.cat([memory, fresh], 0) if before else fresh
            before = span.batch
            part = ops.slice(data, 0, span.start, span.start + span.steps * span.batch)
            steps = part.reshape(span.steps, span.batch, part.shape[-1])
            states, memory = self._scan(steps, hidden, memory, weights, reverse)
            hidden = ops.select(states, 0, -1)
            states = ops.flip(states, 0) if reverse else states
            outputs.append(states.reshape(span.steps * span.batch, states.shape[-1]))
        ended_hidden.append(hidden)
        if memory is not None:
            ended_memory.append(memory)
        states = ops.cat(outputs[::-1] if reverse else outputs, 0)
        final = ops.cat(ended_hidden[::-1], 0)
        return states, final, (ops.cat(ended_memory[::-1], 0) if ended_memory else None)

    def _first_states(
        self, input: Tensor, given: Tensor | None, name: str, batch: int
    ) -> tuple[Tensor, ...]:
        count = self.num_layers * self._direction_count
        if given is None:
            return (input.new_zeros((batch, self.hidden_size)),) * count
        wanted = (count, batch, self.hidden_size)
        if tuple(given.shape) != wanted:
            raise _core.ShapeError(
                f"{type(self).__name__}: {name} must be {wanted}; {name} is {tuple(given.shape)}."
            )
        return tuple(given.unbind(0))

    def _settings(self) -> dict[str, Any]:
        """Name the settings that the module's text may show, with their defaults."""
        return {
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
        }

    def extra_repr(self) -> str:
        """Say the sizes and what differs from the defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in self._settings().items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text


def _split(weights: list[Any]) -> tuple[Any, Any, Any, Any]:
    """Return the weights and biases of one direction; biases may be None."""
    if len(weights) == 2:
        return weights[0], weights[1], None, None
    return weights[0], weights[1], weights[2], weights[3]


def _input_gates(sequence: Tensor, weight: Tensor, bias: Tensor | None, reverse: bool) -> Tensor:
    """Multiply all steps by the input weight at once, in the order they are run."""
    return ops.linear(ops.flip(sequence, 0) if reverse else sequence, weight, bias)


class RNN(RNNBase):
    """Run a plain recurrent network over sequences.

    Args:
        input_size: size of an input.
        hidden_size: size of the hidden state.
        num_layers: how many layers stand above one another.
        nonlinearity: "tanh" or "relu".
        bias: whether there are biases.
        batch_first: whether the batch comes before the steps.
        dropout: the probability of dropping elements between layers.
        bidirectional: whether a second run goes from the end to the beginning.
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> output, hidden = nn.RNN(4, 8, nonlinearity="relu")(weft.zeros(5, 2, 4))
        >>> output.shape, hidden.shape
        (weft.Size([5, 2, 8]), weft.Size([1, 2, 8]))
    """

    gate_count = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )
        self.nonlinearity = _checked_nonlinearity(nonlinearity)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """Return the hidden states of the last layer at all steps, and the last ones of all."""
        run: Any = self._run_packed if isinstance(input, PackedSequence) else self._run
        output, hidden, _ = run(input, hx, None)
        return output, hidden

    def _scan(
        self,
        sequence: Tensor,
        hidden: Tensor,
        memory: Tensor | None,
        weights: list[Any],
        reverse: bool,
    ) -> tuple[Tensor, Tensor | None]:
        weight_ih, weight_hh, bias_ih, bias_hh = _split(weights)
        bias = _sum(bias_ih, bias_hh)
        bend = ops.tanh if self.nonlinearity == "tanh" else ops.relu
        states: list[Tensor] = []
        for step in ops.unbind(_input_gates(sequence, weight_ih, bias, reverse), 0):
            hidden = bend(step + ops.linear(hidden, weight_hh))
            states.append(hidden)
        return ops.stack(states, 0), memory


class LSTM(RNNBase):
    """Run a long short-term memory over sequences.

    Args:
        input_size: size of an input.
        hidden_size: size of the hidden state and of the cell.
        num_layers: how many layers stand above one another.
        bias: whether there are biases.
        batch_first: whether the batch comes before the steps.
        dropout: the probability of dropping elements between layers.
        bidirectional: whether a second run goes from the end to the beginning.
        proj_size: only 0.
        device: only "cpu".
        dtype: of the parameters.

    Example:
        >>> import weft
        >>> output, (hidden, memory) = weft.nn.LSTM(4, 3)(weft.zeros(5, 2, 4))
        >>> output.shape, hidden.shape
        (weft.Size([5, 2, 3]), weft.Size([1, 2, 3]))
    """

    gate_count = 4
    has_memory = True

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        """Return the hidden states of the last layer at all steps, and the last states of all."""
        hidden, memory = (None, None) if hx is None else hx
        run: Any = self._run_packed if isinstance(input, PackedSequence) else self._run
        output, hidden_n, memory_n = run(input, hidden, memory)
        assert memory_n is not None
        return output, (hidden_n, memory_n)

    def _scan(
        self,
        sequence: Tensor,
        hidden: Tensor,
        memory: Tensor | None,
        weights: list[Any],
        reverse: bool,
    ) -> tuple[Tensor, Tensor | None]:
        weight_ih, weight_hh, bias_ih, bias_hh = _split(weights)
        bias = _sum(bias_ih, bias_hh)
        gates = _input_gates(sequence, weight_ih, bias, reverse)
        assert memory is not None
        run = LSTMScan.apply if _core.is_grad_enabled() else lstm_plain
        return run(gates, hidden, memory, weight_hh)


class GRU(RNNBase):
    """Run a gated recurrent unit over sequences; arguments as for LSTM.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> output, hidden = nn.GRU(4, 8, bidirectional=True, batch_first=True)(weft.zeros(2, 5, 4))
        >>> output.shape, hidden.shape
        (weft.Size([2, 5, 16]), weft.Size([2, 2, 8]))
    """

    gate_count = 3

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """Return the hidden states of the last layer at all steps, and the last ones of all."""
        run: Any = self._run_packed if isinstance(input, PackedSequence) else self._run
        output, hidden, _ = run(input, hx, None)
        return output, hidden

    def _scan(
        self,
        sequence: Tensor,
        hidden: Tensor,
        memory: Tensor | None,
        weights: list[Any],
        reverse: bool,
    ) -> tuple[Tensor, Tensor | None]:
        weight_ih, weight_hh, bias_ih, bias_hh = _split(weights)
        gates = _input_gates(sequence, weight_ih, bias_ih, reverse)
        run = GRUScan.apply if _core.is_grad_enabled() else gru_plain
        return run(gates, hidden, weight_hh, bias_hh), memory
