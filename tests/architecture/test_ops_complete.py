"""Every row of the op table is complete: documented, differentiable or not for a reason, tested."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.ops.table import TABLE
from weft import _core

ROOT = Path(__file__).parents[2]
OPS: dict[str, dict[str, Any]] = {op["name"]: op for op in _core.describe_ops()}

# Ops without a row of their own, and why.
WITHOUT_ROW: dict[str, str] = {
    "alias": "x[...] is this op; the rows of __getitem__ read it",
    "as_strided_scatter": "the gradient of as_strided runs it, to second order",
    "batch_norm_train": "part of batch_norm with training=True",
    "batched_matmul": "part of matmul and bmm",
    "cast": "Tensor.to is this op; every row in two dtypes casts",
    "clamp_range": "part of clamp with both limits",
    "constant_pad": "part of pad with mode='constant'",
    "copy": "x.copy_(y) and x[i] = y are this op; tests/test_views_inplace.py writes with it",
    "cross_entropy_backward": "part of cross_entropy's gradient",
    "cross_entropy_classes": "part of cross_entropy with class indices",
    "diagonal_backward": "part of diagonal's gradient",
    "div_floor": "part of div with rounding_mode='floor'",
    "div_trunc": "part of div with rounding_mode='trunc'",
    "embedding_backward": "part of embedding's gradient",
    "exponential": "the in-place form is PyTorch's: the row of Tensor.exponential_",
    "fill": "the in-place form is PyTorch's: tests/test_views_inplace.py fills with it",
    "gaussian": "the in-place form is PyTorch's normal_; the rows of normal and randn draw with it",
    "gelu_erf": "part of gelu",
    "gelu_erf_slope": "part of gelu's gradient",
    "gelu_tanh": "part of gelu with approximate='tanh'",
    "gru_gates": "part of nn.GRUCell; tests/nn/test_recurrent.py runs it",
    "gru_gates_backward": "part of gru_gates' gradient",
    "huber_elements": "part of huber_loss",
    "index": "x[i] with tensors is this op; the rows of __getitem__ read with it",
    "isclose_number": "part of isclose",
    "layer_norm_backward": "part of layer_norm's gradient",
    "linear_recurrence": "part of cumprod's gradient",
    "log_odds": "part of logit",
    "log_softmax_backward": "part of log_softmax's gradient",
    "lstm_gates": "part of nn.LSTMCell; tests/nn/test_recurrent.py runs it",
    "lstm_gates_backward": "part of lstm_gates' gradient",
    "masked_scatter_backward": "part of masked_scatter's gradient",
    "max_all": "part of max without a dimension",
    "max_dim": "part of max along a dimension",
    "median_all": "part of median without a dimension",
    "median_dim": "part of median along a dimension",
    "min_all": "part of min without a dimension",
    "min_dim": "part of min along a dimension",
    "normalize_channels": "part of batch_norm",
    "outer_sum": "part of linear's gradient",
    "prelu_elements": "part of prelu",
    "repeat_interleave_index": "part of repeat_interleave",
    "replace_nonfinite": "part of nan_to_num",
    "restride": "part of as_strided's gradient",
    "round_to_integer": "part of round",
    "select_backward": "part of select's gradient",
    "slice": "x[a:b:c] is this op; the rows of __getitem__ read with it",
    "sigmoid_backward": "part of sigmoid's gradient",
    "slice_backward": "part of slice's gradient",
    "smooth_l1_elements": "part of smooth_l1_loss",
    "softmax_backward": "part of softmax's gradient",
    "strided_scatter": "part of as_strided_scatter",
    "strided_view": "part of as_strided",
    "tanh_backward": "part of tanh's gradient",
    "unfold_backward": "part of unfold's gradient",
    "uniform": "the in-place form is PyTorch's: the rows of rand draw with it",
    "unique_all": "part of unique",
    "unique_consecutive_all": "part of unique_consecutive",
    "zero": "the in-place form is PyTorch's: tests/test_views_inplace.py clears with it",
}


def declared_ops() -> set[str]:
    sources = (ROOT / "cpp" / "weft" / "ops").glob("*.cpp")
    return {
        name
        for path in sources
        for name in re.findall(r"^OP\((\w+)\)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }


def ops_with_rows() -> set[str]:
    """Return the ops that have a row: by their name, or because the row's function is the op."""
    found = set()
    for row in TABLE:
        found.add(row.short_name)
        with contextlib.suppress(AttributeError):  # test_row_is_of_something_public says so
            function = row.function(weft)
            if isinstance(function, _core.OpFunction):
                found.add(function.__name__)
    return found


TESTED = ops_with_rows()


def test_every_declaration_is_in_the_table() -> None:
    assert sorted(declared_ops() ^ set(OPS)) == []


@pytest.mark.parametrize("name", OPS)
def test_is_documented(name: str) -> None:
    doc = OPS[name]["doc"]
    assert re.match(r"[A-Z][a-z]+s? .*\.", doc), "the doc begins with a sentence"
    assert not re.match(r"(A|An|The|This|It|Whether)\b", doc), "the sentence begins with a verb"
    assert "  " not in doc, "two blanks in a row"


@pytest.mark.parametrize("name", OPS)
def test_has_a_gradient_or_a_reason(name: str) -> None:
    op = OPS[name]
    if op["differentiable"] or op["kind"] == "composite":
        return
    assert len(op["no_gradient"].split()) >= 3, "a reason is a sentence"


@pytest.mark.parametrize("name", OPS)
def test_is_tested(name: str) -> None:
    if name in WITHOUT_ROW:
        assert name not in TESTED, f"{name} has a row: take it out of WITHOUT_ROW"
        return
    assert name in TESTED, f"{name} has no row in tests/ops/rows and no reason in WITHOUT_ROW"


def test_reasons_are_of_ops() -> None:
    assert sorted(set(WITHOUT_ROW) - set(OPS)) == []


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op["in_place"]])
def test_in_place_form_is_there(name: str) -> None:
    assert hasattr(_core.ops, f"{name}_")
    assert hasattr(weft.Tensor, f"{name}_")


@pytest.mark.parametrize("name", OPS)
def test_is_a_method_if_it_can_be(name: str) -> None:
    parameters = OPS[name]["parameters"]
    if parameters and parameters[0]["name"] == "input" and "Tensor" in parameters[0]["type"]:
        assert hasattr(weft.Tensor, name)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: "-".join((row.name, *row.tags)))
def test_row_is_of_something_public(row: Any) -> None:
    assert callable(row.function(weft))
    assert not row.method or hasattr(weft.Tensor, row.short_name)
    assert not row.in_place or hasattr(weft.Tensor, f"{row.short_name}_")


@pytest.mark.parametrize("name", OPS)
def test_signature_is_regular(name: str) -> None:
    seen_default = False
    for parameter in OPS[name]["parameters"]:
        has_default = parameter["default"] is not None or parameter["type"] == "Generator"
        assert has_default or parameter["keyword_only"] or not seen_default, parameter["name"]
        seen_default = seen_default or has_default
