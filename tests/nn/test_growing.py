"""Growing a layer keeps what it computed, and the rest of it is as in a new layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import nn


@pytest.fixture(autouse=True)
def _seeded() -> None:
    weft.manual_seed(0)


def same(got: Any, expected: Any) -> bool:
    return weft.allclose(got, expected, rtol=0, atol=1e-6)


# A layer, the sizes it grows to, its input, the input it gets then, and which outputs are the old.
GROWTHS: dict[str, tuple[Callable[[], nn.Module], dict[str, int], Any, Any, Any]] = {
    "linear_outputs": (lambda: nn.Linear(3, 4), {"out_features": 6}, (5, 3), (5, 3), 4),
    "linear_inputs": (lambda: nn.Linear(3, 4), {"in_features": 7}, (5, 3), (5, 7), 4),
    "linear_both": (
        lambda: nn.Linear(3, 4, bias=False),
        {"in_features": 7, "out_features": 9},
        (5, 3),
        (5, 7),
        4,
    ),
    "conv1d": (
        lambda: nn.Conv1d(2, 3, 3),
        {"in_channels": 4, "out_channels": 5},
        (2, 2, 8),
        (2, 4, 8),
        3,
    ),
    "conv2d": (
        lambda: nn.Conv2d(2, 3, 3, padding=1),
        {"in_channels": 4, "out_channels": 5},
        (2, 2, 6, 6),
        (2, 4, 6, 6),
        3,
    ),
    "conv_transpose2d": (
        lambda: nn.ConvTranspose2d(2, 3, 2),
        {"in_channels": 4, "out_channels": 5},
        (2, 2, 3, 3),
        (2, 4, 3, 3),
        3,
    ),
    "batch_norm": (
        lambda: nn.BatchNorm1d(3),
        {"num_features": 5},
        (8, 3),
        (8, 5),
        3,
    ),
    "prelu": (lambda: nn.PReLU(3), {"num_parameters": 5}, (8, 3), (8, 5), 3),
}


@pytest.mark.parametrize("name", GROWTHS)
def test_old_outputs_stay(name: str) -> None:
    make, sizes, small, large, count = GROWTHS[name]
    layer = make()
    kept = dict(layer.named_parameters())
    input, wide = weft.randn(small), weft.randn(large)
    wide[:, : small[1]] = input
    before = layer(input)
    assert nn.grow_(layer, **sizes) is layer
    after = layer(wide)
    made = [size for key, size in sizes.items() if not key.startswith("in_")]
    assert after.shape[1] == (made[0] if made else count)
    assert same(after[:, :count], before)
    for key, parameter in layer.named_parameters():
        assert parameter is kept[key]
    for size, value in sizes.items():
        assert getattr(layer, size) == value


def test_new_outputs_are_drawn_as_in_a_new_layer() -> None:
    weft.manual_seed(7)
    fresh = nn.Linear(3, 6)
    layer = nn.Linear(3, 4)
    weft.manual_seed(7)
    nn.grow_(layer, out_features=6)
    assert (layer.weight[4:] == fresh.weight[4:]).all()
    assert (layer.bias[4:] == fresh.bias[4:]).all()


def test_new_inputs_are_weighted_zero_and_draw_nothing() -> None:
    layer = nn.Linear(3, 4)
    state = weft.get_rng_state()
    nn.grow_(layer, in_features=5)
    assert (weft.get_rng_state() == state).all()
    assert (layer.weight[:, 3:] == 0).all()


def test_new_outputs_read_new_inputs() -> None:
    layer = nn.grow_(nn.Linear(3, 4), in_features=5, out_features=6)
    assert (layer.weight[:4, 3:] == 0).all()
    assert (layer.weight[4:] != 0).all()


def test_widening_keeps_a_model_and_lets_the_new_part_learn() -> None:
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
    input = weft.randn(8, 4)
    before = model(input).pow(2).mean()
    nn.grow_(model[0], out_features=16)
    nn.grow_(model[2], in_features=16)
    after = model(input).pow(2).mean()
    assert abs(before.item() - after.item()) < 1e-6
    after.backward()
    assert (model[2].weight.grad[:, 5:] != 0).all()


def test_init_fills_the_new_part() -> None:
    layer = nn.Linear(3, 2)
    old = layer.weight.detach().clone()
    nn.grow_(layer, out_features=4, in_features=5, init=lambda new: nn.init.constant_(new, 2.0))
    assert (layer.weight[:2, :3] == old).all()
    assert (layer.weight[2:] == 2).all()
    assert (layer.weight[:, 3:] == 2).all()
    assert (layer.bias[2:] == 2).all()


def test_init_leaves_running_statistics_alone() -> None:
    norm = nn.grow_(nn.BatchNorm1d(2), num_features=4, init=nn.init.zeros_)
    assert norm.weight.tolist() == [1, 1, 0, 0]
    assert norm.running_var.tolist() == [1, 1, 1, 1]


def test_batch_norm_keeps_its_statistics_and_their_count() -> None:
    norm = nn.BatchNorm1d(2)
    norm(weft.randn(16, 2) * 3 + 1)
    mean, variance = norm.running_mean.clone(), norm.running_var.clone()
    nn.grow_(norm, num_features=3)
    assert norm.num_batches_tracked == 1
    assert (norm.running_mean[:2] == mean).all()
    assert (norm.running_var[:2] == variance).all()
    assert (norm.running_mean[2], norm.running_var[2]) == (0, 1)
    assert set(norm.state_dict()) == set(nn.BatchNorm1d(3).state_dict())


def test_instance_norm_without_parameters_only_has_another_size() -> None:
    norm = nn.grow_(nn.InstanceNorm1d(2), num_features=4)
    assert norm(weft.randn(1, 4, 5)).shape == (1, 4, 5)


def test_bilinear_keeps_its_outputs() -> None:
    layer = nn.Bilinear(2, 3, 2)
    one, two = weft.randn(4, 2), weft.randn(4, 3)
    before = layer(one, two)
    nn.grow_(layer, in1_features=4, in2_features=5, out_features=3)
    wider = weft.cat([one, weft.randn(4, 2)], 1), weft.cat([two, weft.randn(4, 2)], 1)
    assert same(layer(*wider)[:, :2], before)


def test_layer_norm_has_another_function_afterwards() -> None:
    norm = nn.grow_(nn.LayerNorm(3), normalized_shape=5)
    assert norm.normalized_shape == (5,)
    assert norm(weft.randn(2, 5)).shape == (2, 5)
    assert norm.weight.tolist() == [1] * 5
    assert nn.grow_(nn.RMSNorm(3), normalized_shape=5).weight.shape == (5,)


@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_embeddings_keep_their_rows(kind: Any) -> None:
    table = kind(4, 3, padding_idx=1)
    old = table.weight.detach().clone()
    nn.grow_(table, num_embeddings=6, embedding_dim=5)
    assert table.weight.shape == (6, 5)
    assert (table.weight[:4, :3] == old).all()
    assert (table.weight[1] == 0).all()
    assert (table.weight[4:] != 0).all()
    assert table(weft.tensor([[5, 0]])).shape[-1] == 5


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_cells_keep_their_units(kind: Any) -> None:
    cell = kind(3, 4)
    input, wide = weft.randn(2, 3), weft.randn(2, 5)
    wide[:, :3] = input

    def run(given: Any) -> Any:
        state = None
        for _ in range(3):
            state = cell(given, state)
        return state[0] if isinstance(state, tuple) else state

    before = run(input)
    nn.grow_(cell, hidden_size=7, input_size=5)
    after = run(wide)
    assert after.shape == (2, 7)
    assert same(after[:, :4], before)
    assert (after[:, 4:] != 0).all()


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrent_layers_keep_their_units(kind: Any, bidirectional: bool) -> None:
    layer = kind(3, 4, num_layers=2, bidirectional=bidirectional)
    input, wide = weft.randn(5, 2, 3), weft.randn(5, 2, 6)
    wide[..., :3] = input
    before = layer(input)[0]
    nn.grow_(layer, hidden_size=7, input_size=6)
    after = layer(wide)[0]
    assert after.shape == (5, 2, 14 if bidirectional else 7)
    assert same(after[..., :4], before[..., :4])
    if bidirectional:
        assert same(after[..., 7:11], before[..., 4:])


def test_gradients_grow_with_zeros() -> None:
    layer = nn.Linear(3, 2)
    layer(weft.randn(4, 3)).sum().backward()
    old = layer.weight.grad.clone()
    nn.grow_(layer, out_features=4)
    assert (layer.weight.grad[:2] == old).all()
    assert (layer.weight.grad[2:] == 0).all()


def test_a_graph_from_before_cannot_be_differentiated() -> None:
    layer = nn.Linear(3, 1, bias=False)
    loss = layer(weft.randn(4, 3)).sum()
    nn.grow_(layer, out_features=2)
    with pytest.raises(weft.ShapeError, match=r"a leaf was \(1, 3\) when .* and is \(2, 3\) now"):
        loss.backward()


def test_a_tied_layer_grows_what_is_left() -> None:
    table, scores = nn.Embedding(5, 3), nn.Linear(3, 5)
    scores.weight = table.weight
    nn.grow_(table, num_embeddings=8)
    nn.grow_(scores, out_features=8)
    assert scores.weight is table.weight
    assert scores(table(weft.tensor([7]))).shape == (1, 8)


def test_what_is_frozen_stays_so() -> None:
    layer = nn.Linear(3, 2).requires_grad_(False)
    nn.grow_(layer, out_features=4)
    assert not layer.weight.requires_grad


def test_dtype_stays() -> None:
    layer = nn.grow_(nn.Linear(3, 2, dtype=weft.float64), out_features=4)
    assert layer.weight.dtype == layer.bias.dtype == weft.float64


def test_within_lazy_evaluation() -> None:
    layer, input = nn.Linear(3, 2), weft.randn(4, 3)
    expected = layer(input)
    with weft.lazy():
        before = layer(input)
        nn.grow_(layer, out_features=4)
        after = layer(input)
    assert same(before, expected)
    assert same(after[:, :2], expected)


class TestErrors:
    def test_a_layer_that_cannot_grow(self) -> None:
        with pytest.raises(TypeError, match="a ReLU like this one cannot grow"):
            nn.grow_(nn.ReLU(), features=3)
        with pytest.raises(TypeError, match="a Conv1d like this one cannot grow"):
            nn.grow_(nn.Conv1d(4, 4, 3, groups=2), out_channels=8)
        with pytest.raises(TypeError, match="a PReLU like this one cannot grow"):
            nn.grow_(nn.PReLU(), num_parameters=8)
        with pytest.raises(TypeError, match="a LayerNorm like this one cannot grow"):
            nn.grow_(nn.LayerNorm((2, 3)), normalized_shape=8)

    def test_a_parameter_that_is_not_known(self) -> None:
        class Scaled(nn.Linear):
            def __init__(self) -> None:
                super().__init__(2, 3)
                self.scale = nn.Parameter(weft.ones(3))

        with pytest.raises(TypeError, match="has a parameter scale"):
            nn.grow_(Scaled(), out_features=4)

    def test_sizes(self) -> None:
        layer = nn.Linear(3, 4)
        with pytest.raises(TypeError, match="say a new size: out_features or in_features"):
            nn.grow_(layer)
        with pytest.raises(TypeError, match="Linear has no size width; it has out_features"):
            nn.grow_(layer, width=4)
        with pytest.raises(TypeError, match="out_features must be an int, not a float"):
            nn.grow_(layer, out_features=5.0)
        with pytest.raises(ValueError, match="out_features cannot shrink; it is 4, wanted is 3"):
            nn.grow_(layer, out_features=3)
        assert layer.weight.shape == (4, 3)

    def test_a_lazy_layer(self) -> None:
        with pytest.raises(TypeError, match=r"cannot grow|sizes"):
            nn.grow_(nn.LazyLinear(4), out_features=8)

    def test_an_init_that_fails_changes_nothing(self) -> None:
        layer = nn.Linear(3, 4)
        with pytest.raises(ZeroDivisionError):
            nn.grow_(layer, out_features=8, init=lambda new: 1 / 0)
        assert (layer.out_features, tuple(layer.weight.shape)) == (4, (4, 3))
