"""Arguments at the edges of what they may be."""

from __future__ import annotations

import math

import pytest

import weft
from weft import nn
from weft.nn import functional as F


def test_attention_drops_weights() -> None:
    weft.manual_seed(0)
    query, value = weft.zeros(1, 8, 4), weft.ones(1, 8, 4)
    found = F.scaled_dot_product_attention(query, query, value, dropout_p=0.5)
    assert len(set(found.reshape(-1).tolist())) > 1
    assert weft.allclose(F.scaled_dot_product_attention(query, query, value), value)


def test_ctc_with_a_blank_that_is_not_the_first() -> None:
    weft.manual_seed(0)
    scores = weft.randn(6, 2, 5).log_softmax(-1)
    lengths = weft.tensor([6, 5]), weft.tensor([2, 3])
    targets = weft.tensor([[1, 2, 0], [2, 2, 1]])
    # The same classes in another order: the blank was the last one, and is the first one.
    moved = weft.cat([scores[..., 4:], scores[..., :4]], -1)
    one = F.ctc_loss(scores, targets, *lengths, blank=4, reduction="none")
    other = F.ctc_loss(moved, targets + 1, *lengths, blank=0, reduction="none")
    assert weft.allclose(one, other)


def test_ctc_of_one_example_alone() -> None:
    weft.manual_seed(0)
    scores, targets = weft.randn(6, 5).log_softmax(-1), weft.tensor([1, 2, 2])
    one = F.ctc_loss(scores, targets, weft.tensor(6), weft.tensor(3), reduction="sum")
    many = F.ctc_loss(scores.unsqueeze(1), targets.unsqueeze(0), (6,), (3,), reduction="sum")
    assert weft.allclose(one, many)


def test_limits_of_bfloat16() -> None:
    info = weft.finfo(weft.bfloat16)
    assert info.max == (2 - 2**-7) * 2.0**127
    assert info.tiny == 2.0**-126
    assert math.isfinite(info.max * 1.0)


def test_xlog1py_with_an_integer() -> None:
    x = weft.tensor([1.0, 2.0])
    assert weft.allclose(weft.special.xlog1py(x, 3), x * math.log(4))
    assert weft.allclose(
        weft.special.xlog1py(x, weft.tensor([3, 7])), x * weft.tensor([4.0, 8.0]).log()
    )


def test_parts_that_end_where_they_begin() -> None:
    x = weft.arange(5)
    found = [part.tolist() for part in weft.tensor_split(x, [0, 2, 2, 9])]
    assert found == [[], [0, 1], [], [2, 3, 4], []]


@pytest.mark.parametrize("bins", [[3], [3, 3, 3]])
def test_bins_must_be_for_all_dimensions(bins: list[int]) -> None:
    with pytest.raises(ValueError, match=f"bins has {len(bins)}"):
        weft.histogramdd(weft.rand(10, 2), bins)
    with pytest.raises(ValueError, match="must be for 2 dimensions"):
        weft.histogramdd(weft.rand(10, 2), [3, 3], range=[0.0, 1.0])


def test_variances_that_rows_share() -> None:
    x, target = weft.randn(3, 4), weft.randn(3, 4)
    var = weft.rand(3) + 0.1
    expected = F.gaussian_nll_loss(x, target, var.unsqueeze(-1).expand(3, 4))
    assert weft.allclose(F.gaussian_nll_loss(x, target, var), expected)
    square, other = weft.randn(3, 3), weft.randn(3, 3)
    by_column = weft.rand(1, 3) + 0.1  # of another shape, and no rows'
    expected = F.gaussian_nll_loss(square, other, by_column.expand(3, 3))
    assert weft.allclose(F.gaussian_nll_loss(square, other, by_column), expected)


def test_ranks_below_an_absolute_bound() -> None:
    matrix = weft.diag(weft.tensor([4.0, 0.6, 1e-9]))
    assert weft.linalg.matrix_rank(matrix, atol=0.5) == 2
    assert weft.linalg.matrix_rank(matrix, atol=1e-12) == 3
    assert weft.linalg.matrix_rank(matrix) == 2


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_spectral_norm_along_a_dimension(dim: int) -> None:
    weft.manual_seed(0)
    layer = nn.utils.parametrizations.spectral_norm(
        nn.Conv1d(3, 4, 2), dim=dim, n_power_iterations=50
    )
    for _ in range(5):
        weight = layer.weight
    matrix = weight.movedim(dim, 0).flatten(1)
    assert weft.allclose(weft.linalg.matrix_norm(matrix, 2), weft.tensor(1.0), atol=1e-3)
