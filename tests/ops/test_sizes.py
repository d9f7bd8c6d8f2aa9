"""The same answers at every size: vector tails, blocks, and work shared by threads."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import special

import weft

SIZES = [*range(1, 20), 31, 32, 33, 63, 64, 65, 127, 129, 1000, 2047, 2049, 70_001]
RANDOM = np.random.default_rng(0)


def draw(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RANDOM.uniform(-2, 2, shape).astype(dtype)


POINTWISE = {
    "tanh": np.tanh,
    "exp": np.exp,
    "sigmoid": special.expit,
    "relu": lambda x: np.maximum(x, 0),
    "neg": np.negative,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise(name: str, dtype: str) -> None:
    for size in SIZES:
        x = draw(size, dtype=dtype)
        result = getattr(weft, name)(weft.tensor(x)).numpy()
        np.testing.assert_allclose(result, POINTWISE[name](x), rtol=2e-6, atol=1e-7)


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    """An element's result is the same bits wherever it stands."""
    x = draw(1000)
    for name in ("tanh", "exp", "sigmoid", "log1p"):
        function = getattr(weft, name)
        argument = np.abs(x)
        whole = function(weft.tensor(argument)).numpy()
        for start in (1, 3, 500):
            np.testing.assert_array_equal(
                function(weft.tensor(argument[start:])).numpy(), whole[start:]
            )


def test_binary_and_mixed_layouts() -> None:
    for size in SIZES:
        x, y = draw(3, size), draw(3, size)
        tensors = weft.tensor(x), weft.tensor(y)
        np.testing.assert_allclose((tensors[0] + tensors[1]).numpy(), x + y)
        np.testing.assert_allclose((tensors[0] * tensors[1][1]).numpy(), x * y[1])
        np.testing.assert_allclose((tensors[0][:, :1] - tensors[1]).numpy(), x[:, :1] - y)
        np.testing.assert_allclose((tensors[0].t() + tensors[1].t()).numpy(), (x + y).T)
        np.testing.assert_allclose((tensors[0][:, ::2] * 2).numpy(), x[:, ::2] * 2)
        np.testing.assert_array_equal((tensors[0] > tensors[1]).numpy(), x > y)


@pytest.mark.parametrize("rows", [1, 3, 70])
def test_reductions(rows: int) -> None:
    for size in SIZES[:-1]:
        x = draw(rows, size, dtype="float64")
        t = weft.tensor(x)
        for dim in (0, 1):
            np.testing.assert_allclose(t.sum(dim).numpy(), x.sum(dim), rtol=1e-9, atol=1e-11)
            np.testing.assert_array_equal(t.amax(dim).numpy(), x.max(dim))
            np.testing.assert_array_equal(t.argmin(dim).numpy(), x.argmin(dim))
            np.testing.assert_allclose(t.softmax(dim).numpy(), special.softmax(x, dim), rtol=1e-9)
            np.testing.assert_allclose(t.cumsum(dim).numpy(), x.cumsum(dim), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(t.sum().item(), x.sum(), rtol=1e-9, atol=1e-11)
        assert (t.max().item(), t.min().item()) == (x.max(), x.min())


def test_large_reductions() -> None:
    """Enough work for several threads, along each dimension."""
    x = draw(300, 7, 301, dtype="float64")
    t = weft.tensor(x)
    for dim in (None, 0, 1, 2, (0, 1), (1, 2), (0, 2)):
        result = t.sum() if dim is None else t.sum(dim)
        np.testing.assert_allclose(result.numpy(), x.sum(dim), rtol=1e-9, atol=1e-9)
        maximum = t.max() if dim is None else t.amax(dim)
        np.testing.assert_array_equal(maximum.numpy(), x.max(dim))
    assert t.argmax().item() == x.argmax()
    np.testing.assert_allclose(t.permute(2, 0, 1).sum(0).numpy(), x.sum(2), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(t.var(2).numpy(), x.var(2, ddof=1), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrix_products(dtype: str) -> None:
    """Few rows, many rows, odd sizes, each side transposed."""
    for rows in (1, 2, 3, 5, 8, 17, 64, 130):
        for inner, columns in ((1, 1), (3, 5), (64, 64), (33, 129), (200, 7)):
            x, y = draw(rows, inner, dtype=dtype), draw(inner, columns, dtype=dtype)
            expected = x.astype(np.float64) @ y.astype(np.float64)
            a, b = weft.tensor(x), weft.tensor(y)
            turned_a = weft.tensor(np.ascontiguousarray(x.T)).t()
            turned_b = weft.tensor(np.ascontiguousarray(y.T)).t()
            for left, right in ((a, b), (turned_a, b), (a, turned_b), (turned_a, turned_b)):
                got = (left @ right).numpy()
                np.testing.assert_allclose(got, expected, rtol=1e-4, atol=2e-5 * np.sqrt(inner))


def test_a_row_of_a_product_does_not_depend_on_the_number_of_rows() -> None:
    """For few rows, the same bits come out however many rows go in together."""
    x, w = draw(16, 48), weft.tensor(draw(40, 48))
    whole = weft.nn.functional.linear(weft.tensor(x), w).numpy()
    for rows in (1, 2, 3, 7, 8, 15):
        part = weft.nn.functional.linear(weft.tensor(x[:rows]), w).numpy()
        np.testing.assert_array_equal(part, whole[:rows])


@pytest.mark.parametrize("sizes", [(640, 617, 640), (1101, 1001, 1000), (200, 258, 256)])
def test_a_product_does_not_depend_on_the_number_of_threads(sizes: tuple[int, int, int]) -> None:
    """Large ones and small ones, with odd ends; and few columns for each of many."""
    rows, columns, inner = sizes
    x, y = draw(rows, inner, dtype="float64"), draw(columns, inner, dtype="float64")
    a, b = weft.tensor(x), weft.tensor(y)
    before = weft.get_num_threads()
    results = []
    for threads in (1, 2, 3, 16):
        weft.set_num_threads(threads)
        results.append(weft.nn.functional.linear(a, b, b[:, 0]).numpy())
    weft.set_num_threads(before)
    for result in results:
        np.testing.assert_array_equal(result, results[0])
    np.testing.assert_allclose(results[0], x @ y.T + y[:, 0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool", "float64", "int16"])
def test_copies(dtype: str) -> None:
    """Transposes, slices and joins of every element size."""
    for shape in ((3, 5), (64, 65), (2, 300, 7), (129, 130)):
        x = (
            RANDOM.integers(0, 100, shape) % 2
            if dtype == "bool"
            else RANDOM.integers(0, 100, shape)
        ).astype(dtype)
        t = weft.tensor(x)
        order = tuple(reversed(range(x.ndim)))
        np.testing.assert_array_equal(t.permute(order).contiguous().numpy(), x.transpose(order))
        np.testing.assert_array_equal(t[..., ::3].contiguous().numpy(), x[..., ::3])
        np.testing.assert_array_equal(weft.cat([t, t[1:]]).numpy(), np.concatenate([x, x[1:]]))
        np.testing.assert_array_equal(t.flip((0,)).numpy(), np.flip(x, 0))


def test_sorting() -> None:
    for size in (*SIZES[:24], 5000):
        x = RANDOM.integers(0, 50, size)
        values, indices = weft.sort(weft.tensor(x), stable=True)
        np.testing.assert_array_equal(values.numpy(), np.sort(x))
        np.testing.assert_array_equal(indices.numpy(), np.argsort(x, kind="stable"))
        k = max(1, size // 3)
        np.testing.assert_array_equal(
            weft.topk(weft.tensor(x), k).values.numpy(), np.sort(x)[::-1][:k]
        )


def test_large_gathers_and_scatters() -> None:
    x, index = draw(500, 64, dtype="float64"), RANDOM.integers(0, 500, 20_000)
    t, places = weft.tensor(x, requires_grad=True), weft.tensor(index)
    rows = t[places]
    np.testing.assert_array_equal(rows.detach().numpy(), x[index])
    weights = draw(20_000, 64, dtype="float64")
    (gradient,) = weft.autograd.grad(rows, t, weft.tensor(weights))
    expected = np.zeros_like(x)
    np.add.at(expected, index, weights)
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-9, atol=1e-9)


def test_more_threads_than_there_can_be() -> None:
    """In a process of its own: its threads stay, and so does the limit of its memory."""
    program = """
import resource, weft
x = weft.ones(30_000_000)
x.add_(1)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 400_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for threads in (100_000, 2):
    weft.set_num_threads(threads)
    assert x.add_(1).sum().item() > 8e7
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=100)
