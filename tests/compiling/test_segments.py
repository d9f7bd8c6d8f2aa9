"""Segments: what has been recorded as one op is what the same lines give, whatever has changed since."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import _core, nn

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans")


def assert_same(one: Any, other: Any) -> None:
    if isinstance(one, weft.Tensor):
        assert one.dtype == other.dtype
        assert one.requires_grad == other.requires_grad
        assert one.shape == other.shape
        assert one.tolist() == other.tolist()
    elif isinstance(one, (tuple, list)):
        assert type(one) is type(other)
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        assert type(one) is type(other)
        assert one == other


def check(function: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    """Call a function in several ways, three times each: alone, lazily and in a map."""
    compiled = weft.compile(function)
    for _ in range(3):
        for given in calls:
            assert_same(function(*given), compiled(*given))
            with weft.lazy():
                one, other = function(*given), compiled(*given)
                assert_same(flags(one), flags(other))
                assert_same(one, other)
    for _ in range(2):
        expected = weft.map(lambda given: function(*given), list(calls), batch=False)
        found = weft.map(lambda given: compiled(*given), list(calls), replay=False)
        for one, other in zip(expected, found, strict=True):
            assert_same(flags(one), flags(other))
            for a, b in zip(leaves(one), leaves(other), strict=True):
                assert a.dtype == b.dtype
                assert a.tolist() == pytest.approx(b.tolist(), rel=1e-6)


def leaves(value: Any) -> list[weft.Tensor]:
    if isinstance(value, weft.Tensor):
        return [value.reshape(-1)]
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple) else []


def flags(value: Any) -> Any:
    """Return which tensors need gradients, before anything of them is computed."""
    if isinstance(value, weft.Tensor):
        return value.requires_grad
    return tuple(map(flags, value)) if isinstance(value, (tuple, list)) else None


X = weft.tensor([1.0, -2.0, 3.0])
W = weft.tensor([0.5, 0.25, -1.0], requires_grad=True)


def chain(x, w):
    y = (x * w).tanh()
    return y + x, y.exp()


def numbers(x, n, scale):
    y = x * scale + n
    return (y - n) * (n + 1)


def sizes(x):
    n = x.shape[0]
    return (x + n).tanh() * len(x)


def decides_by_numbers(x, n):
    if n > 2:
        x = x * 2
    elif n:
        x = x.tanh() + n
    return (x * x).sum()


def gates(x):
    a, b = weft.cat([x, x]).chunk(2)
    return a.sigmoid() * b, (a + b).tanh()


def constant_too(x, w):
    y = x.tanh() * 2
    with_gradient = (x * w).exp() + y
    return y + 1, with_gradient


def passes_on(x, w):
    y = (x + w).tanh() * 2
    return x, (y, w), y


def of_list(xs):
    a, b = xs
    return (a + b).tanh() * xs[0], len(xs)


def unrolled(xs):
    total = xs[0] * 0
    for x in xs:
        total = (total + x).tanh()
    return total * 2


def comparisons(x, n):
    return weft.where(x > n, x * 2, x - 1), (x == n).sum() + 1


def none_or(x, y):
    if y is None:
        return (x * 2).tanh() + 1
    return (x * y).tanh() + 1


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (chain, [(X, W), (X * 2, W), (X.double(), W), (X, W.detach()), (X[:1], W), (X, X)]),
        (numbers, [(X, 1, 0.5), (X, 2, 0.5), (X, 1, 3), (X, 0.25, 2.5), (X, True, 1.0), (W, 1, 2)]),
        (sizes, [(X,), (X[:2],), (weft.ones(2, 3),), (weft.ones(0),)]),
        (decides_by_numbers, [(X, 0), (X, 1), (X, 2), (X, 3), (X, 2.5), (X, 9), (W, 4), (W, 1)]),
        (gates, [(X,), (W,), (X.double(),)]),
        (constant_too, [(X, W), (X, X), (W, X)]),
        (passes_on, [(X, W), (W, X), (X, X)]),
        (of_list, [([X, W],), ((W, X),), ([X.double(), W],)]),
        (unrolled, [([X, W],), ([X],), ([X, W, X],), ((X, W),)]),
        (comparisons, [(X, 1), (X, 1.0), (X, -2), (weft.tensor([1, 2]), 1), (X, 0.5)]),
        (none_or, [(X, None), (X, W), (X, 2), (X, 0.5)]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_same_lines_give_the_same(
    function: Callable[..., Any], calls: list[tuple[Any, ...]]
) -> None:
    check(function, *calls)


def test_gradients_and_second_gradients_are_those_of_single_ops() -> None:
    def body(x, w, n):
        y = (x * w).tanh() * n
        return (y * y + w).sum()

    compiled = weft.compile(body)
    for n in (1.0, 2.0, 3.5, 1.0):
        results = []
        for function in (body, compiled):
            w = W.detach().clone().requires_grad_()
            (first,) = weft.autograd.grad(function(X, w, n), w, create_graph=True)
            (second,) = weft.autograd.grad((first * first).sum(), w)
            results.append((first.tolist(), second.tolist()))
        assert results[0] == results[1]


def recorded(function: Callable[[], Any]) -> int:
    """Return how many ops a function leaves pending."""
    with weft.lazy():
        before = _core.pending_count()
        kept = function()
        count = _core.pending_count() - before
        del kept
        return count


def test_many_ops_are_recorded_as_one() -> None:
    before = _core.set_strand_threshold(2**62)
    try:
        compiled = weft.compile(lambda x, w: ((x * w).tanh() + x, (x * w).exp()))
        counts = [recorded(lambda: compiled(X, W)) for _ in range(4)]
        assert counts[0] == 5
        assert counts[2:] == [1, 1]
    finally:
        _core.set_strand_threshold(before)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.outer = nn.Linear(3, 1)
        self.scale = 2.0

    def hidden(self, x):
        return self.inner(x).tanh() * self.scale

    def forward(self, x):
        return self.outer(self.hidden(x)).sigmoid() + 1


def test_modules_may_change() -> None:
    model = Model()
    compiled = weft.compile(model)

    def same() -> None:
        for _ in range(3):
            assert model(X).tolist() == compiled(X).tolist()
            with weft.lazy():
                assert model(X).tolist() == compiled(X).tolist()

    same()
    model.inner = nn.Linear(3, 3)
    same()
    model.scale = 3.0
    same()
    model.inner.weight = nn.Parameter(weft.ones(3, 3))
    same()
    with weft.no_grad():
        model.inner.weight.mul_(0.5)
    same()
    model.inner = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    same()
    model.hidden = lambda x: x * 4  # type: ignore[method-assign]
    same()
    del model.hidden
    same()
    calls = []
    handle = model.outer.register_forward_hook(lambda *_: calls.append(1))
    same()
    assert len(calls) == 12
    handle.remove()
    same()
    model.double()
    assert model(X.double()).tolist() == compiled(X.double()).tolist()


def test_classes_and_functions_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()
    compiled = weft.compile(model)
    for _ in range(4):
        compiled(X)
    monkeypatch.setattr(Model, "hidden", lambda self, x: x * self.scale)
    assert compiled(X).tolist() == model(X).tolist()
    monkeypatch.setattr(weft.Tensor, "sigmoid", weft.Tensor.tanh)
    assert compiled(X).tolist() == model(X).tolist()


def test_twenty_models_of_one_class_give_what_each_gives() -> None:
    models = [Model() for _ in range(20)]
    compiled = [weft.compile(model) for model in models]
    for _ in range(2):
        for model, one in zip(models, compiled, strict=True):
            assert model(X).tolist() == one(X).tolist()
            with weft.lazy():
                assert model(X).tolist() == one(X).tolist()


def test_nothing_is_kept_alive() -> None:
    model = Model()
    compiled = weft.compile(model)
    for _ in range(4):
        compiled(X)
        weft.map(compiled, [X, X * 2], replay=False)
    seen = weakref.ref(model), weakref.ref(model.inner)
    del model, compiled
    gc.collect()
    assert [one() for one in seen] == [None, None]


def test_what_a_segment_gives_may_be_written() -> None:
    def body(x):
        y = (x * 2).tanh() + 1
        z = y.reshape(-1)
        z += 1
        return y, z * 2

    check(body, (X,), (X * 3,))


def test_recursion_is_a_segment_for_each_call() -> None:
    table, join = nn.Embedding(8, 3), nn.Linear(6, 3)

    def state(tree):
        if isinstance(tree, int):
            return table(weft.tensor(tree)).tanh()
        left, right = state(tree[0]), state(tree[1])
        return join(weft.cat([left, right])).tanh() + left

    trees = [1, (1, 2), ((1, 2), 3), (4, (5, (6, 7))), ((1, 2), (3, 4))]
    compiled = weft.compile(state)
    for _ in range(3):
        expected = [state(tree) for tree in trees]
        for way in (lambda: [compiled(tree) for tree in trees],
                    lambda: weft.map(compiled, trees, replay=False)):  # fmt: skip
            for one, other in zip(expected, way(), strict=True):
                assert one.tolist() == pytest.approx(other.tolist(), abs=1e-6)


def test_an_error_is_at_its_own_line() -> None:
    table = nn.Embedding(4, 3)

    def body(i):
        x = weft.tensor(i)
        y = table(x)
        return y.tanh() * 2

    compiled = weft.compile(body)
    for i in (0, 1, 2, 3):
        assert compiled(i).tolist() == body(i).tolist()
    lines = []
    for function in (body, compiled):
        with pytest.raises(IndexError) as caught:
            function(9)
        lines.append([entry.lineno for entry in caught.traceback if entry.name == "body"])
    assert lines[0] == lines[1]
    assert len(lines[0]) == 1


def test_nodes_have_their_own_lines() -> None:
    def body(x):
        y = x * 2
        z = y.tanh()
        return z.exp()

    compiled = weft.compile(body)
    for _ in range(4):
        result = compiled(W)
    python = body(W)
    one, other = result.grad_fn, python.grad_fn
    for _ in range(3):
        assert one.name() == other.name()
        assert one._position == other._position
        one, other = one.next_functions[0][0], other.next_functions[0][0]


def test_random_numbers_are_drawn_as_in_python() -> None:
    dropout = nn.Dropout(0.5)

    def body(x):
        y = (x * 2).tanh() + weft.rand(3)
        return dropout(y).exp() * 2

    compiled = weft.compile(body)
    for _ in range(4):
        weft.manual_seed(3)
        expected = body(X), weft.rand(1)
        weft.manual_seed(3)
        assert_same(expected, (compiled(X), weft.rand(1)))


def test_modes_are_those_of_the_call() -> None:
    compiled = weft.compile(chain)
    for _ in range(4):
        assert compiled(X, W)[0].requires_grad
        with weft.no_grad():
            assert not compiled(X, W)[0].requires_grad
        with weft.inference_mode():
            assert compiled(X, W)[0].is_inference()
        jacobian = weft.func.jacrev(lambda x: compiled(x, W)[1])(X)
        assert jacobian.shape == (3, 3)
        assert weft.vmap(lambda x: compiled(x, W)[1])(weft.ones(4, 3)).shape == (4, 3)
        assert len(weft.graph(compiled, X, W).nodes) >= 4


def with_mask(x, mask):
    y = (x * 2).tanh()
    if mask is not None:
        y = y.masked_fill(mask, 0.0) if mask.dtype == weft.bool else y + mask
    return y.exp() * 2


def by_the_shape_of_what_is_computed(x, y):
    n = (x + y).shape[0]
    return (X * 2).tanh() * n


def test_what_decided_is_looked_at_again_also_of_tensors_that_no_op_reads() -> None:
    mask = weft.tensor([True, False, True])
    check(with_mask, (X, mask), (X, None), (X, W.detach()), (X, mask), (X, None))
    wide = weft.ones(2, 3)
    check(by_the_shape_of_what_is_computed, (X, X), (wide, X), (X, X), (X, wide))


# ---- What was looked up is looked up again -------------------------------------------------------


def repeat(function: Callable[..., Any], *calls: Callable[[], tuple[Any, ...]]) -> None:
    """Call a function as Python and compiled; each maker of arguments may change things before."""
    compiled = weft.compile(function)
    for make in (*calls[:1] * 4, *calls[1:]):
        given = make()
        results = []
        for one in (function, compiled):
            try:
                results.append(one(*given))
            except Exception as error:  # noqa: BLE001 - whatever it is, both raise it
                results.append((type(error).__name__, str(error)))
        assert_same(*results)


def linear() -> nn.Linear:
    return nn.Linear(3, 3)


def test_parameters_that_were_one_tensor_may_part() -> None:
    def tied(x, one, other):
        return other(one(x).relu()) * 2

    one, other, third = linear(), linear(), linear()
    other.weight = one.weight

    def untie() -> tuple[Any, ...]:
        other.weight = nn.Parameter(weft.zeros(3, 3))
        return X, one, other

    repeat(tied, lambda: (X, one, other), untie)
    repeat(tied, lambda: (X, one, one), lambda: (X, one, third), lambda: (X, third, one))


@pytest.mark.parametrize("make", [linear, lambda: nn.GRUCell(3, 3, bias=False)])
def test_attributes_that_native_forwards_read_may_change(make: Callable[[], Any]) -> None:
    def apply(x, layer):
        return layer(x.reshape(1, 3)).relu() * 2

    layer = make()
    names = [name for name in ("bias", "bias_ih") if getattr(layer, name, None) is None] or ["bias"]
    setattr(layer, names[0], None)

    def give_bias() -> tuple[Any, ...]:
        for name in ("bias", "bias_ih", "bias_hh"):
            if name in vars(layer) or hasattr(layer, name):
                size = 3 if name == "bias" else 9
                setattr(layer, name, nn.Parameter(weft.ones(size)))
        return X, layer

    repeat(apply, lambda: (X, layer), give_bias)


def test_variables_that_were_unbound_may_be_bound() -> None:
    def body(x, bound):
        if bound:
            z = 5
        int("3")
        y = x + 1
        w = y * 2
        int("3")
        if bound:
            return w * z
        return w

    repeat(body, lambda: (X, False), lambda: (X, True))


def test_defaults_of_any_kind() -> None:
    kept = [2]

    def inner(n, x, k=1_000_000, pair=(kept,)):
        return x * n * k * pair[0][0]

    def body(x, n):
        return inner(n, x) + 1

    def change() -> tuple[Any, ...]:
        kept[0] = 7
        return X, 3

    repeat(body, lambda: (X, 2), lambda: (X, 5), change)


class Parameter(weft.Tensor):
    def relu(self) -> Any:
        return self.detach() * 100


def test_classes_that_go_by_the_name_of_parameters() -> None:
    def body(x, p):
        y = (x * 2 + 1) * 3
        return y, p.relu() * 2

    own = weft.Tensor._make_subclass(Parameter, weft.ones(3))
    repeat(body, lambda: (X, own), lambda: (X, weft.ones(3)), lambda: (X, own))


def test_what_fails_fails_also_where_nothing_uses_it() -> None:
    class Holder:
        s = 1

    def divided(x, n):
        y = x + 1
        k = 1 // n
        return y * 2

    def looked_up(x, holder):
        y = x + 1
        k = holder.s
        return y * 2

    def first(x, items):
        y = x + 1
        k = items[0]
        return y * 2

    def compared(x, n):
        y = x + 1
        k = n < 3
        return y * 2

    holder, bare = Holder(), Holder()
    holder.s, Holder.s = 2, None
    del Holder.s
    repeat(divided, lambda: (X, 1), lambda: (X, 0))
    repeat(looked_up, lambda: (X, holder), lambda: (X, bare))
    repeat(first, lambda: (X, [1]), lambda: (X, []), lambda: (X, None))
    repeat(compared, lambda: (X, 1), lambda: (X, None))


def test_what_is_one_object_stays_one() -> None:
    def tuples(x):
        y = x + 1
        z = y * 2
        t = (y, z)
        u = t
        [].sort()
        return t is u, t, (t, u)[0] is t

    compiled = weft.compile(tuples)
    for _ in range(5):
        assert compiled(X)[0]
        assert compiled(X)[2]

    def texts(x, a, b):
        y = x + 1
        y = y * 2
        return y, a is b, a

    compiled = weft.compile(texts)
    for _ in range(4):
        compiled(X, "".join(["a", "bc"]), "".join(["ab", "c"]))
    one = "".join(["a", "bc"])
    assert compiled(X, one, one)[1]
    assert compiled(X, one, "x")[2] is one
    assert not compiled(X, one, "".join(["ab", "c"]))[1]


# ---- Steps that are settled ----------------------------------------------------------------------


class Scaled(nn.Module):
    """A module that reads parts, numbers, texts and what is around it."""

    kind = "plain"

    def __init__(self, size: int = 3) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(size, 4), nn.Linear(4, size)
        self.scale: float | None = 2.0
        self.names = ["a"]

    def shifted(self, x: weft.Tensor) -> weft.Tensor:
        return x + SHIFT

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        y = self.second(self.first(x).tanh())
        if self.scale is not None:
            y = y * self.scale
        if self.kind == "plain":
            y = self.shifted(y)
        return y - 1


SHIFT = 1.0


def _change_number(model: Scaled) -> None:
    model.scale = 3.0


def _change_none(model: Scaled) -> None:
    model.scale = None


def _change_text(model: Scaled) -> None:
    model.kind = "other"


def _change_part(model: Scaled) -> None:
    model.first = nn.Linear(3, 4)


def _change_weight(model: Scaled) -> None:
    model.first.weight = nn.Parameter(weft.ones(4, 3))


def _change_weight_in_place(model: Scaled) -> None:
    with weft.no_grad():
        model.first.weight.mul_(2)


def _change_weight_data(model: Scaled) -> None:
    model.first.weight.data = weft.ones(4, 3)


def _change_form(model: Scaled) -> None:
    model.first.weight.data = weft.ones(3, 4).t()


def _change_dtype(model: Scaled) -> None:
    model.double()


def _change_forward(model: Scaled) -> None:
    model.first.forward = lambda x: x @ weft.ones(3, 4, dtype=x.dtype)  # type: ignore[method-assign]


def _add_hook(model: Scaled) -> None:
    model.second.register_forward_hook(lambda *given: given[-1] * 2)


def _change_class(model: Scaled) -> None:
    class Other(Scaled):
        kind = "other"

    model.__class__ = Other


def _change_dict(model: Scaled) -> None:
    model.__dict__ = {**model.__dict__, "scale": 5.0}


def _change_method(model: Scaled) -> None:
    model.shifted = lambda x: x * 7  # type: ignore[method-assign]


def _change_global(_: Scaled) -> None:
    globals()["SHIFT"] = 4.0


def _change_class_attribute(_: Scaled) -> None:
    Scaled.kind = "other"


CHANGES = [value for name, value in list(globals().items()) if name.startswith(("_change", "_add"))]


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_is_settled_is_looked_up_again_when_it_changes(change: Any, grad: bool) -> None:
    weft.manual_seed(0)
    model = Scaled()
    compiled, x = weft.compile(model), weft.randn(3)

    def check() -> None:
        given = x.double() if model.first.weight.dtype == weft.float64 else x
        with weft.set_grad_enabled(grad):
            for _ in range(4):
                assert weft.allclose(compiled(given), model(given), rtol=1e-6)

    try:
        check()
        change(model)
        check()
    finally:
        Scaled.kind = "plain"
        globals()["SHIFT"] = 1.0


def test_models_of_one_class_by_turns() -> None:
    models = [Scaled() for _ in range(3)] + [Scaled(5)]
    compiled = [weft.compile(model) for model in models]
    with weft.no_grad():
        for _ in range(60):
            for model, call in zip(models, compiled, strict=True):
                x = weft.randn(model.first.in_features)
                assert weft.allclose(call(x), model(x))


def test_models_that_are_gone_leave_nothing() -> None:
    x = weft.randn(3)
    for i in range(200):
        model = Scaled()
        model.scale = float(i)
        with weft.no_grad():
            compiled = weft.compile(model)
            for _ in range(3):
                assert weft.allclose(compiled(x), model(x))
        gone = weakref.ref(model)
        del model, compiled
        gc.collect() if i % 50 == 0 else None
        assert i % 50 or gone() is None


# ---- Where nothing is recorded -------------------------------------------------------------------


def test_results_are_nobody_elses() -> None:
    def body(x: weft.Tensor) -> tuple[weft.Tensor, weft.Tensor]:
        y = (x * 2).tanh()
        return y + 1, y * 3

    compiled = weft.compile(body)
    kept = []
    for i in range(6):
        x = weft.full((4,), float(i))
        one, other = compiled(x)
        kept.append((one, other, x))
        one.add_(0)
    for one, other, x in kept:
        assert weft.equal(one, (x * 2).tanh() + 1)
        assert weft.equal(other, (x * 2).tanh() * 3)


def test_what_is_given_is_let_go() -> None:
    compiled = weft.compile(lambda x: (x.reshape(2, 2).t() @ x.reshape(2, 2)).exp())
    for _ in range(4):
        compiled(weft.ones(4))
    before = _core.live_bytes()
    x = weft.ones(4)
    compiled(x)
    del x
    assert _core.live_bytes() <= before


def test_large_values_in_between_do_not_stay() -> None:
    compiled = weft.compile(lambda x: (x * 2 + 1).tanh().sum())
    x = weft.ones(100_000)
    for _ in range(4):
        compiled(x)
    before = _core.live_bytes()
    compiled(x)
    assert _core.live_bytes() - before < 4096


def test_an_error_is_at_its_line_and_harms_nothing() -> None:
    table = weft.randn(5, 3)

    def body(i: weft.Tensor) -> weft.Tensor:
        row = table.index_select(0, i) * 2
        return row.tanh().sum()

    compiled = weft.compile(body)
    for _ in range(2):
        for i in (0, 4, 9, 2):
            if i == 9:
                with pytest.raises(IndexError) as caught:
                    compiled(weft.tensor([i]))
                assert caught.traceback[-1].lineno == body.__code__.co_firstlineno
            else:
                assert weft.equal(compiled(weft.tensor([i])), body(weft.tensor([i])))


def test_why_there_is_no_gradient_is_still_known() -> None:
    model = Scaled()
    compiled, x = weft.compile(model), weft.randn(3)
    with weft.no_grad():
        results = [f(x) for f in (model, compiled, compiled, compiled, compiled)]
    texts = set()
    for result in results:
        with pytest.raises(RuntimeError) as caught:
            result.sum().backward()
        texts.add(str(caught.value))
    assert len(texts) == 1


def test_inference_mode_marks_results() -> None:
    compiled, x = weft.compile(lambda x: (x * 2).tanh() + 1), weft.ones(3)
    for _ in range(4):
        with weft.inference_mode():
            assert compiled(x).is_inference()
        assert not compiled(x).is_inference()


def test_random_shapes_in_one_function() -> None:
    def body(x: weft.Tensor, w: weft.Tensor) -> weft.Tensor:
        y = (x @ w).relu()
        a, b = y.chunk(2, -1)
        return (a * b.sigmoid()).softmax(-1).sum(0) + y.mean()

    compiled = weft.compile(body)
    rng = random.Random(0)
    for _ in range(200):
        n, k, m = rng.randint(1, 4), rng.randint(1, 3), 2 * rng.randint(1, 3)
        x, w = weft.randn(n, k), weft.randn(m, k).t() if rng.random() < 0.5 else weft.randn(k, m)
        w.requires_grad_(rng.random() < 0.3)
        with weft.set_grad_enabled(rng.random() < 0.5):
            found, expected = compiled(x, w), body(x, w)
        assert weft.allclose(found, expected, rtol=1e-5)
        assert found.requires_grad == expected.requires_grad


# ---- What dictionaries hold ----------------------------------------------------------------------


def test_a_sequence_of_modules_is_one_segment() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.Sigmoid())
    compiled, x = weft.compile(lambda x: net(x) + 0), weft.randn(3)
    for _ in range(4):
        compiled(x)
    before = _core.routine_counts()
    assert weft.allclose(compiled(x), net(x))
    instructions, segments, ops = (
        now - then for now, then in zip(_core.routine_counts(), before, strict=True)
    )
    assert (segments, ops) == (1, 5)
    assert instructions < 10


SEQUENCE_CHANGES: list[Callable[[nn.Sequential], Any]] = [
    lambda net: net.append(nn.Tanh()),
    lambda net: net.insert(0, nn.ReLU()),
    lambda net: net.__delitem__(1),
    lambda net: net.__setitem__(1, nn.ReLU()),
    lambda net: net.add_module("last", nn.Linear(3, 3)),
    lambda net: net[0].register_forward_hook(lambda *given: given[-1] * 2),
    lambda net: net._module_names.update({"1": net._module_names.pop("1")}),
    lambda net: setattr(net, "1", nn.Softplus()),
    lambda net: net.__dict__.update({"1": nn.Softplus()}),
    lambda net: net.double(),
]


@pytest.mark.parametrize("number", range(len(SEQUENCE_CHANGES)))
def test_a_sequence_of_modules_that_changes(number: int) -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
    compiled, x = weft.compile(net), weft.randn(3)
    for _ in range(4):
        assert weft.allclose(compiled(x), net(x))
    SEQUENCE_CHANGES[number](net)
    x = x.double() if next(net.parameters()).dtype == weft.float64 else x
    for _ in range(4):
        assert weft.allclose(compiled(x), net(x))


def test_dictionaries_that_are_given() -> None:
    def body(x: weft.Tensor, terms: dict[Any, Any]) -> weft.Tensor:
        y = x * 2
        for name in terms:  # noqa: PLC0206 - what is tried
            y = y + x * terms[name]
        return y + terms["a"]

    given = [
        {"a": weft.ones(3), "b": 2.0},
        {"a": 1.0, "b": weft.ones(3)},
        {"b": 2.0, "a": 1.0},
        {"a": 3.0},
        {"a": 3.0, 1: 2.0},
        {"a": weft.ones(3, dtype=weft.float64), "b": 1},
    ]
    check(body, *[(weft.randn(3), terms) for terms in given])


def test_a_dictionary_that_changes_between_calls() -> None:
    scales = {"a": 1.0}

    def body(x: weft.Tensor) -> weft.Tensor:
        y = x + 1
        for name in scales:  # noqa: PLC0206 - what is tried
            y = (y * scales[name]).tanh()
        return y

    compiled, x = weft.compile(body), weft.randn(3)
    for change in ({"a": 2.0}, {"b": 3.0}, {"a": 5.0, "c": 0.5}, {}):
        scales.update(change)
        for _ in range(3):
            assert weft.equal(compiled(x), body(x))
    del scales["b"]
    assert weft.equal(compiled(x), body(x))
    scales.clear()
    assert weft.equal(compiled(x), body(x))


def test_missing_keys_raise() -> None:
    def body(x: weft.Tensor, terms: dict[str, float]) -> weft.Tensor:
        return x * terms["a"] + terms["b"]

    compiled, x = weft.compile(body), weft.randn(3)
    for _ in range(3):
        assert weft.equal(compiled(x, {"a": 1.0, "b": 2.0}), x + 2)
        with pytest.raises(KeyError, match="b"):
            compiled(x, {"a": 1.0})
