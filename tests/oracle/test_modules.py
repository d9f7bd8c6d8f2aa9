"""Every Module class against PyTorch's: parameters drawn, forward, and backward."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import weft
from scripts.generate_coming_from_pytorch import MODULE_CLASSES, torch_names
from tests.oracle.module_cases import CASES, SPECIAL, Case


def as_tensor(module: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return module.tensor(value)
    return value


def run(module: Any, case: Case, weights: dict[str, Any] | None = None) -> dict[str, Any]:
    """Make a module, call it, go backward, and return everything that can be compared."""
    args = [as_tensor(module, arg) for arg in case.args]
    kwargs = {name: as_tensor(module, value) for name, value in case.kwargs.items()}
    inputs: list[Any] = []
    seen: dict[int, Any] = {}  # the same array twice is the same tensor twice
    for value in case.inputs:
        made = seen.setdefault(id(value), as_tensor(module, value))
        if made.is_floating_point() and not case.name.endswith("Loss"):
            made.requires_grad_()
        inputs.append(made)
    if inputs[0].is_floating_point():
        inputs[0].requires_grad_()
    call = {name: as_tensor(module, value) for name, value in case.call.items()}
    # In PyTorch's default dtype first: what is drawn depends on it.
    module.manual_seed(3)
    layer = getattr(module.nn, case.name)(*args, **kwargs)
    if case.name.startswith("Lazy"):
        layer = layer.double() if module is torch else layer
        if module is weft:
            weft.set_default_dtype(weft.float64)
    else:
        layer = layer.double()
    named = [] if case.name.startswith("Lazy") else list(layer.named_parameters())
    drawn = {name: param.detach().numpy().copy() for name, param in named}
    if weights is not None:  # drawn to the last bit, or not: go on from the same ones
        with weft.no_grad():
            for name, param in named:
                param.copy_(weft.tensor(weights[name]))
    try:
        layer.train(case.train)
        module.manual_seed(5)
        result = layer(*inputs, **call)
    finally:
        weft.set_default_dtype(weft.float32)
    found: dict[str, Any] = {"parameters": dict(layer.named_parameters()), "drawn": drawn}
    outputs = [each for each in _flat(result) if each is not None]
    found["outputs"] = outputs
    random = np.random.default_rng(1)
    total = None
    for output in outputs:
        if output.requires_grad:
            part = (output * module.tensor(random.uniform(0.5, 1.5, tuple(output.shape)))).sum()
            total = part if total is None else total + part
    if total is not None:
        total.backward()
    found["gradients"] = [each.grad for each in inputs if each.is_floating_point()]
    found["buffers"] = dict(layer.named_buffers())
    found["text"] = repr(layer)
    return found


def _flat(result: Any) -> list[Any]:
    if isinstance(result, list | tuple):
        return [leaf for part in result for leaf in _flat(part)]
    return [result]


def close(got: Any, expected: Any, what: str, tolerance: float = 1e-8) -> None:
    if got is None or expected is None:
        blank = expected if got is None else got
        assert blank is None or not blank.any(), what
        return
    one, other = got.detach().numpy(), expected.detach().numpy()
    assert one.shape == other.shape, what
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=what)


def case_id(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_equals_pytorch(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = run(torch, case)
    got = run(weft, case, None if case.name.startswith("Lazy") else expected["drawn"])
    assert list(got["parameters"]) == list(expected["parameters"])
    for name, values in got["drawn"].items():
        np.testing.assert_allclose(values, expected["drawn"][name], rtol=2e-6, atol=2e-7)
    bound = 1e-5 if case.name.startswith("Lazy") else 1e-8  # drawn at the first call
    for name, param in got["parameters"].items():
        other = expected["parameters"][name]
        close(param, other, name, bound)
        close(param.grad, other.grad, f"gradient of {name}", bound)
    assert len(got["outputs"]) == len(expected["outputs"])
    for one, other in zip(got["outputs"], expected["outputs"], strict=True):
        close(one, other, "output", bound)
    for one, other in zip(got["gradients"], expected["gradients"], strict=True):
        close(one, other, "gradient of an input", bound)
    assert list(got["buffers"]) == list(expected["buffers"])
    for name, buffer in got["buffers"].items():
        close(buffer, expected["buffers"][name], name, bound)
    assert got["text"] == expected["text"]


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("given", [True, False])
def test_packed_sequences(name: str, sort: bool, given: bool) -> None:
    lengths = [5, 3, 3, 1] if sort else [3, 1, 5, 3]
    random = np.random.default_rng(0)
    values, start = random.standard_normal((4, 5, 3)), random.standard_normal((4, 4, 6))

    def run_packed(module: Any) -> list[Any]:
        tools = module.nn.utils.rnn
        module.manual_seed(0)
        layer = getattr(module.nn, name)(3, 6, 2, bidirectional=True, batch_first=True).double()
        x, h = module.tensor(values).requires_grad_(), module.tensor(start).requires_grad_()
        packed = tools.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=sort)
        hx = ((h, h * 2) if name == "LSTM" else h) if given else None
        output, last = layer(packed, hx)
        padded, sizes = tools.pad_packed_sequence(output, batch_first=True, padding_value=2.0)
        results = [packed.data, packed.batch_sizes, output.data, padded, sizes]
        results += list(last) if name == "LSTM" else [last]
        weights = [each.cos().sum() for each in results if each.requires_grad]
        sum(weights[1:], weights[0]).backward()
        results += [x.grad, *(p.grad for p in layer.parameters())]
        results += [h.grad] if given else []
        return [*results, *tools.unpack_sequence(output)]

    for got, expected in zip(run_packed(weft), run_packed(torch), strict=True):
        close(got, expected, "packed", 1e-6)


def test_every_class_is_compared() -> None:
    compared = {case.name for case in CASES} | set(SPECIAL)
    there = {each.name for each in torch_names()[MODULE_CLASSES] if hasattr(weft.nn, each.name)}
    assert compared ^ there == set()
