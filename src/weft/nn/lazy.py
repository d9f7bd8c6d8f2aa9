"""Modules that learn the size of their input from the first one."""

from __future__ import annotations

from typing import Any, ClassVar

from weft import _core
from weft._core import Tensor
from weft.batching.scope import at_once
from weft.nn.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from weft.nn.linear import Linear
from weft.nn.module import Module
from weft.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)


class _Lazy(Module):
    """A module that becomes another one at its first call, and has no parameters before."""

    becomes: ClassVar[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._arguments = (args, kwargs)

    def _size_of(self, input: Tensor) -> int:
        """Return the size that the other module's first argument is."""
        return input.shape[1]

    def has_uninitialized_params(self) -> bool:
        """Return True: the module was not called yet."""
        return True

    def initialize_parameters(self, input: Tensor) -> None:
        """Become the other module, with parameters that fit an input."""
        args, kwargs = self._arguments
        with at_once():  # examples of a map may come here together
            made = self.becomes(self._size_of(input), *args, **kwargs)
        made.train(self.training)
        hooks = {"_hooks": self._hooks} if self._hooks is not None else {}
        self._take_attributes({**vars(made), **hooks})
        self.__class__ = self.becomes

    def forward(self, input: Tensor) -> Tensor:
        """Become the other module and run it."""
        self.initialize_parameters(input)
        return self.forward(input)

    def parameters(self, recurse: bool = True) -> Any:
        """Raise: there are none before the first call."""
        del recurse
        raise _core.UnsupportedError(
            f"{type(self).__name__}: there are no parameters before the first call; call the "
            "model once before you make an optimizer."
        )

    def extra_repr(self) -> str:
        """Say the arguments."""
        args, kwargs = self._arguments
        words = [repr(arg) for arg in args]
        return ", ".join([*words, *(f"{name}={value!r}" for name, value in kwargs.items())])


class LazyLinear(_Lazy):
    """Become a Linear whose `in_features` is the first input's last size.

    Args:
        args: the arguments of Linear without the first, by position.
        kwargs: and by name.

    Example:
        >>> import weft
        >>> layer = weft.nn.LazyLinear(3)
        >>> layer(weft.ones(2, 4)).shape
        weft.Size([2, 3])
        >>> layer
        Linear(in_features=4, out_features=3, bias=True)
    """

    becomes = Linear

    def _size_of(self, input: Tensor) -> int:
        return input.shape[-1]


class _LazyConv(_Lazy):
    rank: ClassVar[int]

    def _size_of(self, input: Tensor) -> int:
        return input.shape[-1 - self.rank]


class LazyConv1d(_LazyConv):
    """Become a Conv1d whose `in_channels` are the first input's.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.LazyConv1d(16, 3)
        >>> _ = layer(weft.zeros(8, 3, 32))
        >>> layer
        Conv1d(3, 16, kernel_size=(3,), stride=(1,))
    """

    becomes, rank = Conv1d, 1


class LazyConv2d(_LazyConv):
    """Become a Conv2d whose `in_channels` are the first input's.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.LazyConv2d(16, 3)
        >>> _ = layer(weft.zeros(8, 3, 32, 32))
        >>> layer
        Conv2d(3, 16, kernel_size=(3, 3), stride=(1, 1))
    """

    becomes, rank = Conv2d, 2


class LazyConv3d(_LazyConv):
    """Become a Conv3d whose `in_channels` are the first input's.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.LazyConv3d(16, 3)
        >>> _ = layer(weft.zeros(2, 3, 8, 8, 8))
        >>> layer
        Conv3d(3, 16, kernel_size=(3, 3, 3), stride=(1, 1, 1))
    """

    becomes, rank = Conv3d, 3


class LazyConvTranspose1d(_LazyConv):
    """Become a ConvTranspose1d whose `in_channels` are the first input's.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.LazyConvTranspose1d(16, 3)
        >>> _ = layer(weft.zeros(8, 3, 32))
        >>> layer
        ConvTranspose1d(3, 16, kernel_size=(3,), stride=(1,))
    """

    becomes, rank = ConvTranspose1d, 1


class LazyConvTranspose2d(_LazyConv):
    """Become a ConvTranspose2d whose `in_channels` are the first input's.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.LazyConvTranspose2d(16, 3)
        >>> _ = layer(weft.zeros(8, 3, 32, 32))
        >>> layer
        ConvTranspose2d(3, 16, kernel_size=(3, 3), stride=(1, 1))
    """

    becomes, rank = ConvTranspose2d, 2


class LazyConvTranspose3d(_LazyConv):
    """Become a ConvTranspose3d whose `in_channels` are the first input's.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.LazyConvTranspose3d(16, 3)
        >>> _ = layer(weft.zeros(2, 3, 8, 8, 8))
        >>> layer
        ConvTranspose3d(3, 16, kernel_size=(3, 3, 3), stride=(1, 1, 1))
    """

    becomes, rank = ConvTranspose3d, 3


class LazyBatchNorm1d(_Lazy):
    """Become a BatchNorm1d whose `num_features` are the first input's channels.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.LazyBatchNorm1d()
        >>> _ = layer(weft.zeros(8, 3, 32))
        >>> layer.num_features
        3
    """

    becomes = BatchNorm1d


class LazyBatchNorm2d(_Lazy):
    """Become a BatchNorm2d whose `num_features` are the first input's channels.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.LazyBatchNorm2d()
        >>> _ = layer(weft.zeros(8, 3, 32, 32))
        >>> layer.num_features
        3
    """

    becomes = BatchNorm2d


class LazyBatchNorm3d(_Lazy):
    """Become a BatchNorm3d whose `num_features` are the first input's channels.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.LazyBatchNorm3d()
        >>> _ = layer(weft.zeros(2, 3, 8, 8, 8))
        >>> layer.num_features
        3
    """

    becomes = BatchNorm3d


class _LazyInstanceNorm(_Lazy):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype)


class LazyInstanceNorm1d(_LazyInstanceNorm):
    """Become an InstanceNorm1d whose `num_features` are the first input's channels.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.LazyInstanceNorm1d()
        >>> _ = layer(weft.zeros(8, 3, 32))
        >>> layer.num_features
        3
    """

    becomes = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """Become an InstanceNorm2d whose `num_features` are the first input's channels.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.LazyInstanceNorm2d()
        >>> _ = layer(weft.zeros(8, 3, 32, 32))
        >>> layer.num_features
        3
    """

    becomes = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """Become an InstanceNorm3d whose `num_features` are the first input's channels.

    Example:
        >>> import weft
        >>> from weft import nn
        >>> layer = nn.LazyInstanceNorm3d()
        >>> _ = layer(weft.zeros(2, 3, 8, 8, 8))
        >>> layer.num_features
        3
    """

    becomes = InstanceNorm3d
