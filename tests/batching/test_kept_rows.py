"""One row that is kept for long: what its batch saved for the other rows goes, and only that."""

from __future__ import annotations

import gc
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import _core, nn
from weft.nn import functional

Tree = Any  # a word, or two trees
WORDS = 1000  # few of them come twice: what is equal runs once


class TreeLSTM(nn.Module):
    """A Tree-LSTM of plain ops, in float64."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, hidden, dtype=weft.float64)
        self.leaf = nn.Linear(hidden, 2 * hidden, dtype=weft.float64)
        self.inner = nn.Linear(2 * hidden, 5 * hidden, dtype=weft.float64)

    def state(self, tree: Tree) -> tuple[Any, Any]:
        if isinstance(tree, int):
            o, u = self.leaf(self.embedding(weft.tensor(tree))).chunk(2, -1)
            c = u.tanh()
        else:
            (left_h, left_c), (right_h, right_c) = self.state(tree[0]), self.state(tree[1])
            i, left, right, o, u = self.inner(weft.cat([left_h, right_h], -1)).chunk(5, -1)
            c = i.sigmoid() * u.tanh() + left.sigmoid() * left_c + right.sigmoid() * right_c
        return o.sigmoid() * c.tanh(), c

    def forward(self, tree: Tree) -> Any:
        h, c = self.state(tree)
        return (h * c).sum()


def tree_of(leaves: int, generator: random.Random) -> Tree:
    if leaves == 1:
        return generator.randrange(WORDS)
    cut = generator.randint(1, leaves - 1)
    return (tree_of(cut, generator), tree_of(leaves - cut, generator))


def trees(count: int, seed: int = 0) -> list[Tree]:
    generator = random.Random(seed)
    return [tree_of(generator.randint(3, 12), generator) for _ in range(count)]


def batch_of(model: nn.Module, examples: list[Tree]) -> list[Any]:
    with weft.lazy():
        losses = [model(example) for example in examples]
    _core.run_tensors(losses)
    return losses


def gradients(model: nn.Module, loss: Any) -> list[np.ndarray]:
    found = weft.autograd.grad(loss, list(model.parameters()), retain_graph=True)
    return [gradient.numpy().copy() for gradient in found]


def check_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_kept_loss_keeps_about_what_it_keeps_in_eager() -> None:
    model, examples = TreeLSTM(64), trees(64)

    def bytes_kept(run: Callable[[], Any]) -> tuple[int, Any]:
        gc.collect()
        before = _core.live_bytes()
        kept = run()
        gc.collect()
        return _core.live_bytes() - before, kept

    eager, _ = bytes_kept(lambda: model(examples[5]))
    batch, _ = bytes_kept(lambda: batch_of(model, examples))
    kept, loss = bytes_kept(lambda: batch_of(model, examples)[5])
    assert batch > 20 * eager
    assert kept < 1.5 * eager
    check_same(gradients(model, loss), gradients(model, model(examples[5])))


@pytest.mark.parametrize(
    "view",
    [
        lambda h: h[1:],
        lambda h: h[1:].reshape(3, 40).T,
        lambda h: weft.cat([part.reshape(-1) for part in h.reshape(2, 2, 40).unbind()]),
    ],
    ids=["slice", "views of views", "several"],
)
def test_what_only_views_keep_goes_as_well(view: Callable[[Any], Any]) -> None:
    layer = nn.Linear(1000, 40, dtype=weft.float64)

    def loss(x: Any) -> Any:
        return (view(layer(x.sin()).exp()) ** 2).sum()

    def kept(run: Callable[[], Any]) -> int:
        gc.collect()
        before = _core.live_bytes()
        held = run()
        gc.collect()
        assert held.requires_grad
        return _core.live_bytes() - before

    examples = [weft.randn(4, 1000, dtype=weft.float64) for _ in range(40)]

    def batch() -> Any:
        with weft.lazy():
            losses = [loss(x) for x in examples]
        _core.run_tensors(losses)
        return losses[7]

    alone = kept(lambda: loss(examples[7]))
    assert alone > 4 * 1000 * 8
    assert kept(batch) < 1.5 * alone


def test_memory_is_let_go_without_garbage_collection() -> None:
    """Losses kept from many batches, as by who appends them to a list."""
    model, examples = TreeLSTM(128), trees(64)
    gc.collect()
    gc.disable()
    try:
        before = _core.live_bytes()
        kept = [batch_of(model, examples)[step % 64] for step in range(12)]
        held = _core.live_bytes() - before
        whole = batch_of(model, examples)
        batch = _core.live_bytes() - before - held
    finally:
        gc.enable()
    assert len(kept) == 12
    assert len(whole) == 64
    assert held < 8 * batch


def test_second_derivatives_of_a_kept_row() -> None:
    model, examples = TreeLSTM(3), trees(16)

    def second(loss: Any) -> list[np.ndarray]:
        parameters = list(model.parameters())
        first = weft.autograd.grad(loss, parameters, create_graph=True)
        total = sum((gradient**2).sum() for gradient in first)
        return [g.numpy().copy() for g in weft.autograd.grad(total, parameters)]

    kept = batch_of(model, examples)[7]
    _core.trim_batches()
    check_same(second(kept), second(model(examples[7])))


def test_rows_that_other_graphs_need_stay() -> None:
    """A row that is used on, whose own tensor is gone; a grad_fn that is looked at; a hook."""
    model, examples = TreeLSTM(3), trees(16)
    losses = batch_of(model, examples)
    used = losses[3] * 2
    node = losses[9].grad_fn
    seen: list[float] = []
    losses[4].register_hook(lambda gradient: seen.append(gradient.item()))
    kept = losses[4]
    del losses
    _core.trim_batches()
    check_same(gradients(model, used), gradients(model, model(examples[3]) * 2))
    check_same(gradients(model, kept), gradients(model, model(examples[4])))
    assert seen == [1.0]
    assert node.name() == "SumBackward0"
    del used, node
    _core.trim_batches()
    check_same(gradients(model, kept), gradients(model, model(examples[4])))


def test_backward_frees_what_is_left() -> None:
    model, examples = TreeLSTM(64), trees(64)
    gc.collect()
    before = _core.live_bytes()
    losses = batch_of(model, examples)
    kept = losses[2:4]
    del losses
    gc.collect()
    (kept[0] + kept[1]).backward()
    model.zero_grad()
    gc.collect()
    assert _core.live_bytes() - before < 10_000
    with pytest.raises(RuntimeError, match="second time"):
        kept[0].backward()


def test_some_rows_went_backward_before() -> None:
    model, examples = TreeLSTM(8), trees(32)
    losses = batch_of(model, examples)
    losses[0].backward()
    kept = losses[:2]
    del losses
    _core.trim_batches()
    with pytest.raises(RuntimeError, match="second time"):
        kept[0].backward()
    check_same(gradients(model, kept[1]), gradients(model, model(examples[1])))


@pytest.mark.parametrize("seed", range(12))
def test_any_rows_kept_at_any_time(seed: int) -> None:
    """Results of several batches, one made from another, dropped and trimmed in any order."""
    generator = random.Random(seed)
    model = TreeLSTM(4)
    extra = nn.Linear(4, 4, dtype=weft.float64)
    parameters = [*model.parameters(), *extra.parameters()]

    def first(tree: Tree) -> tuple[Any, Any]:
        h, c = model.state(tree)
        if h.sum().item() > 0:
            h = h * 2
        return h, c

    def second(pair: tuple[Any, Any]) -> Any:
        h, c = pair
        for _ in range(int(abs(c[0].item()) * 100) % 3):
            h = functional.softplus(extra(h)) * c
        return h

    kept: list[tuple[Any, Callable[[], Any]]] = []
    for step in range(4):
        examples = trees(generator.randint(2, 20), seed=100 * seed + step)
        states = weft.map(first, examples)
        ends = weft.map(second, states)
        for tree, (h, c), end in zip(examples, states, ends, strict=True):
            kept.append((h, lambda tree=tree: first(tree)[0]))
            kept.append((c, lambda tree=tree: first(tree)[1]))
            kept.append((end, lambda tree=tree: second(first(tree))))
        del states, ends, h, c, end
        generator.shuffle(kept)
        while len(kept) > 3:
            for _ in range(generator.randint(1, len(kept) - 1)):
                kept.pop()
            _core.trim_batches()
            for value, again in kept[:3]:
                loss, expected = (value**2).sum(), (again() ** 2).sum()
                found, right = (
                    weft.autograd.grad(x, parameters, allow_unused=True, retain_graph=True)
                    for x in (loss, expected)
                )
                for a, b in zip(found, right, strict=True):
                    assert (a is None) == (b is None)
                    if a is not None:
                        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)


def test_rows_that_a_function_of_the_user_saved_stay() -> None:
    weft.manual_seed(0)
    w = weft.randn(2, dtype=weft.float64, requires_grad=True)
    inputs = [weft.randn(2, dtype=weft.float64) for _ in range(6)]

    def second(run: Callable[[Any, list[Any]], list[Any]]) -> Any:
        rows = run(lambda x: (x * w).tanh().exp(), inputs)
        hidden = rows[3]
        hidden.data = hidden.data.clone()

        class Times(weft.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(hidden)
                return x * hidden.detach()

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                return gradient * ctx.saved_tensors[0]

        y = Times.apply(w * 1.0)
        ends = run(lambda x, y=y: (x * y).sum(), inputs)
        kept = rows[0], ends[2]
        del rows, y, ends
        _core.trim_batches()
        (first,) = weft.autograd.grad(kept[1], [w], create_graph=True)
        return weft.autograd.grad(first.sum(), [w])[0]

    assert weft.allclose(second(weft.map), second(lambda run, xs: [run(x) for x in xs]))


def test_what_a_trimmed_node_shows_is_what_it_keeps() -> None:
    w = weft.ones(3, requires_grad=True)
    rows = weft.map(lambda x: x + w, [weft.ones(3) * i for i in range(300)])[::-1]
    pairs = list(zip(rows, rows[5:] + rows[:5], strict=True))
    products = weft.map(lambda pair: pair[0] * pair[1], pairs)
    kept = products[10]
    del rows, pairs, products
    _core.trim_batches()
    saved = kept.grad_fn._saved_tensors
    assert all(tensor.shape[0] == 1 and not tensor.requires_grad for tensor in saved)


def test_another_thread_drops_rows_meanwhile() -> None:
    w = weft.randn(1 << 18, requires_grad=True)
    kept: list[Any] = []
    done = threading.Event()

    def drop() -> None:
        while not done.is_set():
            if kept:
                kept.pop()
            time.sleep(0)

    thread = threading.Thread(target=drop)
    thread.start()
    try:
        for _ in range(10):
            with weft.lazy():
                rows = [(w * (i + 1.0)).tanh().exp().tanh() for i in range(6)]
            _core.run_tensors(rows)
            kept.append(rows[1])
            del rows
            _core.trim_batches()
    finally:
        done.set()
        thread.join()
