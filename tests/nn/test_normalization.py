"""Normalisation modules, and the running statistics of batch norm."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft import nn
from weft.nn import functional as F

X = np.random.default_rng(0).standard_normal((4, 6, 5))


def normalised(x, axes, eps=1e-5):
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps)


STATISTICS = "eps=1e-05, momentum=0.1, affine={0}, bias={0}, track_running_stats={0}"
CASES = [
    (
        nn.LayerNorm((6, 5)),
        normalised(X, (1, 2)),
        "LayerNorm((6, 5), eps=1e-05, elementwise_affine=True, bias=True)",
    ),
    (
        nn.LayerNorm(5, elementwise_affine=False),
        normalised(X, 2),
        "LayerNorm((5,), eps=1e-05, elementwise_affine=False, bias=False)",
    ),
    (
        nn.RMSNorm(5, eps=0.1),
        X / np.sqrt((X**2).mean(2, keepdims=True) + 0.1),
        "RMSNorm((5,), eps=0.1, elementwise_affine=True)",
    ),
    (
        nn.GroupNorm(2, 6),
        normalised(X.reshape(4, 2, -1), 2).reshape(X.shape),
        "GroupNorm(2, 6, eps=1e-05, affine=True, bias=True)",
    ),
    (nn.BatchNorm1d(6), normalised(X, (0, 2)), f"BatchNorm1d(6, {STATISTICS.format(True)})"),
    (nn.InstanceNorm1d(6), normalised(X, 2), f"InstanceNorm1d(6, {STATISTICS.format(False)})"),
]


@pytest.mark.parametrize(("module", "expected", "text"), CASES, ids=[case[2] for case in CASES])
def test_values_and_text(module, expected, text):
    x = weft.tensor(X)
    np.testing.assert_allclose(module.double()(x).detach().numpy(), expected, atol=1e-9)
    assert repr(module) == text


@pytest.mark.parametrize("momentum", [0.1, 0.5, None])
def test_running_statistics(momentum):
    layer = nn.BatchNorm1d(3, momentum=momentum).double()
    random = np.random.default_rng(1)
    mean, variance = np.zeros(3), np.ones(3)
    for step in range(1, 4):
        batch = random.standard_normal((5, 3)) * 2 + 1
        layer(weft.tensor(batch))
        share = 1 / step if momentum is None else momentum
        mean += share * (batch.mean(0) - mean)
        variance += share * (batch.var(0, ddof=1) - variance)
    np.testing.assert_allclose(layer.running_mean.numpy(), mean)
    np.testing.assert_allclose(layer.running_var.numpy(), variance)
    assert layer.num_batches_tracked == 3
    batch = random.standard_normal((5, 3))
    np.testing.assert_allclose(
        layer.eval()(weft.tensor(batch)).detach().numpy(), (batch - mean) / np.sqrt(variance + 1e-5)
    )
    np.testing.assert_allclose(layer.running_mean.numpy(), mean)
    layer.reset_parameters()
    assert layer.running_mean.tolist() == [0] * 3
    assert layer.num_batches_tracked == 0


def test_without_running_statistics_evaluation_uses_the_batch():
    layer = nn.BatchNorm2d(3, track_running_stats=False, affine=False)
    assert list(layer.state_dict()) == []
    x = weft.randn(2, 3, 4, 4)
    assert weft.equal(layer(x), layer.eval()(x))


@pytest.mark.parametrize("make", [lambda: nn.BatchNorm1d(3), lambda: nn.GroupNorm(1, 3)])
def test_gradients(make):
    layer = make().double()
    x = weft.randn(4, 3, dtype=weft.float64, requires_grad=True)
    assert weft.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))


def test_instance_norm_tracks_if_asked():
    layer = nn.InstanceNorm1d(6, track_running_stats=True, affine=True).double()
    layer(weft.tensor(X))
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.1 * X.mean((0, 2)))
    np.testing.assert_allclose(layer.running_var.numpy(), 0.9 + 0.1 * X.var(2, ddof=1).mean(0))
    alone = nn.InstanceNorm1d(6)(weft.tensor(X[0]))
    np.testing.assert_allclose(alone.numpy(), normalised(X[0], 1), atol=1e-9)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.BatchNorm1d(3)(weft.zeros(2, 3, 4, 5)), "2 or 3 dimensions"),
        (lambda: nn.BatchNorm2d(3)(weft.zeros(2, 3)), "4 dimensions"),
        (lambda: nn.BatchNorm1d(3)(weft.zeros(1, 3)), "training"),
        (lambda: nn.BatchNorm1d(3)(weft.zeros(2, 4)), "running_mean"),
        (lambda: nn.GroupNorm(2, 5), "num_groups"),
        (lambda: F.batch_norm(weft.zeros(2, 3), None, None), "running_mean"),
        (lambda: F.batch_norm(weft.zeros(3), None, None), "2 or more"),
        (lambda: F.instance_norm(weft.zeros(2, 3, 1)), "more than one value"),
    ],
)
def test_errors(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_bias_can_be_left_out():
    for layer in (
        nn.LayerNorm(4, bias=False),
        nn.GroupNorm(2, 4, bias=False),
        nn.BatchNorm1d(4, bias=False),
    ):
        assert layer.bias is None
        assert layer.weight is not None
        layer.reset_parameters()


def test_statistics_are_left_alone_once_they_are_not_tracked():
    module = nn.BatchNorm1d(1)
    module.track_running_stats = False
    found = module(weft.tensor([[1.0], [3.0]]))
    assert found.flatten().tolist() == pytest.approx([-1, 1], abs=1e-4)
    assert module.running_mean.tolist() == [0]
    assert module.running_var.tolist() == [1]
    assert module.num_batches_tracked.item() == 0
    module.running_mean.fill_(5.0)
    module.reset_running_stats()
    assert module.running_mean.tolist() == [5]
    # Evaluation uses what there is.
    assert module.eval()(weft.tensor([[6.0]])).item() == pytest.approx(1, abs=1e-4)
    instance = nn.InstanceNorm1d(1, track_running_stats=True).eval()
    instance.track_running_stats = False
    found = instance(weft.tensor([[[1.0, 3.0]]]))
    assert found.flatten().tolist() == pytest.approx([-1, 1], abs=1e-4)


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
def test_half_precision_with_parameters_and_statistics_of_float32(dtype):
    x = weft.tensor([[1.0, 200.0], [3.0, 201.0]], dtype=dtype, requires_grad=True)
    weight, bias = weft.tensor([2.0, 3.0], requires_grad=True), weft.tensor([0.5, 0.0])
    mean, variance = weft.zeros(2), weft.ones(2)
    normal = nn.functional.batch_norm(x, mean, variance, weight, bias, training=True)
    assert normal.dtype == dtype
    assert mean.tolist() == pytest.approx([0.2, float(x[:, 1].mean(dtype=weft.float32)) / 10])
    normal.sum().backward()
    assert (x.grad.dtype, weight.grad.dtype) == (dtype, weft.float32)
    for found in (
        nn.functional.batch_norm(x, mean, variance),
        nn.functional.group_norm(x, 1, weight, bias),
        nn.functional.layer_norm(x, (2,), weight, bias),
        nn.functional.rms_norm(x, (2,), weight),
        nn.functional.instance_norm(x[:, :, None].expand(2, 2, 3), mean, variance, weight, bias),
    ):
        assert found.dtype == dtype


@pytest.mark.parametrize("module", [nn.GroupNorm(2, 2), nn.GroupNorm(2, 2).eval()])
@pytest.mark.parametrize("shape", [(1, 2), (1, 2, 1), (1, 2, 1, 1)])
def test_a_group_of_one_value_has_no_variance(module, shape):
    with pytest.raises(ValueError, match="more than one value per group"):
        module(weft.ones(shape))
    assert module(weft.ones(2, *shape[1:])).tolist() == weft.zeros(2, *shape[1:]).tolist()
