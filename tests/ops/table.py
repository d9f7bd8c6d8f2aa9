"""The op table: one row for every public op, gathered from the families."""

from __future__ import annotations

from tests.ops.row import Row
from tests.ops.rows import (
    activation,
    arithmetic,
    composed,
    convolution,
    copying,
    creation,
    indexing,
    linear_algebra,
    loss,
    pointwise,
    random,
    reduction,
    shape,
)

FAMILIES = (
    arithmetic,
    pointwise,
    activation,
    reduction,
    linear_algebra,
    shape,
    indexing,
    convolution,
    loss,
    creation,
    random,
    copying,
    composed,
)
TABLE: tuple[Row, ...] = tuple(row for family in FAMILIES for row in family.ROWS)


def row_id(row: Row) -> str:
    """Name a row in pytest's output."""
    return "-".join((row.name, *row.tags))


# Ops that no user calls by name, each with the row (or "folder: what" elsewhere) that runs it.
PARTS = {
    "alias": "Tensor.view",
    "batched_matmul": "matmul",
    "cast": "Tensor.to",
    "clamp_range": "clamp",
    "convolution": "nn.functional.conv2d",
    "convolution_transpose": "nn.functional.conv_transpose2d",
    "convolution_weight": "nn.functional.conv2d",
    "copy": "Tensor.copy_",
    "cross_entropy_backward": "nn.functional.cross_entropy",
    "cross_entropy_classes": "nn.functional.cross_entropy",
    "div_floor": "div",
    "div_trunc": "div",
    "dropout_by_counter": "nn.functional.dropout",
    "fill": "Tensor.fill_",
    "gaussian": "randn",
    "gelu_erf": "nn.functional.gelu",
    "gelu_erf_slope": "nn.functional.gelu",
    "gelu_tanh": "nn.functional.gelu",
    "gru_gates": "tests/nn: GRUCell",
    "gru_gates_backward": "tests/nn: GRUCell",
    "index": "Tensor.__getitem__",
    "index_backward": "index_select",
    "layer_norm_backward": "nn.functional.layer_norm",
    "log_softmax_backward": "log_softmax",
    "lstm_gates": "tests/nn: LSTMCell",
    "lstm_gates_backward": "tests/nn: LSTMCell",
    "max_dim": "max",
    "min_dim": "min",
    "outer_sum": "matmul",
    "permutation": "randperm",
    "restride": "as_strided",
    "scatter_combine": "scatter_reduce",
    "sigmoid_backward": "sigmoid",
    "slice": "Tensor.__getitem__",
    "softmax_backward": "softmax",
    "strided_view": "as_strided",
    "tanh_backward": "tanh",
    "uniform": "rand",
    "zero": "Tensor.zero_",
}
