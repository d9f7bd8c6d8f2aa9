"""The older names: what differs from `weft.linalg`."""

from __future__ import annotations

import weft


def test_svd_without_vectors():
    u, s, v = weft.svd(weft.ones(3, 2), compute_uv=False)
    assert (u.shape, v.shape) == ((3, 3), (2, 2))
    assert u.abs().sum().item() == v.abs().sum().item() == 0
    assert abs(s[0].item() - 6**0.5) < 1e-6


def test_lu_with_infos():
    _, pivots, info = weft.lu(weft.zeros(2, 2, 2), get_infos=True)
    assert pivots.dtype == info.dtype == weft.int32
    assert info.tolist() == [1, 1]


def test_unpacking_less():
    factors, pivots = weft.lu(weft.eye(2))
    assert weft.lu_unpack(factors, pivots, unpack_data=False).L.numel() == 0
    assert weft.lu_unpack(factors, pivots, unpack_pivots=False).P.numel() == 0


def test_one_matrix_is_a_chain():
    assert weft.chain_matmul(weft.eye(2)).tolist() == weft.eye(2).tolist()
