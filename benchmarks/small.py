"""Small work, where the time is all overhead: one op, chains, an agent's step, cells."""

from __future__ import annotations

import importlib
import importlib.util
from itertools import repeat
from typing import Any

import numpy as np

from benchmarks.measure import Loop, Row, Settings, take_turns

CHAIN_LENGTH = 10
SEQUENCE_LENGTH = 20
HIDDEN = 64


def recorded_op(library: Any) -> Loop:
    """One multiplication of 8 floats that is recorded for backward, and freed."""
    x = library.ones(8, requires_grad=True)
    y = library.ones(8)

    def loop(count: int) -> None:
        for _ in repeat(None, count):
            x * y

    return loop


def unrecorded_op(library: Any) -> Loop:
    """One multiplication of 8 floats that needs no gradient."""
    x = library.ones(8)
    y = library.ones(8)

    def loop(count: int) -> None:
        for _ in repeat(None, count):
            x * y

    return loop


def chain(library: Any) -> Loop:
    """Ten times (mul, tanh) on 8 floats, sum, backward."""
    x = library.linspace(-1.0, 1.0, 8).requires_grad_()
    y = library.linspace(0.5, 1.5, 8)

    def loop(count: int) -> None:
        for _ in repeat(None, count):
            h = x
            for _ in range(CHAIN_LENGTH):
                h = (h * y).tanh()
            x.grad = None
            h.sum().backward()

    return loop


def chain_jax() -> Loop:
    """The same chain under jax.jit, which compiles it once."""
    import jax
    import jax.numpy as jnp

    y = jnp.linspace(0.5, 1.5, 8)

    def loss(x: Any) -> Any:
        for _ in range(CHAIN_LENGTH):
            x = jnp.tanh(x * y)
        return x.sum()

    x = jnp.linspace(-1.0, 1.0, 8)
    compiled = jax.jit(jax.value_and_grad(loss))

    def loop(count: int) -> None:
        for _ in repeat(None, count):
            compiled(x)[1].block_until_ready()

    return loop


def mlp(library: Any) -> Any:
    """The network of the two cases below: 4-64-64-2 with tanh."""
    nn = library.nn
    return nn.Sequential(
        nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)
    )


def act(library: Any) -> Loop:
    """An agent's decision: from_numpy, MLP at batch 1, softmax, multinomial, item."""
    model = mlp(library)
    observation = np.linspace(-1, 1, 4, dtype=np.float32).reshape(1, 4)

    def loop(count: int) -> None:
        for _ in repeat(None, count):
            scores = model(library.from_numpy(observation))
            library.multinomial(library.softmax(scores, dim=-1), 1).item()

    return loop


def adam_step(library: Any) -> Loop:
    """A training step of that MLP at batch 32 with Adam, PyTorch's fused."""
    model = mlp(library)
    cross_entropy = library.nn.functional.cross_entropy
    optimizer = library.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    generator = np.random.default_rng(0)
    inputs = library.from_numpy(generator.standard_normal((32, 4), dtype=np.float32))
    labels = library.from_numpy(generator.integers(0, 2, 32))

    def loop(count: int) -> None:
        for _ in repeat(None, count):
            loss = cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return loop


def sequence(library: Any) -> Any:
    """Twenty inputs of one example."""
    generator = np.random.default_rng(0)
    numbers = generator.standard_normal((SEQUENCE_LENGTH, 1, HIDDEN), dtype=np.float32)
    return library.from_numpy(numbers)


def lstm_cells(library: Any) -> Loop:
    """Twenty steps of LSTMCell(64), forward and backward."""
    cell = library.nn.LSTMCell(HIDDEN, HIDDEN)
    inputs = sequence(library)

    def loop(count: int) -> None:
        for _ in repeat(None, count):
            hidden = memory = library.zeros(1, HIDDEN)
            for i in range(SEQUENCE_LENGTH):
                hidden, memory = cell(inputs[i], (hidden, memory))
            cell.zero_grad()
            hidden.sum().backward()

    return loop


def lstm_layer(library: Any) -> Loop:
    """The same twenty steps by nn.LSTM, which sees all of them at once."""
    layer = library.nn.LSTM(HIDDEN, HIDDEN)
    inputs = sequence(library)

    def loop(count: int) -> None:
        for _ in repeat(None, count):
            _, (hidden, _) = layer(inputs)
            layer.zero_grad()
            hidden.sum().backward()

    return loop


def per_example_gradients(library: Any) -> Loop:
    """A gradient of that MLP for each of 64 examples, by vmap of grad."""
    func = importlib.import_module(f"{library.__name__}.func")
    model = mlp(library)
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}
    generator = np.random.default_rng(0)
    inputs = library.from_numpy(generator.standard_normal((64, 4), dtype=np.float32))
    labels = library.from_numpy(generator.integers(0, 2, 64))

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        scores = func.functional_call(model, parameters, (x[None],))
        return library.nn.functional.cross_entropy(scores, y[None])

    gradients = func.vmap(func.grad(loss), in_dims=(None, 0, 0))

    def loop(count: int) -> None:
        for _ in repeat(None, count):
            gradients(parameters, inputs, labels)

    return loop


def jacobian(library: Any) -> Loop:
    """The Jacobian of that MLP's outputs for its inputs, for each of 64 examples."""
    func = importlib.import_module(f"{library.__name__}.func")
    model = mlp(library)
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}
    inputs = library.ones(64, 4)

    def call(x: Any) -> Any:
        return func.functional_call(model, parameters, (x,))

    jacobians = func.vmap(func.jacrev(call))

    def loop(count: int) -> None:
        for _ in repeat(None, count):
            jacobians(inputs)

    return loop


PAIRS = {
    "op": ("small op, recorded (8 floats)", recorded_op, 8.0, None),
    "op-unrecorded": ("small op, not recorded", unrecorded_op, None, 8.0),
    "act": ("act: MLP at batch 1, sample", act, 8.0, None),
    "adam": ("Adam step of the MLP, batch 32", adam_step, 5.0, None),
    "per-example": ("a gradient for each of 64 examples", per_example_gradients, 1.0, None),
    "jacobian": ("a Jacobian for each of 64 examples", jacobian, 1.0, None),
}


def measure_pair(weft: Any, torch: Any, name: str, settings: Settings) -> list[Row]:
    """Measure one case that is written once for both libraries."""
    title, make, required, aim = PAIRS[name]
    times = take_turns({"weft": make(weft), "torch": make(torch)}, settings)
    return [Row(title, times["weft"], times["torch"], required=required, aim=aim)]


def measure_chain(weft: Any, torch: Any, settings: Settings) -> list[Row]:
    """Measure the chain, against jax.jit too where jax is installed."""
    loops = {"weft": chain(weft), "torch": chain(torch)}
    if importlib.util.find_spec("jax") is not None:
        loops["jax"] = chain_jax()
    times = take_turns(loops, settings)
    name = "chain: 10 x (mul, tanh), sum, backward"
    rows = [Row(name, times["weft"], times["torch"], required=20.0)]
    if "jax" in times:
        rows.append(
            Row(
                "chain against jax.jit", times["weft"], times["jax"], aim=1.0, note="jax, not torch"
            )
        )
    return rows


def measure_lstm(weft: Any, torch: Any, settings: Settings) -> list[Row]:
    """Measure the LSTM by cells and as a layer."""
    loops = {
        "weft": lstm_cells(weft),
        "torch": lstm_cells(torch),
        "torch layer": lstm_layer(torch),
        "weft layer": lstm_layer(weft),
    }
    times = take_turns(loops, settings)
    layer = times["torch layer"]
    note = "against nn.LSTM"
    return [
        Row("LSTMCell(64), 20 steps", times["weft"], times["torch"], required=8.0),
        Row("LSTMCell(64), 20 steps", times["weft"], layer, required=2.0, note=note),
        Row("nn.LSTM(64), 20 steps", times["weft layer"], layer, note=note),
    ]
