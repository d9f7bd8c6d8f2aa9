"""Rows of activations, softmax and its kin, dropout's quiet half, and normalisation layers."""

from __future__ import annotations

import numpy as np
from scipy import special

from tests.ops.build import join, unary
from tests.ops.row import FLOAT, Fixed, Row, Sample, Samples, bad

F = "nn.functional."


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, x, np.logaddexp(0, beta * x) / beta)


def _activation(name, reference, samples: Samples | None = None, tolerance=1.0, **more) -> Row:
    return Row(F + name, samples or unary(gap=0.2), reference, FLOAT, tolerance=tolerance, **more)


def _also(**kwargs) -> Samples:
    return lambda m: [Sample(m(2, 5, gap=0.2), **kwargs)]


def _gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


def _elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(x))


def _prelu(x, weight):
    shape = [1] * x.ndim
    if x.ndim > 1 and weight.size > 1:
        shape[1] = -1
    return np.where(x > 0, x, weight.reshape(shape) * x if x.ndim else weight * x)


def _glu(x, dim=-1):
    left, right = np.split(x, 2, axis=dim)
    return left * special.expit(right)


def _softmax_samples(make):
    samples = [
        Sample(make(3, 4), dim=1),
        Sample(make(2, 3, 4), dim=0),
        Sample(make(2, 3, 4), dim=-2),
        Sample(make(), dim=0),
        Sample(make(0, 3), dim=1),
    ]
    if make.dtype != "float16":
        samples.append(
            Sample(make(2, 3) * 300 if make.dtype in FLOAT else make(2, 3), dim=1).smooth(0)
        )
    return samples


NO_DIMENSION = (bad(np.ones((3, 4)), dim=2, error=IndexError, says=("dim", "2")),)

ACTIVATIONS = [
    Row("relu", unary(gap=0.2), lambda x: np.maximum(x, 0), FLOAT, method=True, in_place=True),
    _activation("relu", lambda x: np.maximum(x, 0)),
    _activation("relu6", lambda x: np.clip(x, 0, 6)),
    _activation(
        "leaky_relu",
        lambda x, negative_slope=0.01: np.where(x > 0, x, negative_slope * x),
        join(unary(gap=0.2), _also(negative_slope=0.3)),
    ),
    _activation("elu", _elu, join(unary(gap=0.2), _also(alpha=0.7))),
    _activation("selu", lambda x: 1.0507009873554804934 * _elu(x, 1.6732632423543772848)),
    _activation(
        "celu",
        lambda x, alpha=1.0: np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)),
        join(unary(gap=0.2), _also(alpha=0.5)),
    ),
    _activation("gelu", _gelu, join(unary(), _also(approximate="tanh"))),
    _activation("silu", lambda x: x * special.expit(x)),
    _activation("mish", lambda x: x * np.tanh(softplus(x))),
    _activation(
        "softplus", softplus, join(unary(), _also(beta=2.0), _also(beta=1.0, threshold=1.0))
    ),
    _activation("softsign", lambda x: x / (1 + np.abs(x))),
    _activation("tanhshrink", lambda x: x - np.tanh(x)),
    _activation(
        "hardtanh",
        lambda x, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val),
        join(unary(), _also(min_val=-2.0, max_val=0.1)),
    ),
    _activation("hardsigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1), unary(low=-4, high=4)),
    _activation("hardswish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), unary(low=-4, high=4)),
    _activation("logsigmoid", special.log_expit),
    _activation(
        "softshrink",
        lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0),
        join(unary(gap=0.6), _also(lambd=0.1)),
    ),
    _activation(
        "hardshrink",
        lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0),
        join(unary(gap=0.6), _also(lambd=0.1)),
    ),
    _activation(
        "threshold",
        lambda x, threshold, value: np.where(x > threshold, x, value),
        lambda m: [Sample(m(3, 4), 0.5, 2.0), Sample(m(), threshold=-1.0, value=0.0)],
    ),
    _activation(
        "prelu",
        _prelu,
        lambda m: [
            Sample(m(2, 3, gap=0.2), m(3)),
            Sample(m(2, 3, 4, gap=0.2), m(1)),
            Sample(m(2, 3, 2, 2, gap=0.2), m(3)),
            Sample(m(5, gap=0.2), m(1)),
        ],
        errors=(bad(np.ones((2, 3)), np.ones(2), error=ValueError, says=("weight", "3")),),
    ),
    _activation(
        "glu",
        _glu,
        lambda m: [Sample(m(2, 6)), Sample(m(4, 3), dim=0), Sample(m(0, 4))],
        errors=(bad(np.ones((2, 3)), error=ValueError, says=("even", "3")),),
    ),
    _activation(
        "rrelu",
        lambda x, lower=1 / 8, upper=1 / 3: np.where(x > 0, x, (lower + upper) / 2 * x),
        join(unary(gap=0.2), _also(lower=0.1, upper=0.5)),
    ),
    _activation("sigmoid", special.expit),
    _activation("tanh", np.tanh),
]

SOFTMAX = [
    Row(
        "softmax",
        _softmax_samples,
        lambda x, dim: special.softmax(x, dim) if x.ndim else np.ones(()),
        FLOAT,
        errors=NO_DIMENSION,
        method=True,
    ),
    Row(
        "log_softmax",
        _softmax_samples,
        lambda x, dim: special.log_softmax(x, dim) if x.ndim else np.zeros(()),
        FLOAT,
        errors=NO_DIMENSION,
        method=True,
    ),
    Row(
        F + "softmax",
        _softmax_samples,
        lambda x, dim: special.softmax(x, dim) if x.ndim else np.ones(()),
        FLOAT,
        errors=NO_DIMENSION,
    ),
    Row(
        F + "log_softmax",
        _softmax_samples,
        lambda x, dim: special.log_softmax(x, dim) if x.ndim else np.zeros(()),
        FLOAT,
        errors=NO_DIMENSION,
    ),
    Row(
        F + "softmin",
        lambda m: [Sample(m(3, 4), dim=1), Sample(m(2, 3), dim=0)],
        lambda x, dim: special.softmax(-x, dim),
    ),
]


def _normalised(x, axes, eps):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def _per_channel(x, values, default):
    if values is None:
        return default
    return values.reshape([1, -1] + [1] * (x.ndim - 2))


def _batch_norm(
    x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    axes = (0, *range(2, x.ndim))
    if training:
        result = _normalised(x, axes, eps)
    else:
        result = (x - _per_channel(x, running_mean, 0)) / np.sqrt(
            _per_channel(x, running_var, 1) + eps
        )
    return result * _per_channel(x, weight, 1) + _per_channel(x, bias, 0)


def _batch_norm_samples(make):
    def running(size):
        return Fixed(make(size)), Fixed(make(size, low=0.5))

    return [
        Sample(make(4, 3), *running(3), make(3), make(3)),
        Sample(make(2, 3, 2, 2), *running(3), make(3), make(3), training=True),
        Sample(make(4, 3, 2), None, None, training=True, eps=0.1),
        Sample(make(4, 3), *running(3), make(3), None, training=True, momentum=0.5),
        Sample(make(2, 3, 2, 2), *running(3)),
    ]


def _layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    axes = tuple(range(-len(normalized_shape), 0))
    result = _normalised(x, axes, eps)
    return result * (1 if weight is None else weight) + (0 if bias is None else bias)


def _layer_norm_samples(make):
    return [
        Sample(make(3, 5), (5,), make(5), make(5)),
        Sample(make(2, 3, 4), [3, 4], make(3, 4), make(3, 4)),
        Sample(make(2, 4), (4,)),
        Sample(make(2, 3, 4), (4,), make(4), eps=0.1),
        Sample(make(0, 4), (4,), make(4), make(4)),
    ]


def _group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    grouped = x.reshape(x.shape[0], num_groups, -1)
    result = _normalised(grouped, (2,), eps).reshape(x.shape)
    return result * _per_channel(x, weight, 1) + _per_channel(x, bias, 0)


def _instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, eps=1e-5):
    result = _normalised(x, tuple(range(2, x.ndim)), eps)
    return result * _per_channel(x, weight, 1) + _per_channel(x, bias, 0)


def _rms_norm(x, normalized_shape, weight=None, eps=None):
    axes = tuple(range(-len(normalized_shape), 0))
    scale = np.sqrt(
        np.square(x).mean(axes, keepdims=True) + (np.finfo(float).eps if eps is None else eps)
    )
    return x / scale * (1 if weight is None else weight)


NORMALISATION = [
    Row(
        F + "batch_norm",
        _batch_norm_samples,
        _batch_norm,
        ("float64", "float32"),
        tolerance=3,
        tags=("writes",),
        errors=(
            bad(
                np.ones((2, 3)),
                np.ones(4),
                np.ones(4),
                error=RuntimeError,
                says=("running_mean", "3", "4"),
            ),
            bad(np.ones((1, 3)), None, None, training=True, error=ValueError, says=("training",)),
        ),
    ),
    Row(
        F + "layer_norm",
        _layer_norm_samples,
        _layer_norm,
        tolerance=4,
        errors=(
            bad(
                np.ones((2, 4)), (5,), error=RuntimeError, says=("normalized_shape", "5", "(2, 4)")
            ),
        ),
    ),
    Row(
        F + "group_norm",
        lambda m: [
            Sample(m(2, 4, 3), 2, m(4), m(4)),
            Sample(m(2, 6, 2, 2), 3),
            Sample(m(3, 4), 2, eps=0.1),
        ],
        _group_norm,
        tolerance=4,
        errors=(bad(np.ones((2, 5)), 2, error=RuntimeError, says=("num_groups", "5", "2")),),
    ),
    Row(
        F + "instance_norm",
        lambda m: [Sample(m(2, 3, 4)), Sample(m(2, 3, 2, 3), weight=m(3), bias=m(3), eps=0.1)],
        _instance_norm,
        ("float64", "float32"),
        tolerance=3,
    ),
    Row(
        F + "rms_norm",
        lambda m: [Sample(m(3, 4), (4,), m(4), eps=1e-5), Sample(m(2, 3, 4), (3, 4), eps=0.1)],
        _rms_norm,
        tolerance=4,
    ),
    Row(
        F + "normalize",
        lambda m: [
            Sample(m(3, 4)),
            Sample(m(2, 3, 2), dim=0),
            Sample(m(3, 4, gap=0.2), p=1.0, dim=-1),
            Sample(m(2, 3), eps=10.0),
        ],
        lambda x, p=2.0, dim=1, eps=1e-12: (
            x / np.maximum((np.abs(x) ** p).sum(dim, keepdims=True) ** (1 / p), eps)
        ),
        tolerance=2,
    ),
]

ROWS = ACTIVATIONS + SOFTMAX + NORMALISATION
