"""Parameter: a tensor that knows it belongs to a module."""

from __future__ import annotations

import copy
import pickle

import weft
from weft import nn


def test_shares_memory_and_wants_gradients():
    data = weft.zeros(2)
    parameter = nn.Parameter(data)
    data[0] = 1
    assert parameter[0] == 1
    assert parameter.requires_grad
    assert parameter.is_leaf
    assert isinstance(parameter, weft.Tensor)
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    assert nn.Parameter().shape == (0,)


def test_results_are_plain_tensors():
    assert type(nn.Parameter(weft.zeros(2)) + 1) is weft.Tensor


def test_text():
    assert repr(nn.Parameter(weft.ones(2))) == (
        "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    )


def test_copies_stay_parameters():
    parameter = nn.Parameter(weft.ones(2), requires_grad=False)
    for twin in (copy.deepcopy(parameter), pickle.loads(pickle.dumps(parameter))):
        assert isinstance(twin, nn.Parameter)
        assert not twin.requires_grad
        assert twin.data_ptr() != parameter.data_ptr()
        assert weft.equal(twin, parameter)
