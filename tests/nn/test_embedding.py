"""Embedding."""

from __future__ import annotations

import pytest

import weft
from weft import nn


def test_rows_and_their_gradients():
    table = nn.Embedding(5, 3)
    index = weft.tensor([[0, 2], [2, 4]])
    assert weft.equal(table(index), table.weight[index])
    table(index).sum().backward()
    assert table.weight.grad.tolist() == [[1] * 3, [0] * 3, [2] * 3, [0] * 3, [1] * 3]


def test_padding_row():
    table = nn.Embedding(5, 3, padding_idx=-1)
    assert table.padding_idx == 4
    assert table.weight[4].abs().sum() == 0
    table(weft.tensor([4, 0])).sum().backward()
    assert table.weight.grad[:, 0].tolist() == [1, 0, 0, 0, 0]


def test_longest_norm():
    table = nn.Embedding(3, 4, max_norm=1.0)
    nn.init.constant_(table.weight, 3.0)
    rows = table(weft.tensor([1, 1]))
    assert rows.detach().norm(dim=1).tolist() == pytest.approx([1, 1], rel=1e-5)
    assert table.weight[0].tolist() == [3] * 4


def test_from_pretrained():
    values = weft.arange(6.0).reshape(3, 2)
    table = nn.Embedding.from_pretrained(values)
    assert not table.weight.requires_grad
    assert table.weight.data_ptr() == values.data_ptr()
    assert nn.Embedding.from_pretrained(values, freeze=False).weight.requires_grad
    with pytest.raises(ValueError, match="2 dimensions"):
        nn.Embedding.from_pretrained(weft.zeros(3))


def test_errors():
    with pytest.raises(ValueError, match="padding_idx"):
        nn.Embedding(3, 2, padding_idx=3)
    with pytest.raises(IndexError, match="7"):
        nn.Embedding(3, 2)(weft.tensor([7]))
    with pytest.raises(ValueError, match=r"\(3, 2\)"):
        nn.Embedding(3, 2, _weight=weft.zeros(2, 2))
    with pytest.raises(NotImplementedError, match="scale_grad_by_freq"):
        nn.Embedding(3, 2, scale_grad_by_freq=True)(weft.tensor([1]))


def test_text():
    assert repr(nn.Embedding(5, 3, padding_idx=1)) == "Embedding(5, 3, padding_idx=1)"
    assert repr(nn.Embedding(5, 3, max_norm=1.0)) == "Embedding(5, 3, max_norm=1.0)"


def test_indices_do_not_count_from_the_end():
    table = nn.Embedding(3, 2)
    for place in (-1, -3):
        with pytest.raises(IndexError, match=f"{place}"):
            table(weft.tensor([place]))
        with pytest.raises(IndexError, match=f"{place}"):
            nn.functional.embedding(weft.tensor([place]), table.weight, max_norm=1.0)
        with pytest.raises(IndexError, match=f"{place}"):
            weft.vmap(table)(weft.tensor([[0], [place]]))
        with pytest.raises(IndexError, match=f"{place}"):
            weft.map(table, list(weft.tensor([[0], [place], *[[1]] * 6])))
        for mode in ("sum", "mean", "max"):
            with pytest.raises(IndexError, match=f"{place}"):
                nn.EmbeddingBag(3, 2, mode=mode)(weft.tensor([[0, place]]))


@pytest.mark.parametrize("row", [-4, 3])
def test_a_padding_row_of_bags_is_a_row(row):
    with pytest.raises(IndexError, match=f"{row}"):
        nn.functional.embedding_bag(weft.tensor([[0]]), weft.zeros(3, 2), padding_idx=row)


def test_the_first_row_from_behind_may_be_padding():
    table = nn.Embedding(3, 2, padding_idx=-3)
    assert table.padding_idx == 0
    assert table.weight[0].tolist() == [0, 0]
    with pytest.raises(ValueError, match="padding_idx"):
        nn.Embedding(3, 2, padding_idx=-4)
