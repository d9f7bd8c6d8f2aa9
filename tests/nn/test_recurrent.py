"""Recurrent cells and layers against plain NumPy, and layers against cells."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft import nn

F64 = {"dtype": weft.float64}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def numpy_step(cell, x, hidden, memory=None):
    w = {name: value.detach().numpy() for name, value in cell.named_parameters()}
    from_input = x @ w["weight_ih"].T + w.get("bias_ih", 0)
    from_hidden = hidden @ w["weight_hh"].T + w.get("bias_hh", 0)
    if isinstance(cell, nn.RNNCell):
        gates = from_input + from_hidden
        return np.tanh(gates) if cell.nonlinearity == "tanh" else np.maximum(gates, 0)
    if isinstance(cell, nn.GRUCell):
        (ri, zi, ni), (rh, zh, nh) = np.split(from_input, 3, -1), np.split(from_hidden, 3, -1)
        r, z = sigmoid(ri + rh), sigmoid(zi + zh)
        return (1 - z) * np.tanh(ni + r * nh) + z * hidden
    i, f, g, o = np.split(from_input + from_hidden, 4, -1)
    memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(memory), memory


def each(result):
    return result if isinstance(result, tuple) else (result,)


CELLS = {
    "rnn": lambda **k: nn.RNNCell(4, 3, **k),
    "relu": lambda **k: nn.RNNCell(4, 3, nonlinearity="relu", **k),
    "gru": lambda **k: nn.GRUCell(4, 3, **k),
    "lstm": lambda **k: nn.LSTMCell(4, 3, **k),
}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", CELLS)
def test_cells(kind, bias):
    cell = CELLS[kind](bias=bias, **F64)
    x, hidden, memory = (weft.randn(2, size, **F64) for size in (4, 3, 3))
    if kind == "lstm":
        expected = numpy_step(cell, x.numpy(), hidden.numpy(), memory.numpy())
        actual = cell(x, (hidden, memory))
        start = (weft.zeros(2, 3, **F64),) * 2
    else:
        expected, actual = numpy_step(cell, x.numpy(), hidden.numpy()), cell(x, hidden)
        expected, actual = (expected,), (actual,)
        start = weft.zeros(2, 3, **F64)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other, atol=1e-12)
    for one, other in zip(each(cell(x)), each(cell(x, start)), strict=True):
        assert weft.equal(one, other)
    assert each(cell(x[0]))[0].shape == (3,)


@pytest.mark.parametrize("kind", CELLS)
def test_gradients_of_cells(kind):
    cell = CELLS[kind](**F64)
    x = weft.randn(2, 4, requires_grad=True, **F64)
    hidden = weft.randn(2, 3, requires_grad=True, **F64)
    memory = weft.randn(2, 3, requires_grad=True, **F64)

    def run(x, hidden, memory, *_):
        return cell(x, (hidden, memory)) if kind == "lstm" else cell(x, hidden)

    inputs = (x, hidden, memory) if kind == "lstm" else (x, hidden)
    if kind == "lstm":
        assert weft.autograd.gradcheck(run, (*inputs, *cell.parameters()))
    else:
        assert weft.autograd.gradcheck(
            lambda a, b, *_: run(a, b, None), (*inputs, *cell.parameters())
        )


LAYERS = {"rnn": (nn.RNN, nn.RNNCell), "gru": (nn.GRU, nn.GRUCell), "lstm": (nn.LSTM, nn.LSTMCell)}


def cell_of(layer, kind, place):
    """Make a cell with the parameters of one layer and direction."""
    weights = layer.all_weights[place]
    cell = LAYERS[kind][1](weights[0].shape[1], layer.hidden_size, **F64)
    for own, other in zip(cell.parameters(), weights, strict=True):
        own.data = other.data
    return cell


def run_by_cells(layer, kind, x):
    """Run a layer as a loop over cells; returns its output and last hidden states."""
    last = []
    place = 0
    for _ in range(layer.num_layers):
        outputs = []
        for direction in range(2 if layer.bidirectional else 1):
            cell, state, states = cell_of(layer, kind, place), None, []
            for step in x.flip(0) if direction else x:
                state = cell(step, state)
                states.append(state[0] if kind == "lstm" else state)
            last.append(states[-1])
            outputs.append(weft.stack(states[::-1] if direction else states))
            place += 1
        x = weft.cat(outputs, -1)
    return x, weft.stack(last)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("kind", LAYERS)
def test_layers_do_what_cells_do(kind, num_layers, bidirectional):
    layer = LAYERS[kind][0](4, 3, num_layers, bidirectional=bidirectional, **F64)
    x = weft.randn(5, 2, 4, requires_grad=True, **F64)
    output, state = layer(x)
    hidden = state[0] if kind == "lstm" else state
    expected, last = run_by_cells(layer, kind, x.detach())
    np.testing.assert_allclose(output.detach().numpy(), expected.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(hidden.detach().numpy(), last.detach().numpy(), atol=1e-12)
    output.sum().backward()
    assert x.grad is not None
    assert all(parameter.grad is not None for parameter in layer.parameters())


@pytest.mark.parametrize("kind", LAYERS)
def test_layouts(kind):
    layer = LAYERS[kind][0](4, 3, 2, bidirectional=True, **F64)
    first = LAYERS[kind][0](4, 3, 2, bidirectional=True, batch_first=True, **F64)
    first.load_state_dict(layer.state_dict())
    x = weft.randn(5, 2, 4, **F64)
    state = weft.randn(4, 2, 3, **F64)
    given = (state, state) if kind == "lstm" else state
    output, last = layer(x, given)
    swapped, again = first(x.transpose(0, 1), given)
    assert output.shape == (5, 2, 6)
    assert weft.allclose(swapped.transpose(0, 1), output)
    single = (state[:, 0],) * 2 if kind == "lstm" else state[:, 0]
    alone, end = layer(x[:, 0], single)
    assert weft.allclose(alone, output[:, 0])
    for one, other, third in zip(
        *((value if kind == "lstm" else (value,)) for value in (last, again, end)), strict=True
    ):
        assert weft.allclose(one, other)
        assert weft.allclose(one[:, 0], third)


def test_names_are_pytorchs():
    names = [name for name, _ in nn.LSTM(4, 3, 2, bidirectional=True).named_parameters()]
    assert names[:4] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    assert names[4] == "weight_ih_l0_reverse"
    assert names[-1] == "bias_hh_l1_reverse"
    assert nn.GRU(4, 3).weight_ih_l0.shape == (9, 4)


def test_dropout_between_layers():
    layer = nn.LSTM(4, 3, 2, dropout=1.0)
    x = weft.randn(5, 2, 4)
    dropped = layer(x)[0]
    assert not weft.equal(dropped, layer.eval()(x)[0])
    for parameter in layer.parameters():
        parameter.grad = None
    layer.train()(x)[0].sum().backward()
    assert layer.weight_ih_l0.grad.abs().sum() == 0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.LSTM(4, 3)(weft.zeros(2, 3, 5)), "input_size"),
        (lambda: nn.LSTM(4, 3)(weft.zeros(4)), "dimensions"),
        (lambda: nn.LSTM(4, 3)(weft.zeros(0, 1, 4)), "step"),
        (lambda: nn.GRU(4, 3)(weft.zeros(2, 3, 4), weft.zeros(1, 2, 3)), "hx"),
        (lambda: nn.RNN(4, 3, nonlinearity="sin"), "sin"),
        (lambda: nn.LSTM(4, 3, dropout=2.0), "dropout"),
        (lambda: nn.LSTM(4, 0), "hidden_size"),
        (lambda: nn.RNN(4, 3, 2**63 - 1), "num_layers is 9223372036854775807"),
    ],
)
def test_errors(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_text():
    layer = nn.LSTM(4, 3, 2, bidirectional=True, dropout=0.5)
    assert repr(layer) == "LSTM(4, 3, num_layers=2, dropout=0.5, bidirectional=True)"
    assert repr(nn.RNNCell(4, 3, nonlinearity="relu")) == "RNNCell(4, 3, nonlinearity=relu)"
    layer.flatten_parameters()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", LAYERS)
def test_gradients_of_layers(kind, bias):
    layer = LAYERS[kind][0](2, 2, bias=bias, **F64)
    x = weft.randn(3, 2, 2, requires_grad=True, **F64)
    start = weft.randn(1, 2, 2, requires_grad=True, **F64)
    second = weft.randn(1, 2, 2, requires_grad=True, **F64)

    def run(x, start, second, *_):
        output, state = layer(x, (start, second) if kind == "lstm" else start)
        return (output, *each(state))

    inputs = (x, start, second, *layer.parameters())
    if kind != "lstm":
        inputs = (x, start, *layer.parameters())

        def run(x, start, *_):
            return layer(x, start)

    assert weft.autograd.gradcheck(run, inputs)
    assert weft.autograd.gradgradcheck(run, inputs)


def test_only_the_last_memory_can_be_differentiated():
    layer = nn.LSTM(2, 2)
    layer(weft.randn(3, 1, 2))[1][1].sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())


@pytest.mark.parametrize("kind", LAYERS)
def test_without_recording(kind):
    layer = LAYERS[kind][0](4, 3)
    x = weft.randn(5, 2, 4)
    with weft.no_grad():
        plain = layer(x)[0]
    assert plain.grad_fn is None
    assert weft.allclose(plain, layer(x)[0])


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
@pytest.mark.parametrize(
    ("input", "state"),
    [
        ((2, 3), (1, 4)),
        ((2, 3), (4,)),
        ((2, 3), (2, 1)),
        ((2, 3), (1, 2, 4)),
        ((1, 3), (2, 4)),
        ((3,), (2, 4)),
        ((3,), (1, 4)),
        ((3,), (1,)),
    ],
)
def test_states_are_not_stretched(kind, input, state):
    cell = kind(3, 4)
    right = weft.zeros(*input[:-1], 4)
    wrong = weft.zeros(state)
    given = [(wrong, wrong), (right, wrong), (wrong, right)] if kind is nn.LSTMCell else [wrong]
    for hx in given:
        with pytest.raises(ValueError, match="hx"):
            cell(weft.ones(input), hx)


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_a_cell_takes_one_batch(kind):
    with pytest.raises(ValueError, match="input"):
        kind(3, 4)(weft.ones(2, 2, 3))


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_one_hidden_unit(kind):
    output, _ = kind(2, 1)(weft.randn(4, 2))
    assert output.shape == (4, 1)
    with pytest.raises(ValueError, match="hidden_size"):
        kind(2, 0)
