"""Parameters as one vector."""

from __future__ import annotations

import pytest

import weft
from weft import nn
from weft.nn import utils


def test_round_trip():
    model = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(model.parameters())
    assert vector.shape == (9,)
    assert vector.requires_grad
    utils.vector_to_parameters(weft.arange(9.0), model.parameters())
    assert model.weight.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert model.bias.tolist() == [6, 7, 8]
    with pytest.raises(TypeError, match="tensor"):
        utils.vector_to_parameters([1.0], model.parameters())
