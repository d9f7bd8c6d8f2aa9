"""Tensors beside NumPy's arrays and in NumPy's functions (docs/decisions/0051)."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import weft
from tests.numpy_data import LISTS
from tests.promotion_data import NAMES
from weft import Tensor
from weft.functional import arrays

ARITHMETIC = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, operator.pow, operator.matmul),
]
COMPARISONS = [*(operator.lt, operator.le, operator.eq), *(operator.ne, operator.gt, operator.ge)]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
IN_PLACE = [
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv),
    *(operator.imod, operator.ipow),
]

LEFT, RIGHT = np.array([1.5, 2.0, 4.0]), np.array([0.5, 3.0, -2.0])


def as_given(tensor: Any, expected: Any) -> None:
    assert type(tensor) is Tensor
    assert tensor.dtype is expected.dtype
    assert tensor.shape == expected.shape
    assert weft.equal(tensor, expected)


# ---- operators -----------------------------------------------------------------------------------


@pytest.mark.parametrize("operate", [*ARITHMETIC, *COMPARISONS])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_array_is_a_tensor_beside_a_tensor(operate: Any, dtype: Any) -> None:
    left, right = LEFT.astype(dtype), RIGHT.astype(dtype)
    expected = operate(weft.from_numpy(left), weft.from_numpy(right))
    as_given(operate(weft.from_numpy(left), right), expected)
    as_given(operate(left, weft.from_numpy(right)), expected)


@pytest.mark.parametrize("operate", BITS)
def test_operators_on_bits(operate: Any) -> None:
    left, right = np.array([1, 2, 6]), np.array([3, 1, 2])
    expected = operate(weft.from_numpy(left), weft.from_numpy(right))
    as_given(operate(weft.from_numpy(left), right), expected)
    as_given(operate(left, weft.from_numpy(right)), expected)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "bfloat16"])
def test_dtypes_are_promoted_as_between_tensors(name: str) -> None:
    for other in NAMES:
        tensor = weft.ones(2, dtype=getattr(weft, other))
        for shape in ((2,), ()):
            array = np.ones(shape, dtype=name)
            expected = (tensor * weft.tensor(array)).dtype
            assert (tensor * array).dtype is expected, (other, shape)
            assert (array * tensor).dtype is expected, (other, shape)


def test_products_of_two_dtypes() -> None:
    tensor, array = weft.ones(2, 2), np.ones((2, 2))
    expected = weft.full((2, 2), 2.0, dtype=weft.float64)
    for product in (tensor @ array, array @ tensor, np.matmul(tensor, array)):
        as_given(product, expected)
    as_given(array @ weft.ones(2, 2, dtype=weft.int64), expected)


def test_sizes_are_broadcast_and_must_fit() -> None:
    assert (weft.ones(2, 1) + np.ones(3)).shape == (np.ones((2, 1)) + weft.ones(3)).shape == (2, 3)
    for operate in (lambda: weft.ones(2) + np.ones(3), lambda: np.ones(3) + weft.ones(2)):
        with pytest.raises(weft.ShapeError, match="add"):
            operate()


@pytest.mark.parametrize("operate", [*ARITHMETIC[:4], operator.pow, operator.matmul])
@pytest.mark.parametrize("is_left", [True, False])
def test_gradients_go_through_the_tensor(operate: Any, is_left: bool) -> None:
    array = np.array([0.5, 3.0, 2.0])

    def gradient(beside: Any) -> Any:
        x = weft.tensor(LEFT, requires_grad=True)
        (operate(x, beside) if is_left else operate(beside, x)).sum().backward()
        return x.grad

    assert weft.equal(gradient(array), gradient(weft.from_numpy(array)))


def test_an_array_that_changes_afterwards_changes_nothing() -> None:
    array = np.ones(3, dtype=np.float32)
    x = weft.ones(3, requires_grad=True)
    y = x * array
    z = array * x
    with weft.lazy():
        pending = weft.ones(3) + array
    array[:] = 100
    (y + z).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2]
    assert pending.tolist() == [2, 2, 2]


ODD = {
    "turned around": np.arange(3.0)[::-1],
    "a part": np.arange(6.0)[::2],
    "the other order of bytes": np.arange(3.0).astype(">f8"),
    "read only": np.broadcast_to(np.array([2.0]), (3,)),
    "not aligned": np.frombuffer(b"\0" + np.arange(3.0).tobytes(), dtype=np.float64, offset=1),
    "a memory map's class": np.arange(3.0).view(np.recarray),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_arrays_are_read_too(name: str) -> None:
    array = ODD[name]
    expected = weft.tensor(np.array(array, dtype=np.float64)) + 1
    as_given(weft.ones(3) + array, expected)
    as_given(array + weft.ones(3), expected)
    as_given(weft.tensor([array])[0] + 1, expected)
    as_given(weft.Tensor(array) + 1, expected.float())


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([1j, 2]), "complex numbers come later"),
        (np.array([1, 2], dtype=np.uint16), "uint16"),
        (np.array(["a", "b"]), "U1"),
        (np.array([None, 1]), "object"),
        (np.ma.masked_array([1.0, 2.0], mask=[0, 1]), r"no masks: give array.filled"),
    ],
)
def test_what_no_tensor_can_hold_is_refused(array: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        weft.ones(2) * array
    with pytest.raises((TypeError, weft.GradientError)):
        array * weft.ones(2, requires_grad=True)


def test_classes_that_go_their_own_way_are_asked() -> None:
    class Length(np.ndarray):
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> str:
            return f"Length: {ufunc.__name__}"

    length = np.ones(2).view(Length)
    assert weft.ones(2) * length == length * weft.ones(2) == "Length: multiply"

    class Other:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "Other"

    assert weft.ones(2) + Other() == "Other"


@pytest.mark.parametrize(
    "number",
    [np.float64(2), np.float32(2), np.float16(2), np.int8(2), np.int64(2), np.uint16(2)],
    ids=lambda number: type(number).__name__,
)
def test_numbers_of_numpy_are_numbers(number: Any) -> None:
    """As in PyTorch: they do not change the dtype of a tensor of their kind."""
    for name in NAMES[1:]:
        x = weft.ones(2, dtype=getattr(weft, name))
        for operate in (*ARITHMETIC[:-1], operator.lt, operator.eq):
            as_given(operate(x, number), operate(x, number.item()))
            as_given(operate(number, x), operate(number.item(), x))


def test_numbers_are_compared_as_numbers() -> None:
    x = weft.tensor(0.1)
    assert (x == np.float64(0.1)).item()
    assert (np.float64(0.1) == x).item()
    assert not (np.float64(0.1) < x).item()


def test_complex_numbers_of_numpy_are_refused() -> None:
    for number in (np.complex64(1j), np.complex128(1j)):
        with pytest.raises(NotImplementedError, match="complex numbers are not supported yet"):
            weft.ones(2) * number
        with pytest.raises(NotImplementedError, match="complex numbers are not supported yet"):
            weft.tensor([number])


@pytest.mark.parametrize("operate", IN_PLACE)
def test_a_tensor_is_written_in_place(operate: Any) -> None:
    for dtype in (np.float32, np.float64):
        x, expected = weft.tensor([2.0, 3.0]), weft.tensor([2.0, 3.0])
        array = np.array([2.0, 3.0], dtype=dtype)
        result = operate(x, array)
        assert result is x
        as_given(x, operate(expected, weft.from_numpy(array)))


@pytest.mark.parametrize("operate", IN_PLACE)
def test_an_array_is_written_in_place(operate: Any) -> None:
    array, expected = np.array([2.0, 3.0]), np.array([2.0, 3.0])
    result = operate(array, weft.tensor([2.0, 3.0]))
    assert result is array
    assert array.tolist() == operate(expected, np.array([2.0, 3.0])).tolist()


def test_writes_that_cannot_be() -> None:
    with pytest.raises(TypeError, match="float64 can't be cast"):
        operator.iadd(weft.tensor([1]), np.ones(1))
    with pytest.raises(weft.GradientError, match=r"array = array \+ tensor.*detach\(\)"):
        operator.iadd(np.ones(1), weft.ones(1, requires_grad=True))
    with pytest.raises(weft.GradientError, match="leaf"):
        operator.iadd(weft.ones(1, requires_grad=True), np.ones(1))


def test_an_array_over_the_memory_that_is_written() -> None:
    x = weft.arange(5.0)
    x[1:] += x.numpy()[:-1]
    assert x.tolist() == [0, 1, 3, 5, 7]
    x *= x.numpy()
    assert x.tolist() == [0, 1, 9, 25, 49]


TABLE = np.array([1.0, 2.0, 3.0], dtype=np.float32)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * TABLE,
        lambda x: TABLE - x,
        lambda x: TABLE @ x,
        lambda x: np.float32(2) * x + np.int64(1),
        lambda x: np.exp(x) + np.add(TABLE, x),
        lambda x: np.sum(x) + np.maximum(x, 1),
        lambda x: x.clone().add_(1).mul_(2) + np.where(TABLE > 1, 1.0, 0.0),
    ],
)
@pytest.mark.parametrize("runs", [1, 12])
def test_inside_lazy_maps_cells_and_vmap(function: Any, runs: int) -> None:
    examples = [weft.tensor([0.5, 1.0, 2.0]) * i for i in range(5)]
    expected = [function(example) for example in examples]
    for _ in range(runs):
        mapped = weft.map(function, examples)
    with weft.lazy():
        pending = weft.stack([function(example) for example in examples]).unbind()
    cell = weft.cell(function)
    for results in (mapped, pending, [cell(x) for x in examples], weft.map(cell, examples)):
        for result, right in zip(results, expected, strict=True):
            as_given(result, right)
    rows = weft.vmap(function)(weft.stack(examples))
    assert weft.allclose(rows, weft.stack(expected))


def test_a_cell_reads_an_array_as_it_is() -> None:
    table = np.ones(2, dtype=np.float32)

    @weft.cell
    def scaled(x: Any) -> Any:
        return x * table

    for value in (1, 5, 7):
        table[:] = value
        assert scaled(weft.ones(2)).tolist() == [value, value]
        assert weft.map(scaled, [weft.ones(2)] * 3)[0].tolist() == [value, value]


def test_gradients_inside_maps_and_functions() -> None:
    def loss(x: Any) -> Any:
        return (TABLE * x * x).sum()

    examples = [weft.ones(3, requires_grad=True) for _ in range(4)]
    weft.stack(weft.map(loss, examples)).sum().backward()
    assert all(x.grad is not None and x.grad.tolist() == [2, 4, 6] for x in examples)
    assert weft.func.grad(loss)(weft.ones(3)).tolist() == [2, 4, 6]
    jacobian = weft.vmap(weft.func.grad(loss))(weft.ones(2, 3))
    assert jacobian.tolist() == [[2, 4, 6]] * 2


def test_functions_do_not_take_arrays() -> None:
    for call in (lambda: weft.add(weft.ones(2), np.ones(2)), lambda: weft.tanh(np.ones(2))):
        with pytest.raises(TypeError, match=r"make a tensor of it by from_numpy\(\)"):
            call()
    assert weft.add(weft.ones(2), np.array(2)).tolist() == [3, 3]


# ---- making tensors ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_numbers_and_arrays(name: str) -> None:
    data, dtype, shape = LISTS[name]
    made = weft.tensor(data)
    assert made.dtype.name == dtype
    assert made.shape == shape
    # NumPy has no way from lists of arrays of several dtypes but its own promotion.
    assert made.double().tolist() == np.array(data, dtype=np.float64).tolist()
    for wanted in (weft.float16, weft.int64):
        assert weft.tensor(data, dtype=wanted).dtype is wanted
        assert weft.tensor(data, dtype=wanted).tolist() == made.to(wanted).tolist()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([np.ones(3), np.ones(2)], r"length 3 at dim 1 \(got 2\)"),
        ([np.ones((2, 3)), np.ones((3, 2))], r"length 2 at dim 1 \(got 3\)"),
        ([np.ones(3), 1.0], "length 3 at dim 1, got float"),
        ([1.0, np.ones(3)], "0 dimensions at dim 1, got an array of 1"),
        ([[1.0], np.ones((1, 1))], "1 dimensions at dim 1, got an array of 2"),
        ([np.ones((1,) * 64)], "levels deep"),
    ],
)
def test_arrays_that_do_not_fit_together(data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        weft.tensor(data)


def test_numbers_keep_their_values() -> None:
    big = 2**53 + 1
    assert weft.tensor([np.int64(big), 1]).tolist() == [big, 1]
    assert weft.tensor([np.array([big]), np.array([1])]).tolist() == [[big], [1]]
    assert weft.tensor([np.float64(0.1)]).item() == 0.1
    assert weft.tensor([np.bool_(True), np.int8(3)]).tolist() == [1, 3]
    with pytest.raises(OverflowError):
        weft.tensor([np.uint64(2**63)])


def test_many_arrays_are_not_read_number_by_number() -> None:
    array = np.ones((100, 100), dtype=np.float32)
    copies: list[Any] = [array] * 200
    made = weft.tensor(copies)
    assert made.shape == (200, 100, 100)
    assert made.sum().item() == 2_000_000


def test_the_old_constructor_takes_arrays() -> None:
    array = np.array([[1.0, 2.0]], dtype=np.float32)
    made = weft.Tensor(array)
    as_given(made, weft.tensor([[1.0, 2.0]]))
    assert np.shares_memory(made.numpy(), array)  # as PyTorch's
    for other in (np.float64, np.int64, np.uint8, np.uint16, np.bool_, np.float16):
        given = np.array([1, 0, 1], dtype=other)
        as_given(weft.Tensor(given), weft.tensor([1.0, 0.0, 1.0]))
        assert not np.shares_memory(weft.Tensor(given).numpy(), given)
    as_given(weft.Tensor([np.ones(2), np.zeros(2)]), weft.tensor([[1.0, 1.0], [0.0, 0.0]]))
    assert weft.Tensor(np.int64(2), 3).shape == (2, 3)
    assert weft.Tensor(np.int64(3)).shape == (3,)

    class Mine(Tensor):
        pass

    assert type(Mine(array)) is Mine
    assert weft.tensor(np.array([1, 2], dtype=np.uint16), dtype=weft.int32).tolist() == [1, 2]


def test_elements_are_read_and_written_by_arrays() -> None:
    x = weft.zeros(2, 3)
    x[np.array([0, 1]), np.array([2, 0], dtype=np.uint8)] = np.array([5.0, 6.0])
    assert x.tolist() == [[0, 0, 5], [6, 0, 0]]
    x[0] = np.arange(3)
    assert x[np.array([True, False])].tolist() == [[0, 1, 2]]
    assert x[:, np.array([1, 0], dtype=np.int32)].tolist() == [[1, 0], [0, 6]]
    assert x[np.array([], dtype=np.float64)].shape == (0, 3)
    x[1] = np.array(4.0)
    assert x[1].tolist() == [4, 4, 4]


# ---- arrays of tensors ---------------------------------------------------------------------------


def test_asarray() -> None:
    x = weft.arange(3.0)
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert np.shares_memory(np.asarray(x, copy=False), x.numpy())
    assert not np.shares_memory(np.asarray(x, copy=True), x.numpy())
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert np.asarray(x, dtype="int8", copy=True).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="a copy is needed"):
        np.asarray(x, dtype=np.float64, copy=False)
    assert np.asarray([x, x]).shape == (2, 3)
    assert np.array([x[0], x[1]]).tolist() == [0, 1]
    for call in (np.asarray, np.array, np.ascontiguousarray, lambda x: np.asarray([x, x])):
        with pytest.raises(weft.GradientError, match=r"detach\(\)"):
            call(weft.ones(2, requires_grad=True))
    with weft.lazy():
        assert np.asarray(weft.ones(2) + 1).tolist() == [2, 2]


# ---- ufuncs --------------------------------------------------------------------------------------

UFUNCS = [name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)]
# Where the op has another meaning at some point, or NumPy another dtype.
NOT_COMPARED = {"float_power", "logical_not", "invert", "bitwise_not", "bitwise_invert"}


def operands_of(ufunc: Any) -> list[Any] | None:
    """Return arrays that a ufunc takes, or None."""
    for dtype in (np.float32, np.int64):
        given = [np.array([[1, 2], [3, 4]], dtype=dtype) for _ in range(ufunc.nin)]
        if ufunc.nin == 1 and ufunc.__name__.startswith("arc") and dtype is np.float32:
            given = [given[0] / 5 + (1 if "cosh" in ufunc.__name__ else 0)]
        try:
            ufunc(*given)
        except TypeError:
            continue
        return given
    return None


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_give_tensors(name: str) -> None:
    ufunc = getattr(np, name)
    given = operands_of(ufunc)
    if given is None:
        return
    expected = ufunc(*given)
    got = ufunc(*(weft.from_numpy(array) for array in given))
    for one, other in zip(
        *((r if isinstance(r, tuple) else (r,)) for r in (got, expected)), strict=True
    ):
        assert isinstance(one, Tensor)
        np.testing.assert_allclose(one, other, rtol=1e-6)
        if given[0].dtype == np.float32 and name not in NOT_COMPARED:
            assert one.dtype.name == other.dtype.name


def test_every_name_stands_for_a_function() -> None:
    for name in (*arrays._OPERATORS, *arrays._SAME_NAME, *arrays._OTHER_NAMES, "conjugate"):
        assert arrays._ufunc_of_ours(getattr(np, name), "__call__") is not None, name


def test_gradients_go_through_ufuncs() -> None:
    for call, same in (
        (np.exp, weft.exp),
        (np.absolute, weft.abs),
        (np.arctan, weft.atan),
        (lambda x: np.multiply(LEFT, x), lambda x: weft.tensor(LEFT) * x),
        (lambda x: np.arctan2(LEFT, x), lambda x: weft.atan2(weft.tensor(LEFT), x)),
        (lambda x: np.maximum(2.0, x), lambda x: x.clamp(min=2.0)),
        (lambda x: np.power(x, 3), lambda x: x**3),
        (np.add.reduce, lambda x: x.sum()),
        (np.multiply.reduce, lambda x: x.prod()),
        (np.add.accumulate, lambda x: x.cumsum(0)),
        (lambda x: np.multiply.outer(x, LEFT), lambda x: weft.outer(x, weft.tensor(LEFT))),
        (lambda x: np.divmod(x, LEFT)[1], lambda x: x % weft.tensor(LEFT)),
    ):
        x, y = (weft.tensor(RIGHT + 3, requires_grad=True) for _ in range(2))
        got, expected = call(x), same(y)
        as_given(got.detach(), expected.detach())
        got.sum().backward()
        expected.sum().backward()
        assert x.grad is not None
        assert y.grad is not None
        assert weft.equal(x.grad, y.grad)


def test_what_numpy_computes_has_no_gradient() -> None:
    x = weft.ones(2)
    as_given(np.cbrt(x * 8), weft.full((2,), 2.0))
    as_given(np.add(x, x, dtype=np.float64), weft.full((2,), 2.0, dtype=weft.float64))
    as_given(np.add.reduceat(x, [0]), weft.tensor([2.0]))
    as_given(np.add(x, x, where=np.array([True, False]), out=weft.zeros(2)), weft.tensor([2.0, 0]))
    x.requires_grad_()
    for call in (
        lambda: np.cbrt(x),
        lambda: np.add(x, x, dtype=np.float64),
        lambda: np.add.reduceat(x, [0]),
        lambda: np.add(x, x, out=np.zeros(2)),
        lambda: np.add.at(x, [0], 1),
        lambda: np.add.reduce(x, where=np.array([True, False])),
    ):
        with pytest.raises(weft.GradientError, match=r"np\.(add|cbrt).*tensor\.detach\(\)"):
            call()


def test_out() -> None:
    x, array, out = weft.ones(2), np.zeros(2), weft.zeros(2)
    version = out._version
    assert np.add(x, x, out=array) is array
    assert array.tolist() == [2, 2]
    assert np.add(array, array, out=out) is out
    assert out.tolist() == [4, 4]
    assert np.cbrt(weft.full((2,), 8.0), out=out) is out
    assert out.tolist() == [2, 2]
    np.add.at(out, [0, 0], 1)
    assert out.tolist() == [4, 2]
    assert out._version == version + 3  # what has saved it hears of each write
    with pytest.raises(weft.GradientError, match="out="):
        np.add(x.requires_grad_(), x, out=out)


def test_lists_beside_tensors_in_ufuncs() -> None:
    as_given(np.add(weft.ones(2), [1, 2]), weft.tensor([2.0, 3.0]))
    as_given(np.logaddexp(weft.zeros(2), 0), weft.full((2,), 2.0).log())
    assert np.maximum(weft.ones((), dtype=weft.float16), 2.0).dtype is weft.float16


# ---- functions that are handed over --------------------------------------------------------------

MATRIX = np.array([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])
HANDED_OVER = {
    "all": lambda x: np.all(x > 1, axis=0),
    "any": lambda x: np.any(x > 1, axis=1, keepdims=True),
    "amax": lambda x: np.amax(x, axis=(0, 1)),
    "amin": np.amin,
    "argmax": lambda x: np.argmax(x, axis=1),
    "argmin": np.argmin,
    "argsort": np.argsort,
    "argsort of all": lambda x: np.argsort(x, axis=None, kind="stable"),
    "clip": lambda x: np.clip(x, 2, 4),
    "clip by arrays": lambda x: np.clip(x, np.array([1.0, 2.0, 3.0]), None),
    "clip by names": lambda x: np.clip(x, max=3),
    "cumprod": lambda x: np.cumprod(x, axis=0),
    "cumsum": np.cumsum,
    "max": lambda x: np.max(x, axis=1),
    "mean": np.mean,
    "mean along": lambda x: np.mean(x, axis=0, keepdims=True),
    "min": lambda x: np.min(x, axis=-1, keepdims=True),
    "prod": np.prod,
    "prod along": lambda x: np.prod(x, axis=(0, 1), keepdims=True),
    "ptp": lambda x: np.ptp(x, axis=1),
    "repeat": lambda x: np.repeat(x, 2),
    "repeat along": lambda x: np.repeat(x, [1, 2], axis=0),
    "reshape": lambda x: np.reshape(x, (3, -1)),
    "reshape flat": lambda x: np.reshape(x, -1),
    "round": lambda x: np.round(x / 7, 2),
    "around": np.around,
    "squeeze": lambda x: np.squeeze(x[:1]),
    "squeeze one": lambda x: np.squeeze(x[:1, :1], axis=0),
    "std": np.std,
    "std of a sample": lambda x: np.std(x, axis=1, ddof=1, keepdims=True),
    "sum": lambda x: np.sum(x, (0, 1)),
    "sum of all": lambda x: np.sum(x, keepdims=True),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "take": lambda x: np.take(x, [0, -1]),
    "take along": lambda x: np.take(x, np.array([[0, 2]]), axis=1),
    "transpose": np.transpose,
    "transpose by axes": lambda x: np.transpose(x, (1, 0)),
    "var": lambda x: np.var(x, axis=0),
    # With arguments that only NumPy knows, it computes them.
    "sum where": lambda x: np.sum(x, where=np.array([True, False, True])),
    "max initial": lambda x: np.max(x, initial=9.0),
    "reshape order": lambda x: np.reshape(x, -1, order="F"),
}


@pytest.mark.parametrize("name", HANDED_OVER)
def test_functions_that_have_a_method_give_tensors(name: str) -> None:
    call = HANDED_OVER[name]
    got = call(weft.tensor(MATRIX))
    expected = call(MATRIX)
    assert type(got) is Tensor
    assert got.dtype.name == expected.dtype.name
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("name", [*HANDED_OVER][:-3])
def test_and_have_gradients(name: str) -> None:
    x = weft.tensor(MATRIX, requires_grad=True)
    got = HANDED_OVER[name](x)
    assert got.requires_grad == (got.is_floating_point())


def test_unusual_arguments_lose_no_gradient() -> None:
    x = weft.tensor(MATRIX, requires_grad=True)
    for name in [*HANDED_OVER][-3:]:
        with pytest.raises(weft.GradientError, match=r"np\.(sum|max|reshape)\(\).*detach"):
            HANDED_OVER[name](x)


def test_arguments_of_reductions() -> None:
    x = weft.tensor([1, 2, 4])
    assert np.sum(x, dtype=np.float64).dtype is weft.float64
    assert np.sum(x, dtype=weft.float16).dtype is weft.float16
    assert np.mean(x).item() == weft.tensor([1.0, 2.0, 4.0]).mean().item()
    assert np.sum(a=x).item() == 7
    out = weft.zeros((), dtype=weft.int64)
    assert np.sum(x, out=out) is out
    assert out.item() == 7
    array = np.zeros((), dtype=np.int64)
    assert np.sum(x, out=array) is array
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(weft.ones(2, 3), 1)) == ((3,), 1, 3, 3)
    assert np.mean(weft.tensor(3.0)).item() == np.max(weft.tensor(3.0)).item() == 3
    with pytest.raises(ValueError, match="size 1"):
        np.squeeze(weft.ones(2), axis=0)


# ---- all other functions -------------------------------------------------------------------------

OTHERS = {
    "concatenate": lambda x: np.concatenate([x, MATRIX]),
    "stack": lambda x: np.stack([x, x]),
    "vstack": lambda x: np.vstack((x, MATRIX)),
    "where": lambda x: np.where(x > 2, x, 0),
    "linalg.norm": np.linalg.norm,
    "dot": lambda x: np.dot(x, MATRIX.T),
    "einsum": lambda x: np.einsum("ij,kj", x, MATRIX),
    "median": np.median,
    "interp": lambda x: np.interp(x, [1.0, 6.0], [0.0, 1.0]),
    "pad": lambda x: np.pad(x, 1),
    "flip": np.flip,
    "ravel": np.ravel,
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions_give_what_they_give_for_arrays(name: str) -> None:
    got, expected = OTHERS[name](weft.tensor(MATRIX)), OTHERS[name](MATRIX)
    assert type(got) is type(expected)
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(weft.GradientError, match=rf"np\.{name}\(\).*tensor\.detach\(\)"):
        OTHERS[name](weft.tensor(MATRIX, requires_grad=True))


def test_the_sentence_names_our_function() -> None:
    x = weft.ones(2, requires_grad=True)
    for call, name in (
        (lambda: np.concatenate([x, x]), "weft.concatenate"),
        (lambda: np.linalg.norm(x), "weft.linalg.norm"),
        (lambda: np.stack([np.ones(2), x]), "weft.stack"),
    ):
        with pytest.raises(weft.GradientError, match=rf"use {name}\(\)"):
            call()
    with pytest.raises(weft.GradientError, match=r"one: call tensor"):
        np.copy(x)


def test_comparisons_lose_nothing() -> None:
    x = weft.tensor(MATRIX, requires_grad=True)
    assert np.allclose(x, MATRIX)
    assert np.array_equal(MATRIX, x)
    assert np.isclose(x, MATRIX).all()
    assert np.zeros_like(x).shape == (2, 3)
    assert np.count_nonzero(x) == 6
    np.testing.assert_allclose(x.detach(), MATRIX)
    with pytest.raises(weft.GradientError, match=r"detach\(\)"):
        np.testing.assert_allclose(x, MATRIX)


def test_functions_inside_maps() -> None:
    def function(x: Any) -> Any:
        return np.concatenate([x, x]).sum() + np.sum(x)

    assert [r.item() for r in weft.map(function, [weft.ones(2) * i for i in range(3)])] == [
        0,
        6,
        12,
    ]
    with pytest.raises(weft.UnsupportedError, match="reads a value"):
        weft.vmap(function)(weft.ones(3, 2))


# ---- other packages ------------------------------------------------------------------------------


def test_matplotlib_draws_tensors() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    x = weft.linspace(0, 1, 20)
    try:
        line = plt.plot(x, x**2)[0]
        assert line.get_ydata()[-1] == 1
        assert plt.hist(weft.rand(50), bins=weft.linspace(0, 1, 5))[0].sum() == 50
        assert plt.imshow(weft.rand(3, 4, 3)).get_array().shape == (3, 4, 3)
        plt.scatter(x, x, c=x)
        plt.bar(weft.arange(3), weft.tensor([1.0, 2.0, 3.0]))
        plt.fill_between(x, x - 1, x + 1)
        plt.errorbar(x, x, yerr=x)
        plt.axhline(weft.tensor(0.5))
        with pytest.raises(RuntimeError, match=r"detach\(\)"):
            plt.plot(weft.ones(3, requires_grad=True))
        with weft.lazy():
            plt.plot(weft.ones(3) * 2)
    finally:
        plt.close("all")
