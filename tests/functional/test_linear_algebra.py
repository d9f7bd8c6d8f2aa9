"""Products and norms beyond the op table's rows."""

from __future__ import annotations

import numpy as np
import pytest

import weft

A, B = weft.randn(3, 4, dtype=weft.float64), weft.randn(4, 5, dtype=weft.float64)


def test_einsum_takes_lists_and_numbers():
    expected = A @ B
    assert weft.allclose(weft.einsum("ij,jk->ik", [A, B]), expected)
    assert weft.allclose(weft.einsum(A, [0, 1], B, [1, 2], [0, 2]), expected)
    assert weft.allclose(weft.einsum(A, [..., 1], B, [1, 2]), expected)


def test_chains_of_matrices():
    vector = weft.randn(3, dtype=weft.float64)
    assert weft.allclose(weft.linalg.multi_dot([vector, A, B]), vector @ A @ B)
    assert weft.linalg.multi_dot([vector, A, weft.randn(4, dtype=weft.float64)]).shape == ()
    with pytest.raises(ValueError, match="2 tensors"):
        weft.linalg.multi_dot([A])


@pytest.mark.parametrize("order", ["fro", 1, -1, np.inf, -np.inf])
def test_norms_of_matrices(order):
    np.testing.assert_allclose(
        weft.linalg.norm(A, order).numpy(), np.linalg.norm(A.numpy(), order), rtol=1e-12
    )
    stack = weft.randn(2, 3, 4, dtype=weft.float64)
    result = weft.linalg.matrix_norm(stack, order, keepdim=True)
    expected = [np.linalg.norm(one, order) for one in stack.numpy()]
    np.testing.assert_allclose(result.reshape(-1).numpy(), expected)
    assert result.shape == (2, 1, 1)


def test_norms_that_are_missing():
    with pytest.raises(ValueError, match="nuc"):
        weft.linalg.matrix_norm(A, 3)
    with pytest.raises(ValueError, match="nuc"):
        weft.norm(A, "largest")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: weft.tensordot(A, B, 3), "dims"),
        (lambda: weft.tensordot(A, B, ([0], [0])), r"\(3, 4\).*\(4, 5\)"),
        (lambda: weft.linalg.cross(A, B), "size 3"),
        (lambda: weft.cdist(A, B), r"\(3, 4\).*\(4, 5\)"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_attention_shares_heads_if_asked():
    q, k, v = weft.randn(1, 4, 3, 2), weft.randn(1, 2, 5, 2), weft.randn(1, 2, 5, 2)
    attention = weft.nn.functional.scaled_dot_product_attention
    shared = attention(q, k, v, enable_gqa=True)
    wide = attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))
    assert weft.equal(shared, wide)
    with pytest.raises(ValueError, match="attn_mask"):
        attention(q, q, q, attn_mask=weft.ones(3, 3), is_causal=True)


def test_inner_products():
    assert weft.allclose(weft.inner(A, A), A @ A.t())
    assert weft.vdot(A[0], A[0]) == weft.dot(A[0], A[0])


def test_cosine_similarity_of_integers_and_floats():
    ints, halves = weft.tensor([[1, 0, 0]], dtype=weft.int8), weft.ones(1, 3) / 2
    for pair in ((ints, halves), (halves, ints)):
        assert weft.cosine_similarity(*pair).tolist() == pytest.approx([1 / 3**0.5])
    with pytest.raises(TypeError, match="floating"):
        weft.cosine_similarity(ints, ints)
