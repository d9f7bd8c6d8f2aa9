"""Making tensors, and getting their data out again."""

from __future__ import annotations

import copy
import functools
import gc
import math
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import weft
from weft import Tensor

DTYPES = [
    *(weft.float32, weft.float64, weft.float16, weft.int8, weft.int16, weft.int32, weft.int64),
    *(weft.uint8, weft.bool),
]
NUMPY = {dtype: getattr(np, "bool_" if dtype is weft.bool else dtype.name) for dtype in DTYPES}

# ---- tensor() ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (3, weft.int64, ()),
        (3.5, weft.float32, ()),
        (True, weft.bool, ()),
        ([], weft.float32, (0,)),
        ([[], []], weft.float32, (2, 0)),
        ([1, 2], weft.int64, (2,)),
        ([1, 2.5], weft.float32, (2,)),
        ([True, 2], weft.int64, (2,)),
        ([True, False], weft.bool, (2,)),
        (((1, 2), [3, 4]), weft.int64, (2, 2)),
        (range(3), weft.int64, (3,)),
        (np.float64(3), weft.float64, ()),
        (np.ones((2, 3), dtype=np.float32), weft.float32, (2, 3)),
        ([np.ones(2), np.zeros(2)], weft.float64, (2, 2)),
    ],
)
def test_data_decides_dtype_and_shape(data: Any, dtype: weft.dtype, shape: tuple[int, ...]) -> None:
    made = weft.tensor(data)
    assert made.dtype == dtype
    assert made.shape == shape


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_dtype_can_be_given(dtype: weft.dtype) -> None:
    made = weft.tensor([0, 1, 2], dtype=dtype)
    assert made.dtype == dtype
    assert [int(x) for x in made.tolist()] == ([0, 1, 1] if dtype is weft.bool else [0, 1, 2])


def test_data_is_copied() -> None:
    array = np.zeros(2)
    from_array, from_tensor = weft.tensor(array), weft.tensor(weft.from_numpy(array))
    array[0] = 1
    assert from_array.tolist() == from_tensor.tolist() == [0, 0]


def test_requires_grad_and_device() -> None:
    made = weft.tensor([1.0], requires_grad=True, device="cpu")
    assert made.requires_grad
    assert made.is_leaf
    assert str(made.device) == "cpu"
    assert made.device == weft.device("cpu")
    with pytest.raises(RuntimeError, match="only the CPU"):
        weft.tensor([1.0], device="cuda")
    with pytest.raises(RuntimeError, match="floating point"):
        weft.tensor([1], requires_grad=True)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([[1, 2], [3]], ValueError, "expected sequence of length 2 at dim 1 .got 1"),
        ([1, [2]], (ValueError, TypeError), "tensor"),
        (["text"], TypeError, "str"),
        ([None], TypeError, "NoneType"),
        (object(), TypeError, "object"),
        ([1j], NotImplementedError, "complex"),
        (1 + 2j, NotImplementedError, "complex"),
        (2**70, (OverflowError, RuntimeError, ValueError), "int"),
        ({1: 2}, TypeError, "dict"),
    ],
)
def test_what_is_no_tensor(data: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        weft.tensor(data)


def test_complex_comes_later() -> None:
    for name in ("complex64", "complex128", "cfloat"):
        with pytest.raises(AttributeError, match="complex numbers are not supported yet"):
            getattr(weft, name)
    with pytest.raises(TypeError, match="complex numbers come later"):
        weft.from_numpy(np.ones(2, dtype=np.complex128))
    assert not weft.ones(1).is_complex()


def test_deep_nesting_is_refused() -> None:
    data: Any = 1
    for _ in range(10_000):
        data = [data]
    with pytest.raises(ValueError, match="nested"):
        weft.tensor(data)


def test_as_tensor_and_asarray_share_where_they_can() -> None:
    x = weft.ones(2)
    assert weft.as_tensor(x) is x
    assert weft.as_tensor(x, dtype=weft.float64).dtype == weft.float64
    array = np.zeros(2)
    weft.as_tensor(array)[0] = 5
    assert array[0] == 5
    weft.asarray(array)[1] = 6
    assert array[1] == 6
    copied = weft.asarray(array, copy=True)
    copied[0] = 0
    assert array[0] == 5
    with pytest.raises(ValueError, match="copy"):
        weft.asarray([1, 2], copy=False)


def test_the_old_constructor() -> None:
    assert weft.Tensor([1, 2]).dtype == weft.float32
    assert weft.Tensor(2, 3).shape == (2, 3)
    assert weft.Tensor().shape == (0,)


# ---- NumPy and DLPack ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numpy_there_and_back(dtype: weft.dtype) -> None:
    array = np.arange(6).reshape(2, 3).astype(NUMPY[dtype])
    made = weft.from_numpy(array)
    assert made.dtype == dtype
    assert made.tolist() == array.tolist()
    back = made.numpy()
    assert back.dtype == array.dtype
    assert np.shares_memory(back, array)


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.T,
        lambda a: a[::2],
        lambda a: a[:, 1:],
        lambda a: a[::-1],
        lambda a: a[..., None],
    ],
)
def test_strides_are_kept(change: Any) -> None:
    array = np.arange(12.0).reshape(3, 4)
    view = change(array)
    if any(step < 0 for step in view.strides):
        with pytest.raises(ValueError, match="negative"):
            weft.from_numpy(view)
        return
    made = weft.from_numpy(view)
    assert made.tolist() == view.tolist()
    made[0] = 100
    assert view.tolist() == made.tolist()
    assert np.shares_memory(made.numpy(), array)


def test_a_views_array() -> None:
    x = weft.arange(6.0).reshape(2, 3)
    array = x.t()[1].numpy()
    assert array.tolist() == [1, 4]
    array[0] = 9
    assert x[0, 1].item() == 9


def test_numpy_and_gradients() -> None:
    x = weft.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"detach\(\)\.numpy\(\)"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 1]
    assert x.detach().numpy().tolist() == [1, 1]


def test_array_protocol() -> None:
    x = weft.ones(2)
    assert np.asarray(x).dtype == np.float32
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert np.array(x, dtype=np.int64).tolist() == [1, 1]
    assert not np.shares_memory(np.array(x), x.numpy())
    assert isinstance(np.fft.fft(x), np.ndarray)


def test_read_only_arrays() -> None:
    array = np.zeros(2)
    array.flags.writeable = False
    made = weft.from_numpy(array)
    assert (made + 1).tolist() == [1, 1]
    with pytest.raises(ValueError, match="read-only"):
        made.add_(1)
    copied = weft.tensor(array)
    copied.add_(1)
    assert array.tolist() == [0, 0]


@pytest.mark.parametrize(
    "array",
    [
        np.array(["text"]),
        np.array([object()]),
        np.zeros(2, dtype=">f4"),
        np.zeros(2, dtype="datetime64[s]"),
        np.zeros(2, dtype=[("a", "f4")]),
        [1, 2],
        3,
        None,
    ],
    ids=str,
)
def test_from_numpy_takes_arrays_of_numbers(array: Any) -> None:
    with pytest.raises(TypeError):
        weft.from_numpy(array)


def test_an_array_outlives_its_tensor() -> None:
    array = weft.full((1000,), 3.0).numpy()
    made = weft.from_numpy(np.full(1000, 4.0))
    del_me = [weft.zeros(1000) for _ in range(10)]
    del del_me
    assert array.sum() == 3000
    assert made.sum().item() == 4000


def test_dlpack_with_numpy() -> None:
    x = weft.arange(6.0).reshape(2, 3)
    array = np.from_dlpack(x)
    assert array.tolist() == x.tolist()
    assert np.shares_memory(array, x.numpy())
    source = np.arange(4)
    made = weft.from_dlpack(source)
    source[0] = 7
    assert made.tolist() == [7, 1, 2, 3]
    assert x.__dlpack_device__() == (1, 0)


def test_dlpack_with_itself() -> None:
    x = weft.arange(6.0)[::2]
    made = weft.from_dlpack(x)
    made[0] = 9
    assert x[0].item() == 9
    assert made.stride() == (2,)
    capsule = x.__dlpack__()
    assert weft.from_dlpack(capsule).tolist() == x.tolist()
    with pytest.raises(ValueError, match="only once"):
        weft.from_dlpack(capsule)
    with pytest.raises(TypeError, match="not int"):
        weft.from_dlpack(3)


def test_dlpack_needs_no_gradient() -> None:
    with pytest.raises(BufferError, match="require gradient"):
        weft.ones(1, requires_grad=True).__dlpack__()


# ---- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*DTYPES, weft.bfloat16], ids=str)
def test_pickle(dtype: weft.dtype) -> None:
    x = weft.tensor([[0, 1], [2, 3]]).to(dtype)
    back = pickle.loads(pickle.dumps(x))
    assert back.dtype == dtype
    assert back.tolist() == x.tolist()
    back.zero_()
    assert x[1, 1].item() == weft.tensor(3).to(dtype).item()


def test_pickle_keeps_what_belongs_to_a_tensor() -> None:
    x = weft.ones(2, requires_grad=True)
    x.name = "weight"
    back = pickle.loads(pickle.dumps(x))
    assert back.requires_grad
    assert back.name == "weight"
    with pytest.raises(RuntimeError, match="leaves"):
        pickle.dumps(x * 2)


def test_a_view_pickles_itself() -> None:
    large = weft.zeros(100_000)
    data = pickle.dumps(large[5:8])
    assert len(data) < 1000
    assert pickle.loads(data).tolist() == [0, 0, 0]
    transposed = weft.arange(6).reshape(2, 3).t()
    assert pickle.loads(pickle.dumps(transposed)).tolist() == transposed.tolist()


def test_small_things_pickle() -> None:
    for thing in (weft.float32, weft.bool, weft.device("cpu"), weft.zeros(2, 3).shape):
        back = pickle.loads(pickle.dumps(thing))
        assert back == thing
        assert type(back) is type(thing)
    assert pickle.loads(pickle.dumps(weft.float32)) is weft.float32


def test_copy_shares_and_deepcopy_does_not() -> None:
    x = weft.ones(2, requires_grad=True)
    x.grad = weft.zeros(2)
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    with weft.no_grad():
        x[0] = 5
    assert shallow.tolist() == [5, 1]
    assert deep.tolist() == [1, 1]
    assert shallow.requires_grad
    assert deep.requires_grad
    assert deep.is_leaf
    assert deep.grad is not x.grad
    assert deep.grad.tolist() == [0, 0]


def test_deepcopy_keeps_sharing_inside_a_structure() -> None:
    x = weft.ones(2)
    a, b = copy.deepcopy([x, x])
    assert a is b
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(weft.ones(2, requires_grad=True) * 2)


def test_attributes() -> None:
    x = weft.ones(1)
    x.name = "x"
    assert x.name == "x"
    assert "name" in dir(x)
    with pytest.raises(AttributeError):
        x.other
    x.itself = x
    del x


# ---- numbers -------------------------------------------------------------------------------------


def test_single_elements() -> None:
    assert weft.tensor(3.5).item() == 3.5
    assert isinstance(weft.tensor(3).item(), int)
    assert weft.tensor(True).item() is True
    assert weft.tensor([[2.5]]).item() == 2.5
    assert float(weft.tensor(3)) == 3.0
    assert int(weft.tensor(3.9)) == 3
    assert complex(weft.tensor(2.0)) == 2
    assert round(float(weft.tensor(2.6))) == 3
    assert [10, 20, 30][weft.tensor(1)] == 20
    assert list(range(weft.tensor(3))) == [0, 1, 2]
    assert math.sqrt(weft.tensor(4.0)) == 2
    assert f"{weft.tensor(3.14159):.2f}" == "3.14"
    assert f"{weft.tensor(2.5)} {weft.tensor(3)} {weft.ones(1)}" == "2.5 3 tensor([1.])"
    with pytest.raises(TypeError, match="index"):
        [1][weft.tensor(0.0)]


@pytest.mark.parametrize("convert", [Tensor.item, float, int])
def test_several_elements_are_no_number(convert: Any) -> None:
    for x in (weft.ones(2), weft.ones(0)):
        with pytest.raises(RuntimeError, match=f"{x.numel()} elements cannot be converted"):
            convert(x)


def test_truth() -> None:
    assert weft.tensor(2)
    assert not weft.tensor(0.0)
    assert weft.tensor([[math.nan]])
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        bool(weft.ones(2))
    with pytest.raises(RuntimeError, match="no values is ambiguous"):
        bool(weft.ones(0))


def test_tolist() -> None:
    assert weft.tensor(3).tolist() == 3
    assert weft.arange(6).reshape(2, 3).t().tolist() == [[0, 3], [1, 4], [2, 5]]
    assert weft.zeros(2, 0).tolist() == [[], []]
    assert weft.tensor([True]).tolist() == [True]
    assert weft.tensor([1.5], dtype=weft.bfloat16).tolist() == [1.5]


def test_conversion() -> None:
    x = weft.tensor([1.7, -1.7])
    assert x.int().tolist() == [1, -1]
    assert x.long().dtype == weft.int64
    assert x.double().dtype == weft.float64
    assert x.half().dtype == weft.float16
    assert x.bfloat16().dtype == weft.bfloat16
    assert x.bool().tolist() == [True, True]
    assert x.byte().dtype == weft.uint8
    assert x.float() is x
    assert x.to(weft.float32) is x
    assert x.to("cpu") is x
    assert x.to(weft.float32, copy=True) is not x
    assert x.to(weft.ones(1, dtype=weft.int8)).dtype == weft.int8
    assert x.type() == "torch.FloatTensor"
    assert x.type(weft.int64).tolist() == [1, -1]
    with pytest.raises(RuntimeError, match="CPU"):
        x.cuda()
    with pytest.raises((TypeError, RuntimeError)):
        x.to("float32")


# ---- as a container ------------------------------------------------------------------------------


def test_iteration() -> None:
    x = weft.arange(6).reshape(3, 2)
    assert len(x) == 3
    assert [row.tolist() for row in x] == x.tolist()
    first, second, third = x
    first[0] = 9
    assert x[0, 0].item() == 9
    assert [a.item() + b.item() for a, b in x] == [10, 5, 9]
    for function in (iter, len):
        with pytest.raises(TypeError, match="0-d tensor"):
            function(weft.tensor(1))
    assert [second.tolist(), third.tolist()] == [[2, 3], [4, 5]]


def test_containment() -> None:
    x = weft.tensor([1, 2])
    assert 2 in x
    assert 3 not in x
    assert weft.tensor(1) in x


def test_comparison_is_by_element() -> None:
    x = weft.tensor([1, 2, 3])
    assert (x == 2).tolist() == [False, True, False]
    assert (x != weft.tensor([1, 5, 3])).tolist() == [False, True, False]
    assert (x >= 2).dtype == weft.bool
    assert (2 < x).tolist() == [False, False, True]  # noqa: SIM300
    assert (x == "text") is False
    assert (x != None) is True  # noqa: E711
    with pytest.raises(TypeError):
        x < "text"  # noqa: B015


def test_hashing_is_by_identity() -> None:
    x, y = weft.ones(1), weft.ones(1)
    assert len({x, y, x}) == 2
    assert {x: 1}[x] == 1


def test_facts() -> None:
    x = weft.zeros(2, 3, dtype=weft.float64)
    assert x.shape == (2, 3)
    assert isinstance(x.shape, weft.Size)
    assert repr(x.shape) == "weft.Size([2, 3])"
    assert x.shape.numel() == 6
    assert x.shape[:1] == (2,)
    assert isinstance(x.shape[:1], weft.Size)
    assert isinstance(x.shape + (1,), weft.Size)  # noqa: RUF005
    assert x.size() == x.shape
    assert x.size(-1) == 3
    assert x.ndim == x.dim() == x.ndimension() == 2
    assert x.numel() == x.nelement() == 6
    assert x.element_size() == x.itemsize == 8
    assert x.nbytes == 48
    assert x.stride() == (3, 1)
    assert x.stride(0) == 3
    assert x.is_contiguous()
    assert not x.t().is_contiguous()
    assert x[1].storage_offset() == 3
    assert x.is_floating_point()
    assert not x.is_cuda
    assert x.data_ptr() == x.view(6).data_ptr()
    for call in (x.size, x.stride):
        with pytest.raises(IndexError):
            call(5)


def test_dtypes() -> None:
    assert repr(weft.float32) == "weft.float32"
    assert weft.float is weft.float32
    assert weft.long is weft.int64
    assert weft.float16.itemsize == 2
    assert weft.float16.is_floating_point
    assert not weft.uint8.is_signed
    assert not weft.float32.is_complex
    with pytest.raises(TypeError):
        weft.tensor([1], dtype="float32")
    with pytest.raises(TypeError):
        weft.zeros(2, dtype=str)
    with pytest.raises(TypeError):
        weft.set_default_dtype(float)


@pytest.mark.parametrize(
    ("kind", "dtype"), [(int, weft.int64), (float, weft.float64), (bool, weft.bool)]
)
def test_python_types_stand_for_dtypes(kind: Any, dtype: weft.dtype) -> None:
    x = weft.tensor([1.0, 0.0])
    made = [
        weft.zeros(2, dtype=kind),
        weft.tensor([1, 0], dtype=kind),
        weft.tensor(np.ones(2), dtype=kind),
        weft.full_like(x, 1, dtype=kind),
        x.new_zeros(2, dtype=kind),
        x.to(kind),
        x.to("cpu", dtype=kind),
        x.to(weft.float64).view(kind),
        x.sum(dtype=kind),
        x.cumsum(0, dtype=kind),
    ]
    assert {one.dtype for one in made} == {dtype}
    assert x.to(kind).to(kind).tolist() == [1, 0]
    same = x.to(dtype)
    assert same.to(kind) is same
    assert weft.promote_types(kind, weft.bool) is dtype
    assert weft.can_cast(kind, dtype)
    assert weft.can_cast(weft.int64, kind) == (kind is not bool)
    if kind is float:
        assert weft.nn.Linear(1, 1).to(kind).weight.dtype is dtype
        assert weft.finfo(kind).bits == 64
    if kind is int:
        assert weft.iinfo(kind).bits == 64
        assert weft.randint(3, (2,), dtype=kind).dtype is dtype


def test_new_tensors_like_one() -> None:
    x = weft.ones(2, dtype=weft.float64)
    assert x.new_zeros(3).dtype == weft.float64
    assert x.new_ones((2, 2)).tolist() == [[1, 1], [1, 1]]
    assert x.new_full((2,), 7).tolist() == [7, 7]
    assert x.new_tensor([1, 2]).dtype == weft.float64
    assert x.new_empty(4).shape == (4,)
    assert x.new_zeros(1, dtype=weft.int8).dtype == weft.int8
    assert x.new_zeros(1, requires_grad=True).requires_grad


def test_elements_cannot_be_deleted() -> None:
    x = weft.ones(2)
    with pytest.raises(TypeError, match="deleted"):
        del x[0]


def test_operators_with_strangers() -> None:
    class Stranger:
        def __radd__(self, other: Any) -> str:
            return "added"

    assert weft.ones(1) + Stranger() == "added"
    with pytest.raises(TypeError):
        weft.ones(1) + "text"
    with pytest.raises(TypeError):
        weft.ones(1) + None


def test_numpy_scalars_are_numbers() -> None:
    x = weft.ones(2)
    assert (x * np.float64(2)).dtype == weft.float32
    assert (x + np.int64(2)).tolist() == [3, 3]
    assert isinstance(np.float64(2) * x, Tensor)


def test_arguments_that_come_again_are_not_mixed_up() -> None:
    x = weft.arange(24).reshape(2, 3, 4)
    for _ in range(2):
        for dim in (0, 1, 2, -1, -2, -3, None):
            for keepdim in (False, True):
                expected = x.numpy().sum(dim, keepdims=keepdim)
                assert x.sum(dim, keepdim).tolist() == expected.tolist()
                assert x.sum(dim=dim, keepdim=keepdim).tolist() == expected.tolist()
        assert x.sum().item() == 276
        with pytest.raises(TypeError, match="keepdim"):
            x.sum(0, 1)
    assert [len(x.chunk(count, -1)) for count in (1, 2, 3, 4, 1000, 1, 2)] == [1, 2, 2, 4, 4, 1, 2]
    assert weft.full((2,), True).dtype is weft.bool
    assert weft.full((2,), 1).dtype is weft.int64
    assert weft.full((2,), 1.0).dtype is weft.float32
    assert weft.rand(3).tolist() != weft.rand(3).tolist()


def test_all_kinds_of_lists_become_tensors() -> None:
    from collections import deque

    assert weft.tensor(deque([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert weft.tensor([range(2), deque([3, 4])]).tolist() == [[0, 1], [3, 4]]
    assert weft.tensor(([1, 2], np.array([3, 4]))).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="cannot make a tensor element of str"):
        weft.tensor(["a"])


def test_sizes_by_keyword() -> None:
    for make in (weft.zeros, weft.ones, weft.empty, weft.rand, weft.randn):
        assert make(size=(2, 3)).shape == (2, 3)
    assert weft.randint(high=5, size=(3,)).shape == (3,)
    assert (2,) + weft.zeros(3).shape == weft.Size([2, 3])  # noqa: RUF005 - the sum is meant


def test_new() -> None:
    x = weft.zeros(1, dtype=weft.float64)
    assert x.new(2, 3).shape == (2, 3)
    assert x.new([1, 2]).tolist() == [1.0, 2.0]
    assert x.new(2, 3).dtype is weft.float64
    assert x.new().shape == (0,)


def test_a_device_is_a_context() -> None:
    with weft.device("cpu"):
        assert weft.zeros(1).device == weft.device("cpu")


def test_old_types() -> None:
    from weft.compat.probes.types import LongTensor

    x = weft.ones(2)
    assert x.type() == "torch.FloatTensor"
    assert x.type(LongTensor).dtype is weft.int64
    assert x.type("torch.DoubleTensor").dtype is weft.float64
    assert x.type(weft.int8).type() == "torch.CharTensor"
    with pytest.raises(ValueError, match=r"invalid type: 'torch\.cuda\.FloatTensor'"):
        x.type("torch.cuda.FloatTensor")


def test_memory_that_is_not_aligned() -> None:
    array = np.ndarray((2,), "f4", bytearray(12), 3)
    array[:] = [1, 2]
    assert weft.tensor(array).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="multiple of the element byte size"):
        weft.from_numpy(array)


def test_offsets_beyond_64_bits() -> None:
    x = weft.zeros(4)
    for offsets in ((-(2**63), 3), (1, -(2**63))):
        with pytest.raises((ValueError, RuntimeError)):
            x[1:].strided_view([2], [1], offsets[0], [1], offsets[1])


def test_a_result_that_becomes_a_subclass_dies_while_garbage_is_collected() -> None:
    class Mine(weft.Tensor):
        pass

    for _ in range(3):  # each of them looks at all objects that there are
        x = weft.ones(3) + 1
        x.__class__ = Mine
        seen = weakref.ref(x, lambda _: gc.collect())
        del x
        assert seen() is None


def test_a_tensor_that_dies_is_given_to_nobody() -> None:
    x, gradient = weft.ones(2), weft.ones(2)
    x.grad = gradient
    kept: list[weft.Tensor | None] = []
    seen = weakref.ref(gradient, lambda _: kept.append(x.grad))
    del gradient
    assert seen() is None
    assert kept[0] is not None
    assert kept[0].tolist() == [1, 1]


def test_a_long_chain_of_gradients_is_freed() -> None:
    x = weft.ones(1)
    for _ in range(300_000):
        x, x.grad = weft.ones(1), x
    del x


def test_a_view_of_what_is_smaller_now() -> None:
    x = weft.ones(4).bool()
    view = x[3]
    x.data = weft.ones(1).bool()
    for use in (lambda: ~view, lambda: weft._core.is_pending(view), lambda: view + 0):
        with pytest.raises(IndexError, match="out of range"):
            use()


def test_sizes_while_an_index_changes_the_tensor() -> None:
    class Index:
        def __index__(self) -> int:
            x.data = weft.ones(*[1] * 9, 5)
            self.others = [weft.ones(*[2] * 12) for _ in range(50)]
            return 0

    x = weft.ones(*[3] * 10)
    assert x.size(Index()) == 3


# ---- Attributes of the user's own ----------------------------------------------------------------


def test_attributes_belong_to_one_tensor() -> None:
    a, b = weft.ones(2), weft.ones(2)
    assert vars(a) == {}
    a.name = "first"
    assert (vars(a), vars(b)) == ({"name": "first"}, {})
    with pytest.raises(AttributeError):
        _ = b.name
    with pytest.raises(AttributeError):
        del b.name
    vars(b)["note"] = 1
    assert b.note == 1
    a.__dict__ = {"other": 2}
    assert a.other == 2
    del a.other
    assert vars(a) == vars(weft.ones(2)) == {}


def test_attributes_of_a_class_with_a_dict_of_its_own() -> None:
    class Named:
        pass

    class Both(Named, Tensor):
        @functools.cached_property
        def doubled(self) -> float:
            return float(self.sum()) * 2

    first, second = Both([1.0, 2.0]), Both([5.0, 5.0])
    first.requires_grad = second.requires_grad = True
    assert (first.doubled, second.doubled) == (6.0, 20.0)
    assert vars(weft.ones(1)) == {}


def test_setting_an_attribute_while_one_is_set() -> None:
    tensor = weft.ones(1)

    class Name(str):
        __slots__ = ()

        def __hash__(self) -> int:
            tensor.requires_grad = False
            return super().__hash__()

    setattr(tensor, Name("mark"), 5)
    assert vars(tensor) == {"mark": 5}
    assert vars(weft.ones(1)) == {}


def test_a_method_of_one_tensor_alone_is_found_where_calls_are_fast() -> None:
    tensors = [weft.ones(2) for _ in range(100)]
    tensors[90].sigmoid = lambda: "own"
    results = [tensor.sigmoid() for tensor in tensors]
    assert results[90] == "own"
    assert all(isinstance(result, weft.Tensor) for result in results[:90] + results[91:])


def test_a_tensor_that_holds_itself_is_collected() -> None:
    tensor = weft.ones(2)
    tensor.me = tensor
    gone = weakref.ref(tensor)
    del tensor
    gc.collect()
    assert gone() is None


def test_op_functions_cannot_be_changed() -> None:
    with pytest.raises(TypeError, match="immutable"):
        type(weft.tanh).__call__ = None  # type: ignore[method-assign]
