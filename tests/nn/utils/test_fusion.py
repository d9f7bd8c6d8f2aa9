"""Batch normalisation folded into the layer before it."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft import nn
from weft.nn.utils import fuse_conv_bn_eval, fuse_linear_bn_eval


@pytest.mark.parametrize("bias", [True, False])
def test_fused_layers_do_the_same(bias: bool) -> None:
    for layer, norm, x, fuse in (
        (
            nn.Conv2d(2, 3, 3, bias=bias),
            nn.BatchNorm2d(3),
            weft.randn(2, 2, 5, 5),
            fuse_conv_bn_eval,
        ),
        (nn.Linear(4, 3, bias=bias), nn.BatchNorm1d(3), weft.randn(5, 4), fuse_linear_bn_eval),
    ):
        both: Any = nn.Sequential(layer, norm)
        both(x)  # moves the statistics
        both.eval()
        assert weft.allclose(fuse(layer, norm)(x), both(x), atol=1e-5)


def test_training_modules_are_refused() -> None:
    with pytest.raises(ValueError, match="call eval"):
        fuse_linear_bn_eval(nn.Linear(2, 2), nn.BatchNorm1d(2))
