"""Fill tensors with the values that training starts from. All of these work in place."""

from __future__ import annotations

import math

from weft import _core
from weft._core import Generator, Tensor
from weft._missing import explain_missing
from weft.autograd import no_grad
from weft.functional import creation

_GAINS: dict[str, float] = {
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor that keeps the variance through a nonlinearity.

    Args:
        nonlinearity: the name of the function, as in `weft.nn.functional`.
        param: the negative slope of "leaky_relu" (0.01 if not given).

    Example:
        >>> from weft import nn
        >>> nn.init.calculate_gain("tanh")
        1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else float(param)
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"calculate_gain(): nonlinearity {nonlinearity!r} is not known.")
    return _GAINS[nonlinearity]


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Draw from the uniform distribution over [a, b).

    Example:
        >>> import weft
        >>> from weft import nn
        >>> _ = weft.manual_seed(0)
        >>> nn.init.uniform_(weft.empty(2), -1.0, 1.0)
        tensor([-0.0075,  0.5364])
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Draw from a normal distribution.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> _ = weft.manual_seed(0)
        >>> nn.init.normal_(weft.empty(2), mean=1.0, std=0.1)
        tensor([1.1541, 0.9707])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Draw from a normal distribution and redraw what falls outside [a, b].

    Raises:
        ValueError: if there is nothing, or next to nothing, of the distribution in [a, b].

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.init.trunc_normal_(weft.empty(1000), a=-0.5, b=0.5).abs().max() <= 0.5
        tensor(True)
    """
    if not std > 0 or not a <= b:
        raise ValueError(f"trunc_normal_(): std must be above 0 and a <= b; {std=}, {a=}, {b=}")
    share = _normal_below((b - mean) / std) - _normal_below((a - mean) / std)
    # As PyTorch draws: where little would fall inside, evenly over [a, b] and thinned out.
    draw = _draw_inside if share > 0.3 else _draw_thinned
    with no_grad():
        waiting = draw(tensor, mean, std, a, b, generator)
        for _ in range(_MOST_ROUNDS):
            if not waiting.any():
                return tensor
            again = tensor.clone()
            fails = draw(again, mean, std, a, b, generator)
            tensor.copy_(again.where(waiting, tensor))
            waiting = waiting & fails
    raise ValueError(f"trunc_normal_(): too little of the distribution is in [{a}, {b}]")


_MOST_ROUNDS = 10_000


def _normal_below(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


def _draw_inside(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Draw normally; return where that is outside."""
    tensor.normal_(mean, std, generator=generator)
    return (tensor < a) | (tensor > b)


def _draw_thinned(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Draw evenly; return where it is to be drawn again, so that the density is the normal one."""
    tensor.uniform_(a, b, generator=generator)
    highest = ((max(a, min(mean, b)) - mean) / std) ** 2 / -2
    density = ((tensor - mean) / std) ** 2 * -0.5 - highest
    return ~(tensor.clone().uniform_(generator=generator).log() <= density)  # nor where it is NaN


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Set every element to one value.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.init.constant_(weft.empty(2), 0.3)
        tensor([0.3000, 0.3000])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Set every element to one.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.init.ones_(weft.empty(2))
        tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Set every element to zero.

    Example:
        >>> from weft import nn
        >>> layer = nn.Linear(2, 2)
        >>> nn.init.zeros_(layer.bias)
        Parameter containing:
        tensor([0., 0.], requires_grad=True)
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Set a matrix to the identity, as far as its shape goes.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.init.eye_(weft.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError(f"eye_(): tensor must have 2 dimensions; tensor is {tuple(tensor.shape)}.")
    with no_grad():
        tensor.zero_()
        tensor.diagonal().fill_(1.0)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Set a convolution's weight so that it passes as many channels through as it can.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.init.dirac_(weft.empty(1, 1, 3))  # a convolution that changes nothing
        tensor([[[0., 1., 0.]]])
    """
    if not 3 <= tensor.dim() <= 5:
        raise ValueError(
            f"dirac_(): tensor must have 3, 4 or 5 dimensions; tensor is {tuple(tensor.shape)}."
        )
    if tensor.shape[0] % groups:
        raise ValueError(
            f"dirac_(): tensor's first size must be divisible by groups; tensor is "
            f"{tuple(tensor.shape)}, groups is {groups}."
        )
    per_group = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.shape[1])):
                tensor[(group * per_group + channel, channel, *centre)] = 1.0
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Count the inputs and outputs that one element of a weight's output and input is joined to."""
    if tensor.dim() < 2:
        raise ValueError(
            "A tensor with fewer than 2 dimensions has no fan in and fan out; tensor is "
            f"{tuple(tensor.shape)}."
        )
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Draw uniformly so that forward and backward keep their variance (Glorot and Bengio).

    Example:
        >>> import weft
        >>> from weft import nn
        >>> weight = nn.init.xavier_uniform_(weft.empty(3, 5))
        >>> weight.abs().max() <= (6 / (3 + 5)) ** 0.5
        tensor(True)
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = gain * math.sqrt(6.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw normally so that forward and backward keep their variance (Glorot and Bengio).

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.init.xavier_normal_(weft.empty(3, 5), gain=2.0).shape
        weft.Size([3, 5])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def _kaiming_deviation(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', not {mode!r}.")
    fan = _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Draw uniformly so that the variance survives a rectifier (He and others).

    Args:
        tensor: the weight.
        a: the rectifier's negative slope.
        mode: "fan_in" keeps the variance forward, "fan_out" backward.
        nonlinearity: the function that follows.
        generator: the source of randomness.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> weight = nn.init.kaiming_uniform_(weft.empty(3, 6), nonlinearity="relu")
        >>> weight.abs().max() <= 1.0
        tensor(True)
    """
    if 0 in tensor.shape:
        return tensor
    bound = math.sqrt(3.0) * _kaiming_deviation(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Draw normally so that the variance survives a rectifier; see `kaiming_uniform_`.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> nn.init.kaiming_normal_(weft.empty(3, 5), mode="fan_out").shape
        weft.Size([3, 5])
    """
    if 0 in tensor.shape:
        return tensor
    deviation = _kaiming_deviation(tensor, a, mode, nonlinearity)
    return normal_(tensor, 0.0, deviation, generator)


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Set a matrix to random orthonormal rows or columns, times `gain`.

    Dimensions after the first count as one.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> weight = nn.init.orthogonal_(weft.empty(3, 3))
        >>> weft.allclose(weight @ weight.t(), weft.eye(3), atol=1e-5)
        True
    """
    import numpy as np  # noqa: PLC0415 (NumPy has the decomposition; imports of weft stay light)

    if tensor.dim() < 2:
        raise ValueError(
            "orthogonal_(): tensor must have 2 or more dimensions; tensor is "
            f"{tuple(tensor.shape)}."
        )
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    drawn = normal_(creation.empty((rows, columns), dtype=tensor.dtype), generator=generator)
    matrix = np.array(drawn.tolist())
    q, r = np.linalg.qr(matrix.T if rows < columns else matrix)
    q *= np.sign(np.diag(r))  # makes the distribution uniform
    result = ((q.T if rows < columns else q) * gain).tolist()
    with no_grad():
        return tensor.copy_(_core.tensor(result, _core.float64).reshape(tensor.shape))


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Draw a matrix normally and set a share of each column to zero.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> (nn.init.sparse_(weft.empty(10, 2), sparsity=0.3) == 0).sum(dim=0)
        tensor([3, 3])
    """
    if tensor.dim() != 2:
        raise ValueError(
            f"sparse_(): tensor must have 2 dimensions; tensor is {tuple(tensor.shape)}."
        )
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0.0, std, generator=generator)
        for column in range(columns):
            tensor[creation.randperm(rows, generator=generator)[:zeros], column] = 0
    return tensor


explain_missing(__name__)
