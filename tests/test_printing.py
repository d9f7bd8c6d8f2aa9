"""Tensors print as PyTorch 2.13 prints them: each expected text was printed by it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from weft import _core
from weft._printing import format_tensor, get_printoptions, printoptions, set_printoptions


@dataclass(frozen=True)
class Case:
    name: str
    data: Any
    dtype_name: str
    expected: str
    facts: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case(
        "zero_dim",
        np.array(3.5),
        "float32",
        expected="tensor(3.5000)",
    ),
    Case(
        "zero_dim_whole",
        np.array(-2.0),
        "float32",
        expected="tensor(-2.)",
    ),
    Case(
        "zero_dim_int",
        np.array(7),
        "int64",
        expected="tensor(7)",
    ),
    Case(
        "zero_dim_bool",
        np.array(True),
        "bool",
        expected="tensor(True)",
    ),
    Case(
        "whole_floats",
        np.array([1.0, -2.0, 30.0]),
        "float32",
        expected="tensor([ 1., -2., 30.])",
    ),
    Case(
        "fractions",
        np.array([1.0, -2.5, 30.25]),
        "float32",
        expected="tensor([ 1.0000, -2.5000, 30.2500])",
    ),
    Case(
        "rounding_widens_column",
        np.array([9.99995, 99999.99999]),
        "float64",
        expected="tensor([1.0000e+01, 1.0000e+05], dtype=torch.float64)",
    ),
    Case(
        "thirds",
        np.arange(1, 7).reshape(2, 3) / 3,
        "float32",
        expected=("tensor([[0.3333, 0.6667, 1.0000],\n        [1.3333, 1.6667, 2.0000]])"),
    ),
    Case(
        "negative_zero",
        np.array([0.0, -0.0]),
        "float32",
        expected="tensor([0., -0.])",
    ),
    Case(
        "only_nonfinite",
        np.array([np.nan, np.inf, -np.inf]),
        "float32",
        expected="tensor([nan, inf, -inf])",
    ),
    Case(
        "nonfinite_among_whole",
        np.array([[1.0, np.inf], [np.nan, 2.0]]),
        "float32",
        expected=("tensor([[1., inf],\n        [nan, 2.]])"),
    ),
    Case(
        "nonfinite_among_fractions",
        np.array([0.5, np.nan, -np.inf, 0.0]),
        "float32",
        expected="tensor([0.5000,    nan,   -inf, 0.0000])",
    ),
    Case(
        "nonfinite_among_scientific",
        np.array([1e-7, np.nan, np.inf, 0.0]),
        "float32",
        expected="tensor([1.0000e-07,        nan,        inf, 0.0000e+00])",
    ),
    Case(
        "ratio_exactly_1000",
        np.array([1.0, 1000.0]),
        "float32",
        expected="tensor([   1., 1000.])",
    ),
    Case(
        "ratio_over_1000",
        np.array([1.0, 1001.0]),
        "float32",
        expected="tensor([1.0000e+00, 1.0010e+03])",
    ),
    Case(
        "ratio_over_1000_fractions",
        np.array([0.5, 501.0]),
        "float32",
        expected="tensor([5.0000e-01, 5.0100e+02])",
    ),
    Case(
        "largest_plain",
        np.array([1e8]),
        "float64",
        expected="tensor([100000000.], dtype=torch.float64)",
    ),
    Case(
        "over_largest_plain",
        np.array([1e8 + 1]),
        "float64",
        expected="tensor([1.0000e+08], dtype=torch.float64)",
    ),
    Case(
        "smallest_plain",
        np.array([1e-4]),
        "float64",
        expected="tensor([0.0001], dtype=torch.float64)",
    ),
    Case(
        "under_smallest_plain",
        np.array([9.9e-5]),
        "float64",
        expected="tensor([9.9000e-05], dtype=torch.float64)",
    ),
    Case(
        "three_digit_exponent",
        np.array([1e-300, -1.0, 1e300]),
        "float64",
        expected="tensor([1.0000e-300, -1.0000e+00, 1.0000e+300], dtype=torch.float64)",
    ),
    Case(
        "subnormal",
        np.array([5e-324, 1.0]),
        "float64",
        expected="tensor([4.9407e-324,  1.0000e+00], dtype=torch.float64)",
    ),
    Case(
        "float64_shown",
        np.array([1.5]),
        "float64",
        expected="tensor([1.5000], dtype=torch.float64)",
    ),
    Case(
        "float64_default",
        np.array([1.5]),
        "float64",
        facts={"default_dtype_name": "float64"},
        expected="tensor([1.5000])",
    ),
    Case(
        "float32_not_default",
        np.array([1.5]),
        "float32",
        facts={"default_dtype_name": "float64"},
        expected="tensor([1.5000], dtype=torch.float32)",
    ),
    Case(
        "float16",
        np.array([0.1, 65504.0]),
        "float16",
        expected="tensor([9.9976e-02, 6.5504e+04], dtype=torch.float16)",
    ),
    Case(
        "bfloat16",
        np.array([0.1, 3.0]),
        "bfloat16",
        expected="tensor([0.1001, 3.0000], dtype=torch.bfloat16)",
    ),
    Case(
        "int8",
        np.array([-128, 0, 127]),
        "int8",
        expected="tensor([-128,    0,  127], dtype=torch.int8)",
    ),
    Case(
        "int16",
        np.array([-32768, 5]),
        "int16",
        expected="tensor([-32768,      5], dtype=torch.int16)",
    ),
    Case(
        "int32",
        np.array([[1, 2], [3, 40000]]),
        "int32",
        expected=("tensor([[    1,     2],\n        [    3, 40000]], dtype=torch.int32)"),
    ),
    Case(
        "uint8",
        np.array([0, 255]),
        "uint8",
        expected="tensor([  0, 255], dtype=torch.uint8)",
    ),
    Case(
        "int64_extremes",
        np.array([-(2**63), 2**63 - 1]),
        "int64",
        expected="tensor([-9223372036854775808,  9223372036854775807])",
    ),
    Case(
        "bool",
        np.array([[True, False], [False, False]]),
        "bool",
        expected=("tensor([[ True, False],\n        [False, False]])"),
    ),
    Case(
        "empty",
        np.zeros(0),
        "float32",
        expected="tensor([])",
    ),
    Case(
        "empty_int64",
        np.zeros(0),
        "int64",
        expected="tensor([], dtype=torch.int64)",
    ),
    Case(
        "empty_bool",
        np.zeros(0),
        "bool",
        expected="tensor([], dtype=torch.bool)",
    ),
    Case(
        "empty_matrix",
        np.zeros((0, 3)),
        "float32",
        expected="tensor([], size=(0, 3))",
    ),
    Case(
        "empty_matrix_float64",
        np.zeros((2, 0, 3)),
        "float64",
        expected="tensor([], size=(2, 0, 3), dtype=torch.float64)",
    ),
    Case(
        "empty_requires_grad",
        np.zeros((0, 3)),
        "float32",
        facts={"requires_grad": True},
        expected="tensor([], size=(0, 3), requires_grad=True)",
    ),
    Case(
        "one_by_one",
        np.zeros((1, 1, 1)),
        "float32",
        expected="tensor([[[0.]]])",
    ),
    Case(
        "cube",
        np.arange(12.0).reshape(2, 2, 3),
        "float32",
        expected=(
            "tensor([[[ 0.,  1.,  2.],\n"
            "         [ 3.,  4.,  5.]],\n"
            "\n"
            "        [[ 6.,  7.,  8.],\n"
            "         [ 9., 10., 11.]]])"
        ),
    ),
    Case(
        "four_dimensions",
        np.arange(16).reshape(2, 2, 2, 2),
        "int64",
        expected=(
            "tensor([[[[ 0,  1],\n"
            "          [ 2,  3]],\n"
            "\n"
            "         [[ 4,  5],\n"
            "          [ 6,  7]]],\n"
            "\n"
            "\n"
            "        [[[ 8,  9],\n"
            "          [10, 11]],\n"
            "\n"
            "         [[12, 13],\n"
            "          [14, 15]]]])"
        ),
    ),
    Case(
        "transposed",
        np.arange(6).reshape(2, 3).T,
        "int64",
        expected=("tensor([[0, 3],\n        [1, 4],\n        [2, 5]])"),
    ),
    Case(
        "wrapped_row",
        np.arange(30.0),
        "float32",
        expected=(
            "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
            "        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,\n"
            "        28., 29.])"
        ),
    ),
    Case(
        "wrapped_rows",
        np.arange(50).reshape(2, 25),
        "int64",
        expected=(
            "tensor([[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "         18, 19, 20, 21, 22, 23, 24],\n"
            "        [25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42,\n"
            "         43, 44, 45, 46, 47, 48, 49]])"
        ),
    ),
    Case(
        "row_with_one_item_too_many",
        np.arange(10.0) / 7,
        "float32",
        expected=(
            "tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429,\n"
            "        1.2857])"
        ),
    ),
    Case(
        "summary_row",
        np.arange(1001),
        "int64",
        expected="tensor([   0,    1,    2,  ...,  998,  999, 1000])",
    ),
    Case(
        "summary_matrix",
        np.arange(10000.0).reshape(100, 100),
        "float32",
        expected=(
            "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.7000e+01, 9.8000e+01,\n"
            "         9.9000e+01],\n"
            "        [1.0000e+02, 1.0100e+02, 1.0200e+02,  ..., 1.9700e+02, 1.9800e+02,\n"
            "         1.9900e+02],\n"
            "        [2.0000e+02, 2.0100e+02, 2.0200e+02,  ..., 2.9700e+02, 2.9800e+02,\n"
            "         2.9900e+02],\n"
            "        ...,\n"
            "        [9.7000e+03, 9.7010e+03, 9.7020e+03,  ..., 9.7970e+03, 9.7980e+03,\n"
            "         9.7990e+03],\n"
            "        [9.8000e+03, 9.8010e+03, 9.8020e+03,  ..., 9.8970e+03, 9.8980e+03,\n"
            "         9.8990e+03],\n"
            "        [9.9000e+03, 9.9010e+03, 9.9020e+03,  ..., 9.9970e+03, 9.9980e+03,\n"
            "         9.9990e+03]])"
        ),
    ),
    Case(
        "summary_short_inner",
        np.arange(2400).reshape(400, 6),
        "int64",
        expected=(
            "tensor([[   0,    1,    2,    3,    4,    5],\n"
            "        [   6,    7,    8,    9,   10,   11],\n"
            "        [  12,   13,   14,   15,   16,   17],\n"
            "        ...,\n"
            "        [2382, 2383, 2384, 2385, 2386, 2387],\n"
            "        [2388, 2389, 2390, 2391, 2392, 2393],\n"
            "        [2394, 2395, 2396, 2397, 2398, 2399]])"
        ),
    ),
    Case(
        "summary_cube",
        np.arange(8000).reshape(20, 20, 20),
        "int64",
        expected=(
            "tensor([[[   0,    1,    2,  ...,   17,   18,   19],\n"
            "         [  20,   21,   22,  ...,   37,   38,   39],\n"
            "         [  40,   41,   42,  ...,   57,   58,   59],\n"
            "         ...,\n"
            "         [ 340,  341,  342,  ...,  357,  358,  359],\n"
            "         [ 360,  361,  362,  ...,  377,  378,  379],\n"
            "         [ 380,  381,  382,  ...,  397,  398,  399]],\n"
            "\n"
            "        [[ 400,  401,  402,  ...,  417,  418,  419],\n"
            "         [ 420,  421,  422,  ...,  437,  438,  439],\n"
            "         [ 440,  441,  442,  ...,  457,  458,  459],\n"
            "         ...,\n"
            "         [ 740,  741,  742,  ...,  757,  758,  759],\n"
            "         [ 760,  761,  762,  ...,  777,  778,  779],\n"
            "         [ 780,  781,  782,  ...,  797,  798,  799]],\n"
            "\n"
            "        [[ 800,  801,  802,  ...,  817,  818,  819],\n"
            "         [ 820,  821,  822,  ...,  837,  838,  839],\n"
            "         [ 840,  841,  842,  ...,  857,  858,  859],\n"
            "         ...,\n"
            "         [1140, 1141, 1142,  ..., 1157, 1158, 1159],\n"
            "         [1160, 1161, 1162,  ..., 1177, 1178, 1179],\n"
            "         [1180, 1181, 1182,  ..., 1197, 1198, 1199]],\n"
            "\n"
            "        ...,\n"
            "\n"
            "        [[6800, 6801, 6802,  ..., 6817, 6818, 6819],\n"
            "         [6820, 6821, 6822,  ..., 6837, 6838, 6839],\n"
            "         [6840, 6841, 6842,  ..., 6857, 6858, 6859],\n"
            "         ...,\n"
            "         [7140, 7141, 7142,  ..., 7157, 7158, 7159],\n"
            "         [7160, 7161, 7162,  ..., 7177, 7178, 7179],\n"
            "         [7180, 7181, 7182,  ..., 7197, 7198, 7199]],\n"
            "\n"
            "        [[7200, 7201, 7202,  ..., 7217, 7218, 7219],\n"
            "         [7220, 7221, 7222,  ..., 7237, 7238, 7239],\n"
            "         [7240, 7241, 7242,  ..., 7257, 7258, 7259],\n"
            "         ...,\n"
            "         [7540, 7541, 7542,  ..., 7557, 7558, 7559],\n"
            "         [7560, 7561, 7562,  ..., 7577, 7578, 7579],\n"
            "         [7580, 7581, 7582,  ..., 7597, 7598, 7599]],\n"
            "\n"
            "        [[7600, 7601, 7602,  ..., 7617, 7618, 7619],\n"
            "         [7620, 7621, 7622,  ..., 7637, 7638, 7639],\n"
            "         [7640, 7641, 7642,  ..., 7657, 7658, 7659],\n"
            "         ...,\n"
            "         [7940, 7941, 7942,  ..., 7957, 7958, 7959],\n"
            "         [7960, 7961, 7962,  ..., 7977, 7978, 7979],\n"
            "         [7980, 7981, 7982,  ..., 7997, 7998, 7999]]])"
        ),
    ),
    Case(
        "summary_ignores_hidden",
        np.where(np.arange(2000) == 1000, 1e30, 1.0),
        "float32",
        expected="tensor([1., 1., 1.,  ..., 1., 1., 1.])",
    ),
    Case(
        "requires_grad",
        np.array([1.0, -1.0, 2.0]),
        "float32",
        facts={"requires_grad": True},
        expected="tensor([ 1., -1.,  2.], requires_grad=True)",
    ),
    Case(
        "grad_fn",
        np.array([2.0, -2.0, 4.0]),
        "float32",
        facts={"grad_fn_name": "MulBackward0"},
        expected="tensor([ 2., -2.,  4.], grad_fn=<MulBackward0>)",
    ),
    Case(
        "grad_fn_zero_dim",
        np.array(6.0),
        "float32",
        facts={"grad_fn_name": "SumBackward0"},
        expected="tensor(6., grad_fn=<SumBackward0>)",
    ),
    Case(
        "parameter",
        np.array([[0.25, -0.5]]),
        "float32",
        facts={"is_parameter": True, "requires_grad": True},
        expected=("Parameter containing:\ntensor([[ 0.2500, -0.5000]], requires_grad=True)"),
    ),
    Case(
        "frozen_parameter",
        np.array([[0.25, -0.5]]),
        "float32",
        facts={"is_parameter": True},
        expected=("Parameter containing:\ntensor([[ 0.2500, -0.5000]])"),
    ),
    Case(
        "dtype_and_grad_fn",
        np.array([0.5]),
        "float64",
        facts={"grad_fn_name": "MulBackward0"},
        expected="tensor([0.5000], dtype=torch.float64, grad_fn=<MulBackward0>)",
    ),
    Case(
        "suffix_on_new_line",
        np.arange(1.0, 9.0) / 7,
        "float32",
        facts={"grad_fn_name": "MulBackward0"},
        expected=(
            "tensor([0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429],\n"
            "       grad_fn=<MulBackward0>)"
        ),
    ),
    Case(
        "two_suffixes_on_new_line",
        np.arange(1.0, 9.0) / 7,
        "float64",
        facts={"grad_fn_name": "MulBackward0"},
        expected=(
            "tensor([0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429],\n"
            "       dtype=torch.float64, grad_fn=<MulBackward0>)"
        ),
    ),
    Case(
        "suffix_just_fits",
        np.array([0.5, 1.5, 2.5]),
        "float32",
        facts={"requires_grad": True},
        options={"precision": 13},
        expected="tensor([0.5000000000000, 1.5000000000000, 2.5000000000000], requires_grad=True)",
    ),
    Case(
        "suffix_just_too_long",
        np.array([0.5, 1.5, 2.5, 3.5]),
        "float32",
        facts={"requires_grad": True},
        options={"precision": 9},
        expected=(
            "tensor([0.500000000, 1.500000000, 2.500000000, 3.500000000],\n"
            "       requires_grad=True)"
        ),
    ),
    Case(
        "precision",
        np.array([1 / 3, 2.0]),
        "float64",
        options={"precision": 10},
        expected="tensor([0.3333333333, 2.0000000000], dtype=torch.float64)",
    ),
    Case(
        "precision_zero",
        np.array([0.5, 2.0]),
        "float32",
        options={"precision": 0},
        expected="tensor([0, 2])",
    ),
    Case(
        "forced_scientific",
        np.array([1.0, 20.0]),
        "float32",
        options={"sci_mode": True},
        expected="tensor([1.0000e+00, 2.0000e+01])",
    ),
    Case(
        "forced_scientific_zeros",
        np.array([0.0, np.nan]),
        "float32",
        options={"sci_mode": True},
        expected="tensor([0., nan])",
    ),
    Case(
        "forbidden_scientific",
        np.array([1e-8, 1.0, 1e9]),
        "float64",
        options={"sci_mode": False},
        expected=(
            "tensor([         0.0000,          1.0000, 1000000000.0000],\n"
            "       dtype=torch.float64)"
        ),
    ),
    Case(
        "forbidden_scientific_whole",
        np.array([1.0, 2e9]),
        "float64",
        options={"sci_mode": False},
        expected="tensor([         1., 2000000000.], dtype=torch.float64)",
    ),
    Case(
        "threshold",
        np.arange(10),
        "int64",
        options={"threshold": 9},
        expected="tensor([0, 1, 2,  ..., 7, 8, 9])",
    ),
    Case(
        "edgeitems",
        np.arange(30).reshape(5, 6),
        "int64",
        options={"threshold": 5, "edgeitems": 1},
        expected=("tensor([[ 0,  ...,  5],\n        ...,\n        [24,  ..., 29]])"),
    ),
    Case(
        "no_edgeitems",
        np.arange(30).reshape(5, 6),
        "int64",
        options={"threshold": 5, "edgeitems": 0},
        expected="tensor([...], size=(5, 6))",
    ),
    Case(
        "no_edgeitems_row",
        np.arange(30.0),
        "float64",
        options={"threshold": 5, "edgeitems": 0},
        expected="tensor([...], size=(30,), dtype=torch.float64)",
    ),
    Case(
        "no_edgeitems_in_full",
        np.array([1.0, 2.0]),
        "float32",
        options={"edgeitems": 0},
        expected="tensor([1., 2.], size=(2,))",
    ),
    Case(
        "linewidth",
        np.arange(10),
        "int64",
        options={"linewidth": 20},
        expected=("tensor([0, 1, 2, 3,\n        4, 5, 6, 7,\n        8, 9])"),
    ),
    Case(
        "linewidth_tiny",
        np.arange(3),
        "int32",
        options={"linewidth": 1},
        expected=("tensor([0,\n        1,\n        2],\n       dtype=torch.int32)"),
    ),
    Case(
        "profile_short",
        np.arange(2000.0) / 7,
        "float32",
        options={"profile": "short"},
        expected="tensor([0.00e+00, 1.43e-01,  ..., 2.85e+02, 2.86e+02])",
    ),
]


@pytest.fixture(autouse=True)
def _default_options() -> Iterator[None]:
    set_printoptions(profile="default")
    before = _core.set_shown_package("torch")  # as under `weft run`
    yield
    _core.set_shown_package(before)
    set_printoptions(profile="default")


def rounded(data: np.ndarray, dtype_name: str) -> np.ndarray:
    """Convert to the array that the tensor of this dtype would hand over."""
    if dtype_name == "bfloat16":
        return (bits(data).astype(np.uint32) << 16).view(np.float32)
    if dtype_name == "float16":
        return data.astype(np.float16).astype(np.float32)
    return data.astype(dtype_name)


def bits(data: np.ndarray) -> np.ndarray:
    """Round to the nearest bfloat16 (ties do not occur here) and return its bits."""
    return ((data.astype(np.float32).view(np.uint32) + 0x8000) >> 16).astype(np.uint16)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_prints_as_pytorch_does(case: Case) -> None:
    set_printoptions(**case.options)
    data = rounded(case.data, case.dtype_name)
    text = format_tensor(data, dtype_name=case.dtype_name, shape=data.shape, **case.facts)
    assert text == case.expected


def test_case_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def plain(data: np.ndarray) -> str:
    return format_tensor(data, dtype_name=data.dtype.name, shape=data.shape)


def test_bfloat16_bits_print_as_their_values() -> None:
    values = np.array([[0.1, -3.0], [1e-5, np.inf]])
    expected = format_tensor(rounded(values, "bfloat16"), dtype_name="bfloat16", shape=(2, 2))
    assert format_tensor(bits(values), dtype_name="bfloat16", shape=(2, 2)) == expected


def test_half_precision_may_come_unconverted() -> None:
    data = np.array([0.1, 2.5], dtype=np.float16)
    assert plain(data) == "tensor([0.1000, 2.5000], dtype=torch.float16)"


class Counting(np.ndarray):
    """An array that counts the elements read out of it."""

    read = 0

    def __getitem__(self, index: Any) -> Any:
        result = np.asarray(self)[index]
        Counting.read += result.size
        return result


def test_huge_tensors_are_read_at_their_corners_only() -> None:
    # Zero strides: the array claims 10**14 elements and owns one.
    huge = np.broadcast_to(np.float32(0.5), (10**7, 10**7)).view(Counting)
    Counting.read = 0
    text = plain(huge)
    assert text.count("0.5000") == 36
    assert Counting.read == 36


def test_full_profile_shows_everything() -> None:
    set_printoptions(profile="full")
    text = plain(np.zeros((501, 2), dtype=bool))
    assert text.count("[False, False]") == 501
    assert "..." not in text


def test_as_many_elements_as_the_threshold_are_not_summarised() -> None:
    assert "..." not in plain(np.zeros((500, 2)))
    assert "..." in plain(np.zeros((501, 2)))


def test_full_profile_keeps_line_width() -> None:
    set_printoptions(profile="full")
    assert all(len(line) <= 80 for line in plain(np.arange(5000)).splitlines())


def test_options_given_together_with_a_profile_win() -> None:
    set_printoptions(profile="short", precision=6)
    assert get_printoptions() == {
        "precision": 6,
        "threshold": 1000,
        "edgeitems": 2,
        "linewidth": 80,
        "sci_mode": None,
    }


def test_options_not_given_are_kept_but_sci_mode_is_reset() -> None:
    set_printoptions(precision=2, sci_mode=True)
    set_printoptions(linewidth=100)
    options = get_printoptions()
    assert (options["precision"], options["linewidth"], options["sci_mode"]) == (2, 100, None)


def test_with_block_restores_options_after_an_error() -> None:
    before = get_printoptions()
    with pytest.raises(KeyError), printoptions(precision=1, sci_mode=True):
        assert get_printoptions()["precision"] == 1
        raise KeyError
    assert get_printoptions() == before


def test_unknown_profile_is_refused_and_changes_nothing() -> None:
    before = get_printoptions()
    with pytest.raises(
        ValueError, match="profile must be one of default, short, full; it is 'wide'"
    ):
        set_printoptions(profile="wide", precision=1)
    assert get_printoptions() == before


@pytest.mark.parametrize("name", ["precision", "threshold", "edgeitems", "linewidth"])
def test_numbers_out_of_range_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must not be negative; it is -1"):
        set_printoptions(**{name: -1})


def test_threshold_must_be_a_number() -> None:
    with pytest.raises(ValueError, match="threshold must not be negative; it is nan"):
        set_printoptions(threshold=float("nan"))


def test_shape_must_be_the_datas() -> None:
    with pytest.raises(ValueError, match=r"data has shape \(2,\), not \(3,\)"):
        format_tensor(np.zeros(2), dtype_name="float64", shape=(3,))
