"""Views by other spellings, and in-place methods that are no ops."""

from __future__ import annotations

import pytest

import weft


def test_shapes_of_others():
    x, other = weft.arange(6), weft.zeros(2, 3, dtype=weft.float64)
    assert x.view_as(other).shape == x.reshape_as(other).shape == (2, 3)
    assert weft.ones(1, 3).expand_as(other).shape == (2, 3)
    assert x.type_as(other).dtype is weft.float64
    assert weft.ravel(other).shape == (6,)
    assert weft.adjoint(weft.zeros(2, 3, 4)).shape == (2, 4, 3)


def test_fill_diagonal():
    assert weft.zeros(2, 3).fill_diagonal_(1.0).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert weft.zeros(2, 2, 2).fill_diagonal_(1.0).sum() == 2
    with pytest.raises(NotImplementedError, match="wrap"):
        weft.zeros(2, 2).fill_diagonal_(1.0, wrap=True)


def test_errors():
    with pytest.raises(ValueError, match="fliplr"):
        weft.fliplr(weft.zeros(2))
    with pytest.raises(ValueError, match="flipud"):
        weft.flipud(weft.tensor(1))


def test_a_strided_scatter_looks_at_the_storage():
    x = weft.arange(6.0).reshape(2, 3).t()  # rows of the storage are columns of x
    written = weft.as_strided_scatter(x, weft.tensor([-1.0, -2.0]), (2,), (1,))
    assert written.tolist() == [[-1.0, 3.0], [-2.0, 4.0], [2.0, 5.0]]


def test_gradients_through_views_of_a_storage():
    """Elements that share a place share its gradient; windows that overlap add up."""
    x = weft.ones(1, requires_grad=True)
    x.expand(3).as_strided((2,), (0,)).sum().backward()
    assert x.grad.tolist() == [2.0]
    y = weft.arange(4.0, requires_grad=True)
    y.unfold(0, 3, 1).sum().backward()
    assert y.grad.tolist() == [1.0, 2.0, 2.0, 1.0]


def test_repeats_are_copies():
    x = weft.zeros(1)
    x.repeat(3)[0] = 1.0
    assert x.tile((2,)).tolist() == [0.0, 0.0]


def test_padding_modes():
    x = weft.arange(4)
    assert weft.nn.functional.pad(x, (-1, 2), "circular").tolist() == [1, 2, 3, 1, 2]
    assert weft.nn.functional.pad(x, (3, -2), "reflect").tolist() == [3, 2, 1, 0, 1]
    for pad, mode in (((4, 0), "reflect"), ((5, 0), "circular"), ((-4, 0), "replicate")):
        with pytest.raises(ValueError, match=rf"pad.*{mode}"):
            weft.nn.functional.pad(x, pad, mode)


def test_exponential():
    with pytest.raises(ValueError, match=r"exponential_.*lambd"):
        weft.zeros(2).exponential_(0.0)
    with pytest.raises(TypeError, match="exponential_"):
        weft.zeros(2, dtype=weft.int64).exponential_()


def test_constant_padding_crops_too():
    x = weft.arange(4.0, requires_grad=True)
    pad = weft.nn.functional.pad
    assert pad(x, (-1, 2)).tolist() == [1, 2, 3, 0, 0]
    assert pad(x, (2, -3), value=7.0).tolist() == [7, 7, 0]
    assert pad(x, (-5, 3)).tolist() == [0, 0]
    assert pad(weft.zeros(2, 0), (1, 0, 0, 1), value=1.0).tolist() == [[1]] * 3
    (pad(x, (-1, 2)) + pad(x, (1, 0), value=3.0)).sum().backward()
    assert x.grad.tolist() == [1, 2, 2, 2]
    with pytest.raises(ValueError, match=r"pad.*sizes"):
        pad(x, (-3, -3))
    with pytest.raises(MemoryError, match="pad"):
        pad(x, (2**61, 0))


def test_roll_without_dimensions():
    x = weft.arange(4).reshape(2, 2)
    assert weft.roll(x, 1, None).tolist() == x.roll(1).tolist() == [[3, 0], [1, 2]]
    with pytest.raises(ValueError, match="same length"):
        weft.roll(x, (1, 2), None)
