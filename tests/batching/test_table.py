"""Every op of the table, lazily and for several examples, against the same run eagerly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import weft
from tests.ops.examples import EXAMPLES, ROWS, assert_same, examples_of, map_tensors
from tests.ops.row import Call, Row, Sample, assert_close, flatten, is_tensor, to_call
from tests.ops.table import row_id
from weft import _core

# Few examples, over and over: no use of lazy evaluation that one would want.
pytestmark = [
    pytest.mark.filterwarnings("ignore:more than 20 plans in a row:RuntimeWarning"),
    pytest.mark.python,  # a routine records an op as Python does
]


def to_calls(row: Row, examples: Sequence[Sample]) -> list[Call]:
    """Build the arguments of all examples, none of which is a parameter."""
    calls: list[Call] = []
    for example in examples:
        call = to_call(weft, example, row.dtypes[0], gradient=row.order > 0)
        args = map_tensors(call.args, weft.clone)
        kwargs = {name: map_tensors(value, weft.clone) for name, value in call.kwargs.items()}
        calls.append(Call(args, kwargs, call.leaves))
    return calls


def share(calls: list[Call]) -> None:
    """Give all examples the first one's arguments, but for the first tensor."""
    for call in calls[1:]:
        tensors = iter(tensor for tensor in flatten(calls[0].args) if is_tensor(tensor))
        own = next(iter(tensor for tensor in flatten(call.args) if is_tensor(tensor)), None)
        next(tensors, None)
        call.args = map_tensors(call.args, lambda x, own=own, t=tensors: x if x is own else next(t))
        call.kwargs = calls[0].kwargs
        call.leaves = []


def run(row: Row, calls: Sequence[Call]) -> tuple[list[list[Any]], list[Any]]:
    """Return the tensors that each example gives, and one number of each."""
    outputs: list[list[Any]] = []
    numbers: list[Any] = []
    for call in calls:
        result = row.function(weft)(*call.args, **call.kwargs)
        outputs.append([leaf for leaf in flatten(result) if is_tensor(leaf)])
        number = weft.zeros((), dtype=weft.float64)
        for output in outputs[-1]:
            wide = output.to(weft.float64)
            number = number + (wide * (wide + 0.7)).sum()
        numbers.append(number)
    return outputs, numbers


def gradients_of(number: Any, calls: Sequence[Call]) -> list[Any]:
    leaves = [leaf for call in calls for leaf in call.leaves]
    if not number.requires_grad:
        return [None] * len(leaves)
    return list(weft.autograd.grad(number, leaves, allow_unused=True, retain_graph=True))


# Rules that do not cover every call, and which calls they leave out.
UNCOVERED = {
    "convolution": "several images in each example, or a kernel of each example's own",
    "convolution_transpose": "several images in each example, or a kernel of each example's own",
    "embedding": "a table of each example's own",
    "index": "several indices of each example's own",
    "index_put": "several indices of each example's own",
    "searchsorted": "a number instead of a tensor",
}
# A mask becomes as many indices as it has true elements, so shapes differ.
BY_MASK = ("Tensor.__getitem__", "index_put", "masked_scatter")
REASONS = {op["name"]: op["no_batch"] for op in _core.describe_ops()}


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_lazy_equals_eager(row: Row, shared: bool) -> None:
    for examples in examples_of(row):
        eager, lazy = to_calls(row, examples), to_calls(row, examples)
        if shared:
            share(eager)
            share(lazy)
        expected, numbers = run(row, eager)
        with weft.lazy():
            got, totals = run(row, lazy)
            total = weft.stack(totals).sum()
        total.tolist()
        for ours, theirs in zip(got, expected, strict=True):
            assert_same(row, ours, theirs)
        assert_same(row, gradients_of(total, lazy), gradients_of(weft.stack(numbers).sum(), eager))
        # Of one example alone: the others' rows take no part.
        assert_same(row, gradients_of(totals[1], lazy), gradients_of(numbers[1], eager))


def has_mask(sample: Sample) -> bool:
    tensors = flatten(to_call(weft, sample, "float64").args)
    return any(is_tensor(tensor) and tensor.dtype is weft.bool for tensor in tensors)


def batches_of(row: Row, calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Return what runs for some examples; nothing if a value is read on the way."""
    _core.forget_plans()
    with weft.lazy():
        _, totals = run(row, calls)
        total = weft.stack(totals).sum()
    total.tolist()
    plans = _core.last_plans()
    return plans[0]["batches"] if len(plans) == 1 else []


@pytest.mark.single_ops
@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_examples_of_equal_shapes_run_together(row: Row) -> None:
    for examples in examples_of(row):
        if row.name in BY_MASK and has_mask(examples[0]):
            continue
        one = [batch["op"] for batch in batches_of(row, to_calls(row, examples[:1]))]
        batches = batches_of(row, to_calls(row, examples))
        notes = {batch["op"]: batch["note"] for batch in batches if batch["note"]}
        for op, note in notes.items():
            apart = note.startswith("apart: ")  # two uses of one op by one example
            assert apart or note == REASONS[op] or op in UNCOVERED, f"{op}: {note}"
        assert sorted(batch["op"] for batch in batches) == sorted(one)


@pytest.mark.parametrize("row", [row for row in ROWS if row.order > 0], ids=row_id)
def test_gradients_of_each_example_in_the_scope(row: Row) -> None:
    for examples in examples_of(row):
        eager, lazy = to_calls(row, examples), to_calls(row, examples)
        _, numbers = run(row, eager)
        expected = [gradients_of(x, [call]) for x, call in zip(numbers, eager, strict=True)]
        with weft.lazy():
            _, numbers = run(row, lazy)
            got = [gradients_of(x, [call]) for x, call in zip(numbers, lazy, strict=True)]
            present = [g.sum() for gradients in got for g in gradients if g is not None]
            total = weft.stack(present).sum() if present else weft.zeros(())
        total.tolist()
        for ours, theirs in zip(got, expected, strict=True):
            assert_same(row, ours, theirs)


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("row", [row for row in ROWS if row.order > 1], ids=row_id)
def test_gradients_of_gradients_of_one_example(row: Row, shared: bool) -> None:
    def differentiate(calls: list[Call], numbers: list[Any]) -> list[Any]:
        """Differentiate all examples, and of the gradients those of one, then those of all."""
        leaves = [leaf for call in calls for leaf in call.leaves]
        total = weft.stack(numbers).sum()
        if not leaves or not total.requires_grad:
            return []
        first = weft.autograd.grad(total, leaves, allow_unused=True, create_graph=True)
        has_graph = [g is not None and g.requires_grad for g in first]
        found = [*first, weft.tensor(has_graph).double()]
        begin = len(calls[0].leaves)
        for chosen in (range(begin, begin + len(calls[1].leaves)), range(len(leaves))):
            parts = [first[i].square().sum() for i in chosen if has_graph[i]]
            found += gradients_of(weft.stack(parts).sum(), calls) if parts else []
        return found

    for examples in examples_of(row):
        eager, lazy = to_calls(row, examples), to_calls(row, examples)
        if shared:
            share(eager)
            share(lazy)
        _, numbers = run(row, eager)
        with weft.lazy():
            _, totals = run(row, lazy)
            weft.stack(totals).tolist()
        assert_same(row, differentiate(lazy, totals), differentiate(eager, numbers))


@pytest.mark.parametrize("row", [row for row in ROWS if row.order > 0], ids=row_id)
def test_gradients_inside_a_map(row: Row) -> None:
    def differentiate(call: Call) -> tuple[list[Any], Any]:
        """Return an example's gradients, and a number that depends on them."""
        _, (number,) = run(row, [call])
        if not call.leaves or not number.requires_grad:
            return [], weft.zeros(())
        given = weft.autograd.grad(number, call.leaves, allow_unused=True, create_graph=True)
        present = [g for g in given if g is not None]
        return list(given), sum(((g * g).sum().double() for g in present), weft.zeros(()))

    for examples in examples_of(row):
        found, expected = [], []
        for results, batch in ((found, True), (expected, False)):
            calls = to_calls(row, examples)
            first = weft.map(differentiate, calls, batch=batch)
            total = weft.stack([number for _, number in first]).sum()
            results += [g for gradients, _ in first for g in gradients]
            results += gradients_of(total, calls) if row.order > 1 else []
        assert_same(row, found, expected)


def floats(*shape: int) -> weft.Tensor:
    return weft.randn(shape, dtype=weft.float64)


def places(below: int, *shape: int) -> weft.Tensor:
    return weft.randint(below, shape)


# Ops that only gradient rules call.
PARTS: dict[str, Any] = {
    "cross_entropy_backward": lambda: (floats(), floats(1, 5), places(5, 1), floats() + 5),
    "gru_gates_backward": lambda: (floats(4), floats(12), floats(12), floats(4)),
    "index_backward": lambda: (floats(2, 3, 4), [places(5, 3)], (2, 5, 4), [1]),
    "index_backward of several": lambda: (floats(3), [places(5, 3), places(2, 3)], (5, 2), [0, 1]),
    "layer_norm_backward": lambda: (floats(2, 6), floats(2, 6), None, 6, 1e-5, 1),
    "log_softmax_backward": lambda: (floats(3, 4), floats(3, 4), 0),
    "lstm_gates_backward": lambda: (floats(16), floats(4), floats(4), floats(4), None),
    "outer_sum": lambda: (floats(2, 3, 4), floats(2, 3, 5)),
    "outer_sum of vectors": lambda: (floats(4), floats(5)),
    "restride": lambda: (floats(2, 3), (3, 1), 4, (4, 4), (4, 1), 0),
    "restride, overlapping": lambda: (floats(3, 2), (1, 1), 0, (4,), (1,), 0),
    "softmax_backward": lambda: (floats(3, 4), floats(3, 4), -1),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_gradients(name: str) -> None:
    op = getattr(_core.ops, name.split(maxsplit=1)[0].rstrip(","))
    examples = [PARTS[name]() for _ in range(EXAMPLES)]
    expected = [list(flatten(op(*args))) for args in examples]
    _core.forget_plans()
    with weft.lazy():
        got = [list(flatten(op(*args))) for args in examples]
        total = weft.stack([tensor.sum() for tensors in got for tensor in tensors]).sum()
    total.tolist()
    batch = _core.last_plans()[0]["batches"][0]
    assert batch["rows"] == EXAMPLES
    assert not batch["note"] or name == "index_backward of several"
    for ours, theirs in zip(got, expected, strict=True):
        for left, right in zip(ours, theirs, strict=True):
            assert_close(left, right.numpy(), "float64")
