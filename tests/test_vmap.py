"""vmap: a function over one row, run once for all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from threading import Thread
from typing import Any

import numpy as np
import pytest

import weft
from tests.ops.row import assert_close
from weft import Tensor, _core, nn, vmap
from weft.func import grad, jvp, vjp


def floats(*shape: int) -> Tensor:
    return weft.randn(shape, dtype=weft.float64)


def assert_equal(got: Any, expected: Any) -> None:
    assert got.dtype == expected.dtype
    assert_close(got, expected.detach().numpy(), "float64")


def looped(function: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    return weft.stack([function(row) for row in rows])


# ---- dimensions and nesting ----


def test_in_dims_of_each_argument() -> None:
    x, y = floats(3, 2), floats(2, 3)
    got = vmap(lambda a, b: a * b, in_dims=(1, 0))(x, y)
    assert_equal(got, x.transpose(0, 1) * y)
    assert_equal(vmap(lambda a, b: a * b, in_dims=(-1, None))(x, y[0]), x.transpose(0, 1) * y[0])
    assert_equal(vmap(lambda a, b: a * b, in_dims=[1, 0])(x, y), x.transpose(0, 1) * y)


def test_in_dims_nest_like_arguments() -> None:
    x, y, z = floats(4, 2), floats(2, 4), floats(2)
    tree = {"a": [x, (y, 3)], "b": z}
    dims = ({"a": [0, (1, None)], "b": None},)
    got = vmap(lambda t: t["a"][0] * t["a"][1][0] * t["a"][1][1] + t["b"], in_dims=dims)(tree)
    assert_equal(got, x * y.transpose(0, 1) * 3 + z)
    # One number stands for all that is inside.
    assert_equal(vmap(lambda t, u: t[0] * t[1] + u, in_dims=(0, None))((x, x), z), x * x + z)


def test_out_dims() -> None:
    x = floats(4, 2, 3)
    assert_equal(vmap(weft.sin, out_dims=1)(x), x.sin().movedim(0, 1))
    assert_equal(vmap(weft.sin, out_dims=-1)(x), x.sin().movedim(0, -1))
    first, rest = vmap(lambda r: (r, {"s": r.sum(), "n": 7}), out_dims=(1, {"s": 0, "n": None}))(x)
    assert_equal(first, x.movedim(0, 1))
    assert_equal(rest["s"], x.sum((1, 2)))
    assert rest["n"] == 7
    assert_equal(vmap(weft.sin, out_dims=(0,))(x), x.sin())


def test_results_without_rows() -> None:
    x, w = floats(4, 2), floats(3)
    assert_equal(vmap(lambda r: w)(x), w.expand(4, 3))
    assert vmap(lambda r: w, out_dims=None)(x).shape == (3,)


def test_keyword_arguments_are_handed_on() -> None:
    x = floats(4, 3)
    assert_equal(vmap(lambda r, scale: r * scale)(x, scale=x[0]), x * x[0])


def test_vmap_of_vmap() -> None:
    x, y, w = floats(3, 2), floats(4, 2), floats(2, 2)
    outer = vmap(vmap(lambda a, b: (a @ w) @ b, in_dims=(None, 0)), in_dims=(0, None))
    assert_equal(outer(x, y), x @ w @ y.transpose(0, 1))
    inner_only = vmap(lambda a: vmap(lambda b: a * 2 + b)(y))(x)
    assert_equal(inner_only, x[:, None] * 2 + y)


def test_no_rows() -> None:
    w = floats(3, 2)
    got = vmap(lambda r: (r @ w).softmax(0))(weft.zeros(0, 3, dtype=weft.float64))
    assert got.shape == (0, 2)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
def test_chunks(size: int) -> None:
    x, w = floats(4, 3), floats(3)
    both = vmap(lambda r: (r * w, w), chunk_size=size, out_dims=(0, None))(x)
    assert_equal(both[0], x * w)
    assert both[1].shape == (3,)


def test_name_and_docs_are_the_functions() -> None:
    def scaled(x: Tensor) -> Tensor:
        """Scale."""
        return x * 2

    assert vmap(scaled).__name__ == "scaled"
    assert vmap(nn.Linear(3, 2))(weft.zeros(4, 3)).shape == (4, 2)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: vmap(lambda: x)(), "at least one argument"),
        (vmap(weft.sin, in_dims=None), "in_dims must be an int or a tuple"),
        (vmap(weft.sin, in_dims="a"), "in_dims must be an int or a tuple"),
        (vmap(weft.sin, in_dims=(1.5,)), "in_dims must be ints or None"),
        (vmap(weft.sin, in_dims=2), "in_dims is 2 for a tensor of 2 dimensions"),
        (lambda x: vmap(weft.sin)(3.0), "in_dims is 0 for an argument of type float"),
        (vmap(weft.sin, in_dims=(None,)), "at least one argument must have examples"),
        (lambda x: vmap(weft.add, in_dims=(0,))(x, x), "in_dims is not compatible"),
        (lambda x: vmap(weft.add)(x, x[:2]), "got sizes [3, 2]"),
        (vmap(lambda r: 3), "must return tensors, not int"),
        (vmap(weft.sin, out_dims=None), "out_dims is None for a result that differs"),
        (vmap(lambda r: (r, r), out_dims=(0,)), "out_dims is not compatible"),
        (lambda x: vmap(weft.sin, chunk_size=0), "chunk_size must be None or greater than 0"),
    ],
)
def test_wrong_dims(call: Callable[[Tensor], Any], says: str) -> None:
    with pytest.raises(ValueError) as caught:
        call(floats(3, 2))
    assert says in str(caught.value)


def test_wrong_place_of_a_result() -> None:
    with pytest.raises(IndexError):
        vmap(weft.sin, out_dims=5)(floats(3, 2))


# ---- what a function may do ----


def read(r: Tensor) -> Tensor:
    return r if r.sum() > 0 else -r


@pytest.mark.parametrize(
    "function",
    [
        read,
        lambda r: r * r.sum().item(),
        lambda r: weft.tensor(r.numpy()),
        lambda r: r * float(r[0]),
        lambda r: (str(r), r)[1],
        lambda r: r.tolist(),
        lambda r: r[: int(r[0])],
    ],
)
def test_reading_a_value_says_what_to_use(function: Callable[[Tensor], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"vmap: the function reads a value .* weft\.map"):
        vmap(function)(floats(3, 2))


@pytest.mark.parametrize("function", [lambda r: r[r > 0], lambda r: r.nonzero(), weft.unique])
def test_shapes_that_depend_on_values(function: Callable[[Tensor], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"vmap: nonzero .* weft\.map"):
        vmap(function)(floats(3, 2))


def test_reading_what_all_rows_share() -> None:
    w = weft.tensor([1.0, 2.0], dtype=weft.float64)
    x = floats(3, 2)
    assert_equal(vmap(lambda r: r * w if w.sum() > 0 else r)(x), x * w)


def test_a_row_that_was_kept() -> None:
    kept: list[Tensor] = []
    x = floats(3, 2)
    vmap(lambda r: (kept.append(r), r)[1])(x)
    uses: list[Callable[[Tensor], Any]] = [
        lambda k: k + 1,
        lambda k: k.tolist(),
        lambda k: k.add_(1),
        lambda k: weft.zeros(2, dtype=weft.float64).add_(k),
        lambda k: vmap(lambda r: r + k)(x),
        lambda k: k.data_ptr(),
        lambda k: k._version,
        lambda k: k.detach(),
        lambda k: k.copy_(weft.zeros(2)),
        lambda k: weft.zeros(2, dtype=weft.float64).copy_(k),
        lambda k: (weft.ones_like(x[0], requires_grad=True) * 2).tanh().backward(k),
        vjp(weft.tanh, x[0])[1],
        lambda k: jvp(weft.tanh, (x[0],), (k,)),
        backward_with_hook,
    ]
    for use in uses:
        with refused():
            use(kept[0])
        with weft.lazy(), refused():
            use(kept[0])


def refused() -> Any:
    return pytest.raises(RuntimeError, match="a vmap that has ended")


def backward_with_hook(given: Tensor) -> None:
    y = weft.ones(2, dtype=weft.float64, requires_grad=True) * 2
    y.register_hook(lambda _: given)
    y.tanh().sum().backward()


def test_a_row_that_was_kept_is_no_part_of_a_strand() -> None:
    kept: list[Tensor] = []
    x = floats(3, 2)
    vmap(lambda r: (kept.append(r), r)[1])(x)
    before = _core.set_strand_threshold(1)
    try:
        for place in range(3):
            for one in [*[x[0]] * 6, kept[0]]:
                ins = [one if i == place else x[1] for i in range(3)]
                with refused() if one is kept[0] else nullcontext(), weft.lazy():
                    y = ins[0].tanh() * ins[1] - ins[2]
                    y.sum().item()
    finally:
        _core.set_strand_threshold(before)


def test_a_row_that_another_thread_maps() -> None:
    errors: list[str] = []

    def work(*rows: Tensor) -> None:
        try:
            weft.map(lambda t: (t.tanh() * 2).sum().item(), rows)
        except weft.UnsupportedError as error:
            errors.append(str(error))

    def function(x: Tensor) -> Tensor:
        thread = Thread(target=work, args=(x, x * 2))
        thread.start()
        thread.join()
        return x

    vmap(function)(weft.randn(3, 2))
    assert "is a row of a vmap" in errors[0]


def test_views_and_indexing() -> None:
    x, i = floats(4, 3, 2), weft.tensor([0, 2, 1, 2])
    assert_equal(vmap(lambda r, k: r[k])(x, i), weft.stack([x[n, i[n]] for n in range(4)]))
    assert_equal(vmap(lambda r, k: r[:, 1][k])(x, i), weft.stack([x[n, i[n], 1] for n in range(4)]))
    assert_equal(
        vmap(lambda r: r.T[:, ::2].reshape(-1))(x), looped(lambda r: r.T[:, ::2].reshape(-1), x)
    )
    assert_equal(vmap(lambda r: sum(r.unbind()))(x), x.sum(1))


def fill(r: Tensor) -> Tensor:
    made = weft.zeros(3, dtype=weft.float64)
    made[0] = r[1]
    made[1:].add_(r[:2])
    made.unsqueeze(0)[0, 2] *= r[2]
    made.mul_(2)
    return made


def test_writing_what_was_made_inside() -> None:
    x = floats(4, 3).requires_grad_()
    got, expected = vmap(fill)(x), looped(fill, x)
    assert_equal(got, expected)
    ours, theirs = (weft.autograd.grad((y * y).sum(), x)[0] for y in (got, expected))
    assert_equal(ours, theirs)
    assert_equal(vmap(lambda r: r.clone().add_(r))(x), 2 * x)
    before = x.detach().clone()
    vmap(lambda r: r.clone()[0].mul_(3))(x)
    assert_equal(x, before)


def test_a_view_sees_what_is_written_to_its_base() -> None:
    def write(r: Tensor) -> Tensor:
        made = r.clone()
        view = made[1:]
        made.add_(1)
        view.mul_(r[0])
        return weft.cat([made, view])

    x = floats(4, 3)
    assert_equal(vmap(write)(x), looped(write, x))


def test_writing_rows_into_what_was_made_outside() -> None:
    x, total = floats(4, 3), weft.zeros(3, dtype=weft.float64)
    with pytest.raises(
        RuntimeError, match="add_ would write rows into a tensor that was made outside"
    ):
        vmap(total.add_)(x)
    with pytest.raises(RuntimeError, match="made outside"):
        vmap(lambda r: total[:2].add_(r[:2]))(x)
    assert total.tolist() == [0, 0, 0]
    vmap(lambda r: (total.add_(1), r)[1])(x)  # once, for all rows
    assert total.tolist() == [1, 1, 1]


def test_cells_and_modules() -> None:
    cell, x = nn.LSTMCell(3, 4).double(), floats(5, 3)
    assert_equal(vmap(lambda r: cell(r[None])[0][0])(x), cell(x)[0])


def test_inside_lazy_evaluation_and_map() -> None:
    x, w = floats(4, 3), floats(3).requires_grad_()
    with weft.lazy():
        got = vmap(lambda r: (r * w).tanh().sum())(x)
    assert_equal(got, (x * w).tanh().sum(1))
    several = weft.map(lambda scale: vmap(lambda r: (r * w * scale).sum())(x), [1.0, 2.0])
    assert_equal(several[1], 2 * (x * w).sum(1))
    rows = vmap(lambda r: weft.stack(weft.map(lambda scale: r * scale, [1.0, 2.0])))(x)
    assert_equal(rows, weft.stack([x, 2 * x], 1))


# ---- gradients ----


def test_gradients_of_what_is_closed_over() -> None:
    x, w = floats(4, 3), floats(3, 2).requires_grad_()
    got, expected = vmap(lambda r: (r @ w).tanh())(x), (x @ w).tanh()
    ours, theirs = (weft.autograd.grad((y * y).sum(), w)[0] for y in (got, expected))
    assert_equal(ours, theirs)


def test_modes_inside() -> None:
    x = floats(4, 3).requires_grad_()

    def cut(r: Tensor) -> Tensor:
        with weft.no_grad():
            scale = r * 2
        return r * scale + r.detach()

    (got,) = weft.autograd.grad(vmap(cut)(x).sum(), x)
    assert_equal(got, 2 * x)
    assert vmap(lambda r: r.requires_grad_().sum())(x.detach()).requires_grad is False
    with weft.no_grad():
        assert not vmap(lambda r: r * 2)(x).requires_grad


def test_backward_inside_is_refused() -> None:
    w = floats(3).requires_grad_()

    def accumulate(r: Tensor) -> Tensor:
        (r * w).sum().backward()
        return r

    with pytest.raises(RuntimeError, match=r"vmap: backward\(\) inside the function"):
        vmap(accumulate)(floats(4, 3))
    assert w.grad is None


def test_hooks_inside() -> None:
    def hooked(r: Tensor) -> Tensor:
        square = r * r
        square.register_hook(lambda g: g * 3)
        return square.sum()

    x = floats(4, 3)
    assert_equal(vmap(grad(hooked))(x), 6 * x)


def test_nothing_is_left_behind() -> None:
    nodes = weft._core.live_nodes()
    x, w = floats(4, 3).requires_grad_(), floats(3)
    result = vmap(grad(lambda r: (r * w).tanh().sum()))(x)
    del x, result
    assert weft._core.live_nodes() == nodes


# ---- random numbers ----


def test_random_numbers_are_refused_unasked() -> None:
    x = floats(4, 3)
    for draw in (lambda r: r + weft.randn(3), lambda r: r.bernoulli(0.5), nn.Dropout()):
        with pytest.raises(RuntimeError, match="randomness='different' or randomness='same'"):
            vmap(draw)(x)
    assert_equal(vmap(nn.Dropout().eval())(x), x)
    with pytest.raises(RuntimeError, match="randomness must be"):
        vmap(weft.sin, randomness="other")


DRAWS: dict[str, Callable[[Tensor], Tensor]] = {
    "randn": lambda r: weft.randn(5, dtype=weft.float64) + 0 * r[0],
    "randint": lambda r: weft.randint(1000, (5,)) + 0 * r[0],
    "randperm": lambda r: weft.randperm(50) + 0 * r[0],
    "dropout": lambda r: nn.functional.dropout(weft.ones(30) + 0 * r[0]),
    "bernoulli": lambda r: weft.bernoulli(weft.full((30,), 0.5) + 0 * r[0]),
    "multinomial": lambda r: weft.multinomial(weft.ones(50) + 0 * r[0], 20),
    "multinomial of rows": lambda r: weft.multinomial(weft.ones(2, 50) + 0 * r[0], 20),
    "in place": lambda r: weft.empty(5).normal_() + 0 * r[0],
    "in place, of rows": lambda r: (weft.empty(5) * 0 * r[0]).uniform_(),
}


@pytest.mark.parametrize("name", DRAWS)
def test_randomness(name: str) -> None:
    x = floats(4, 3)
    same = vmap(DRAWS[name], randomness="same")(x)
    for row in same[1:]:
        assert row.tolist() == same[0].tolist()
    different = vmap(DRAWS[name], randomness="different")(x)
    for row in different[1:]:
        assert row.tolist() != different[0].tolist()


@pytest.mark.parametrize("name", DRAWS)
def test_randomness_inside_a_map(name: str) -> None:
    x = floats(4, 3)
    different, same = (
        weft.map(vmap(DRAWS[name], randomness=how), [x])[0] for how in ("different", "same")
    )
    assert different[0].tolist() != different[1].tolist()
    assert same[0].tolist() == same[1].tolist()


def test_random_numbers_are_those_of_the_batch() -> None:
    x = floats(4, 3)
    weft.manual_seed(1)
    got = vmap(lambda r: r + weft.randn(3, dtype=weft.float64), randomness="different")(x)
    weft.manual_seed(1)
    assert_equal(got, x + weft.randn(4, 3, dtype=weft.float64))


def test_randomness_of_chunks() -> None:
    rows = vmap(lambda r: weft.randn(3) + 0 * r, randomness="same", chunk_size=2)(weft.zeros(5, 3))
    assert all(row.tolist() == rows[0].tolist() for row in rows)


def test_randomness_of_nested_calls() -> None:
    x = weft.zeros(3, 2)
    inner = vmap(lambda r: r + weft.rand(()), randomness="same")
    rows = vmap(inner, randomness="different")(x)
    assert all(row[0] == row[1] for row in rows)
    assert rows[0, 0] != rows[1, 0]


ADD: Any = weft.add
WRITES: dict[str, Any] = {
    "mul_": (lambda x: x.mul_(2), lambda x: x * 2),
    "+=": (lambda x: x.__iadd__(x), lambda x: x + x),
    "zero_": (lambda x: x.zero_(), lambda x: x * 0),
    "copy_": (lambda x: x.copy_(x.flip(0)), lambda x: x.flip(0)),
    "composite": (lambda x: x.square_(), lambda x: x * x),
    "cumsum_": (lambda x: x.cumsum_(0), lambda x: x.cumsum(0)),
    "functional": (lambda x: nn.functional.relu(x.sub_(3), inplace=True), lambda x: (x - 3).relu()),
    "out": (lambda x: ADD(x, 1, out=x), lambda x: x + 1),
    "no_grad": (weft.no_grad()(lambda x: x.mul_(2)), lambda x: x * 2),
    "twice": (lambda x: x.mul_(2).add_(1), lambda x: x * 2 + 1),
    "setitem": (lambda x: x.__setitem__(0, 7.0), lambda x: weft.cat([0 * x[:1] + 7, x[1:]])),
    "places": (
        lambda x: x.__setitem__(weft.tensor([0, -1]), 7.0),
        lambda x: weft.cat([0 * x[:1] + 7, x[1:2], 0 * x[:1] + 7]),
    ),
    "mask": (lambda x: x.masked_fill_(x > 2, 7.0), lambda x: weft.where(x > 2, 7.0, x)),
    "filled": (lambda x: x.fill_(7.0), lambda x: 0 * x + 7),
    "other shape": (lambda x: x.unsqueeze_(0)[:, 1:].mul_(5), lambda x: x * weft.tensor([1, 5, 5])),
    "out, of no rows": (lambda x: ADD(weft.ones(3), 1, out=x), lambda x: 0 * x + 2),
    "select": (lambda x: x[0].mul_(5), lambda x: weft.cat([x[:1] * 5, x[1:]])),
    "view": (lambda x: x.view(3, 1)[1:].mul_(5), lambda x: weft.cat([x[:1], x[1:] * 5])),
    "transposed": (lambda x: x.unsqueeze(0).T.mul_(5), lambda x: x * 5),
    "detached": (lambda x: x.detach().mul_(5), lambda x: x * 5),
    "detached view": (lambda x: x[1:].detach().mul_(5), lambda x: weft.cat([x[:1], x[1:] * 5])),
    "strided": (lambda x: x.diag_embed().diagonal().mul_(5), lambda x: x),
    "copy": (lambda x: x.clone().mul_(5), lambda x: x),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("settings", [{}, {"in_dims": 1}, {"chunk_size": 2}])
def test_writes_reach_the_argument(name: str, settings: dict[str, Any]) -> None:
    write, expected = WRITES[name]
    dim = settings.get("in_dims", 0)
    x = weft.arange(1.0, 13.0).reshape(4, 3).movedim(0, dim).contiguous()
    memory, before = x.view(-1), x.clone()

    def run(row: Tensor) -> Tensor:
        write(row)
        return (row * 1).reshape(3)

    after = vmap(run, **settings)(x)
    rows = weft.stack([expected(row) for row in before.unbind(dim)])
    assert after.tolist() == rows.tolist()
    assert x.tolist() == rows.movedim(0, dim).tolist()
    assert memory.tolist() == x.reshape(-1).tolist()


def test_writes_reach_through_nested_calls_and_other_names() -> None:
    x = weft.ones(2, 3, 2)
    vmap(vmap(lambda row: row.mul_(2)), in_dims=1)(x)
    assert x.tolist() == [[[2, 2]] * 3] * 2
    vmap(lambda row: vmap(lambda part: part[0].mul_(2))(row[1:]))(x)
    assert x.tolist() == [[[2, 2], [4, 2], [4, 2]]] * 2
    seen = vmap(lambda one, other: (one.add_(1), other * 1)[1])(x[:, 0], x[:, 0])
    assert seen.tolist() == [[3, 3]] * 2  # both are the same memory
    total = vmap(lambda row: (row.zero_(), x.sum())[1])(x)
    assert total.tolist() == [0, 0]
    with weft.lazy():
        for write in (lambda row: row.add_(1), lambda row: row.detach()[:].add_(1)):
            later = weft.zeros(2, 2) * 3
            seen = vmap(lambda row, other, write=write: (write(row), other * 1)[1])(later, later[:])
            assert (later.tolist(), seen.tolist()) == ([[1, 1]] * 2, [[1, 1]] * 2)
    tree = {"a": weft.ones(2)}
    vmap(lambda tree: tree["a"].add_(1))(tree)
    assert tree["a"].tolist() == [2, 2]


def test_writes_to_arguments_have_gradients() -> None:
    weights = weft.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for returned in (False, True):
        x = weights * 1

        def run(row: Tensor) -> Tensor:
            row[0].mul_(3)
            return row * 1

        y = vmap(run)(x)
        (slope,) = weft.autograd.grad((y if returned else x).sum(), weights)
        assert slope.tolist() == [[3, 1], [3, 1]]
        assert x.tolist() == [[3, 2], [9, 4]]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        vmap(lambda row: row.mul_(2))(weights)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        vmap(lambda row: row[0].mul_(2))(weights)
    with weft.no_grad():
        vmap(lambda row: row.mul_(2))(weights)
    assert weights.tolist() == [[2, 4], [6, 8]]
    used = x.exp()
    vmap(lambda row: row.mul_(2))(used)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        used.sum().backward()


def test_writes_that_cannot_be() -> None:
    with pytest.raises(RuntimeError, match="single memory location"):
        vmap(lambda row: row.mul_(2))(weft.ones(3).expand(2, 3))
    with pytest.raises(RuntimeError, match="broadcast"):
        vmap(lambda row: row.add_(weft.ones(3)))(weft.ones(2))
    with pytest.raises(RuntimeError, match="can't be cast"):
        vmap(lambda row: row.div_(2))(weft.arange(2))
    shared = weft.ones(2)
    with pytest.raises(RuntimeError, match="outside of the function"):
        vmap(lambda row, shared: shared.add_(row), in_dims=(0, None))(weft.ones(3, 2), shared)
    with pytest.raises(RuntimeError, match="outside of the function"):
        vmap(lambda row: shared.detach().add_(row))(weft.ones(3, 2))
    with pytest.raises(RuntimeError, match="another dtype"):
        vmap(lambda row: row.view(weft.int32).zero_())(weft.ones(3, 2))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        vmap(grad(lambda row: row.mul_(2).sum()))(weft.ones(3, 2))
    with pytest.raises(RuntimeError, match="not its base's"):
        vmap(lambda row: row.as_strided((2,), (1,)).mul_(2), in_dims=1)(weft.ones(3, 2))
    assert shared.tolist() == [1, 1]


@pytest.mark.parametrize("in_dims", [0, 1, 2])
@pytest.mark.parametrize("offset", [None, 0, 2])
@pytest.mark.parametrize(
    ("size", "stride"), [((2,), (1,)), ((2, 2), (3, 1)), ((3,), (0,)), ((), ())]
)
def test_strides_are_those_of_the_memory(
    in_dims: int, offset: int | None, size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    x = weft.arange(24.0, requires_grad=True)
    cube = x.view(2, 3, 4)
    apart = cube.stride(in_dims)
    got = vmap(lambda row: row.as_strided(size, stride, offset), in_dims=in_dims)(cube)
    places = [
        [i * apart + (offset or 0) + sum(n * s for n, s in zip(at, stride, strict=True))]
        for i in range(cube.shape[in_dims])
        for at in np.ndindex(*size)
    ]
    assert got.reshape(-1).tolist() == [place for (place,) in places]
    got.sum().backward()
    expected = np.bincount(np.ravel(places), minlength=24)
    assert x.grad is not None
    assert x.grad.tolist() == expected.tolist()


def test_rows_have_the_strides_of_the_memory() -> None:
    seen: list[Any] = []
    x = weft.arange(12.0).reshape(6, 2)
    vmap(lambda row: (seen.append((row.stride(), row.is_contiguous())), row)[1], in_dims=1)(x)
    assert seen == [((2,), False)]
    cube = weft.arange(8.0).reshape(2, 2, 2)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        vmap(lambda row: row.view(-1), in_dims=2)(cube.transpose(0, 1))
    nested = vmap(vmap(lambda row: row.as_strided((2,), (1,))), in_dims=1)(cube)
    assert nested.tolist() == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
