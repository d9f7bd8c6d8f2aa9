"""Sequences of different lengths."""

from __future__ import annotations

import pytest

import weft
from weft import nn
from weft.nn.utils.rnn import (
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)


def test_padding_and_back():
    parts = [weft.ones(3, 2), weft.full((1, 2), 2.0), weft.full((2, 2), 3.0)]
    batch = pad_sequence(parts, padding_value=-1.0)
    assert batch.shape == (3, 3, 2)
    assert batch[:, 1, 0].tolist() == [2, -1, -1]
    first = pad_sequence(parts, batch_first=True, padding_side="left")
    assert first[1, :, 0].tolist() == [0, 0, 2]
    back = unpad_sequence(batch, weft.tensor([3, 1, 2]))
    assert all(weft.equal(a, b) for a, b in zip(back, parts, strict=True))


@pytest.mark.parametrize(
    ("parts", "options", "text"),
    [
        ([], {}, "empty"),
        ([weft.ones(2)], {"padding_side": "top"}, "top"),
        ([weft.ones(2, 3), weft.ones(2, 4)], {}, r"\(2, 4\)"),
    ],
)
def test_errors(parts, options, text):
    with pytest.raises(ValueError, match=text):
        pad_sequence(parts, **options)


def test_packing_and_back():
    batch = weft.arange(12).reshape(3, 4)
    packed = pack_padded_sequence(batch, [2, 4, 1], batch_first=True, enforce_sorted=False)
    assert packed.data.tolist() == [4, 0, 8, 5, 1, 6, 7]
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1]
    padded, lengths = pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    assert padded.tolist() == [[0, 1, -1, -1], [4, 5, 6, 7], [8, -1, -1, -1]]
    assert lengths.tolist() == [2, 4, 1]
    longer, lengths = pad_packed_sequence(packed, total_length=6)
    assert longer.T.tolist() == [[0, 1, 0, 0, 0, 0], [4, 5, 6, 7, 0, 0], [8, 0, 0, 0, 0, 0]]
    assert lengths.tolist() == [2, 4, 1]
    assert weft.equal(pad_packed_sequence(packed, total_length=4)[0], padded.T.clamp(min=0))
    assert [part.tolist() for part in unpack_sequence(packed)] == [[0, 1], [4, 5, 6, 7], [8]]
    assert packed.to(weft.float64).data.dtype is weft.float64


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_packed_sequences_run_as_each_alone(name):
    layer = getattr(nn, name)(3, 4, 2, bidirectional=True)
    parts = [weft.randn(length, 3) for length in (2, 5, 3)]
    output, last = layer(pack_sequence(parts, enforce_sorted=False))
    for i, part in enumerate(parts):
        alone, state = layer(part)
        got = unpack_sequence(output)[i]
        assert float((got - alone).abs().max()) < 1e-5
        pairs = zip(last, state, strict=True) if name == "LSTM" else [(last, state)]
        for all_of_them, own in pairs:
            assert float((all_of_them[:, i] - own).abs().max()) < 1e-5


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_packed_sequences_start_from_their_own_states(name):
    layer = getattr(nn, name)(3, 4, 2, bidirectional=True)
    parts = [weft.randn(length, 3) for length in (2, 5, 1, 5)]
    hidden, memory = weft.randn(4, 4, 4), weft.randn(4, 4, 4)

    def start(of):
        return (hidden[:, of], memory[:, of]) if name == "LSTM" else hidden[:, of]

    output, last = layer(pack_sequence(parts, enforce_sorted=False), start(slice(None)))
    for i, part in enumerate(parts):
        alone, state = layer(part, start(i))
        assert weft.allclose(unpack_sequence(output)[i], alone, atol=1e-6)
        pairs = zip(last, state, strict=True) if name == "LSTM" else [(last, state)]
        for all_of_them, own in pairs:
            assert weft.allclose(all_of_them[:, i], own, atol=1e-6)
    in_order = pack_sequence([parts[1], parts[0], parts[2]])
    with pytest.raises(ValueError, match=r"hx must be \(4, 3, 4\); hx is \(4, 4, 4\)"):
        layer(in_order, start(slice(None)))


def test_dropout_between_layers_of_packed_sequences():
    layer = nn.LSTM(3, 4, 2, dropout=1.0)
    packed = pack_sequence([weft.randn(3, 3), weft.randn(2, 3)])
    layer(packed)[0].data.sum().backward()
    assert layer.weight_ih_l0.grad.abs().sum() == 0
    assert layer.weight_hh_l1.grad.abs().sum() > 0
    # Neither before the first layer, nor when nobody trains.
    single = nn.LSTM(3, 4, 1, bidirectional=True)
    single.dropout = 1.0
    assert not weft.equal(
        single(packed)[0].data, single(packed._replace(data=packed.data * 0))[0].data
    )
    assert not weft.equal(layer(packed)[0].data, layer.eval()(packed)[0].data)


def test_what_cannot_be_packed():
    batch = weft.zeros(3, 2)
    with pytest.raises(RuntimeError, match="enforce_sorted=False"):
        pack_padded_sequence(batch, [1, 3])
    with pytest.raises(RuntimeError, match="one positive number for each of the 2"):
        pack_padded_sequence(batch, [3, 0])
    with pytest.raises(RuntimeError, match="one positive number for each of the 2"):
        pack_padded_sequence(batch, [3])
    assert pack_padded_sequence(batch, [3, 3]).batch_sizes.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="there are 3 steps"):
        pack_padded_sequence(batch, [4, 1])
    with pytest.raises(RuntimeError, match="total_length must be 3 or more"):
        pad_packed_sequence(pack_padded_sequence(batch, [3, 1]), total_length=2)
