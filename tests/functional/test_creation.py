"""What creation functions add to the ops: devices, gradients, other spellings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import weft

MAKERS = {
    "zeros": lambda **k: weft.zeros(2, 3, **k),
    "ones": lambda **k: weft.ones((2, 3), **k),
    "empty": lambda **k: weft.empty([2, 3], **k),
    "full": lambda **k: weft.full((2, 3), 1.5, **k),
    "zeros_like": lambda **k: weft.zeros_like(weft.ones(2, 3), **k),
    "ones_like": lambda **k: weft.ones_like(weft.ones(2, 3), **k),
    "empty_like": lambda **k: weft.empty_like(weft.ones(2, 3), **k),
    "full_like": lambda **k: weft.full_like(weft.ones(2, 3), 2.0, **k),
    "arange": lambda **k: weft.arange(6.0, **k),
    "linspace": lambda **k: weft.linspace(0, 1, 6, **k),
    "logspace": lambda **k: weft.logspace(0, 1, 6, **k),
    "eye": lambda **k: weft.eye(3, **k),
    "scalar_tensor": lambda **k: weft.scalar_tensor(3, **k),
    "rand": lambda **k: weft.rand(2, 3, **k),
    "randn": lambda **k: weft.randn(2, 3, **k),
    "rand_like": lambda **k: weft.rand_like(weft.ones(2, 3), **k),
    "randn_like": lambda **k: weft.randn_like(weft.ones(2, 3), **k),
    "normal": lambda **k: weft.normal(0.0, 1.0, (2, 3), **k),
}


@pytest.mark.parametrize("name", MAKERS)
def test_keywords(name):
    made = MAKERS[name](device="cpu", requires_grad=True, dtype=weft.float64, pin_memory=False)
    assert made.requires_grad
    assert made.is_leaf
    assert made.dtype is weft.float64
    with pytest.raises(RuntimeError, match="cuda"):
        MAKERS[name](device="cuda")
    with pytest.raises(TypeError, match="no_such_argument"):
        MAKERS[name](no_such_argument=1)


def test_integers_from_zero():
    assert int(weft.randint(3, (100,)).max()) == 2
    assert int(weft.randint(5, 6, (2,)).min()) == 5
    assert int(weft.randint(high=3, low=1, size=(100,)).min()) == 1
    assert weft.randint(3, (2,), dtype=weft.int8).dtype is weft.int8
    assert weft.randint_like(weft.zeros(2, 3, dtype=weft.int32), 4).dtype is weft.int32


def test_generators_decide():
    first, second = weft.Generator(), weft.Generator()
    first.manual_seed(3)
    second.manual_seed(3)
    for make in (
        lambda g: weft.rand(5, generator=g),
        lambda g: weft.randn(5, generator=g),
        lambda g: weft.randint(9, (5,), generator=g),
        lambda g: weft.randperm(9, generator=g),
        lambda g: weft.normal(weft.zeros(5), 2.0, generator=g),
        lambda g: weft.poisson(weft.full((5,), 3.0), generator=g),
        lambda g: weft.zeros(5).normal_(generator=g),
        lambda g: weft.zeros(5).random_(7, generator=g),
    ):
        assert weft.equal(make(first), make(second))


def test_tensors_as_numbers():
    assert weft.arange(weft.tensor(3)).tolist() == [0, 1, 2]
    assert weft.full((2,), weft.tensor(3)).dtype is weft.int64
    assert weft.full_like(weft.ones(2), weft.tensor(3)).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("args", "low", "high"), [((3,), 0, 3), ((2, 5), 2, 5), ((), 0, 2**24 + 1)]
)
def test_random_integers_in_place(args, low, high):
    drawn = weft.zeros(200).random_(*args)
    assert low <= float(drawn.min())
    assert float(drawn.max()) < high


def test_deviations_are_not_negative():
    with pytest.raises(ValueError, match="std"):
        weft.normal(0.0, -1.0, (2,))
    with pytest.raises(ValueError, match="negative"):
        weft.poisson(weft.tensor([-1.0]))


def test_a_range_that_is_too_long_is_an_error_at_once() -> None:
    assert weft.tensor(range(3)).tolist() == [0, 1, 2]
    with pytest.raises(MemoryError):
        weft.tensor(range(2**62))
    with pytest.raises(MemoryError):
        weft.tensor([range(2**62)])


def test_normal_has_mean_0_and_deviation_1_if_nothing_else_is_said() -> None:
    def drawn(make: Callable[[], weft.Tensor]) -> list[float]:
        weft.manual_seed(3)
        return make().tolist()

    shape = weft.tensor([2.0, 3.0])
    plain = drawn(lambda: weft.randn(2))
    assert drawn(lambda: weft.normal(size=(2,))) == plain
    assert drawn(lambda: weft.normal(std=shape)) == drawn(lambda: weft.randn(2) * shape)
    assert drawn(lambda: weft.normal(shape)) == drawn(lambda: weft.randn(2) + shape)
