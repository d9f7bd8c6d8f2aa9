"""Constants are what they hold: what is computed from equal ones runs once, for all examples."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import weft
from weft import _core, nn

WORDS = 5


def rows_of(op: str) -> list[int]:
    """Return the rows of an op's batches in the last plan; a strand counts for all its ops."""
    batches = _core.last_plans()[-1]["batches"]
    return [batch["rows"] for batch in batches if op in batch["op"]]


@pytest.fixture
def embedding() -> nn.Embedding:
    weft.manual_seed(0)
    return nn.Embedding(WORDS, 3, dtype=weft.float64)


def test_equal_words_are_looked_up_once(embedding: nn.Embedding) -> None:
    words = [1, 4, 1, 1, 4, 2]
    with weft.lazy():
        found = [embedding(weft.tensor(word)).tanh() for word in words]
        total = weft.stack(found).sum()
    _core.run_tensors([total])
    assert rows_of("embedding") == [3]
    expected = embedding.weight.detach().numpy()[words]
    np.testing.assert_allclose(np.stack([x.detach().numpy() for x in found]), np.tanh(expected))


@pytest.mark.parametrize(
    "make",
    [
        weft.tensor,
        lambda number: weft.tensor([number, 1]),
        lambda number: weft.tensor(float(number)),
        lambda number: weft.arange(10)[number],
    ],
    ids=["number", "list", "float", "view"],
)
def test_equal_constants_are_one(make: Any) -> None:
    with weft.lazy():
        a, b, c = (make(number) * 2 for number in (3, 3, 4))
    _core.run_tensors([a, b, c])
    assert rows_of("mul") == [2]
    assert (a == b).all()
    assert not (a == c).all()
    a.add_(1)
    assert not (a == b).all()


def test_constants_of_other_kinds_are_apart() -> None:
    x = weft.ones(2, requires_grad=True)
    with weft.lazy():
        kinds = [
            weft.tensor(0, dtype=weft.int32),
            weft.tensor(0, dtype=weft.int64),
            weft.tensor(0.0),
            weft.tensor(-0.0),
            weft.tensor([0]),
            weft.tensor(0.0, requires_grad=True),
            weft.tensor(0.0, requires_grad=True),
        ]
        results = [x / kind for kind in kinds]
    _core.run_tensors(results)
    found = [result.tolist() for result in results]
    assert found == [(x.detach() / kind.detach()).tolist() for kind in kinds]
    weft.stack([results[5].sum(), results[6].sum() * 2]).sum().backward()
    assert all(kind.grad is not None for kind in kinds[5:])


def test_a_constant_that_changes_between_two_uses(embedding: nn.Embedding) -> None:
    with weft.lazy():
        word, other = weft.tensor(1), weft.tensor(1)
        before = embedding(word).exp()
        twin = embedding(other).exp()
        word.add_(2)
        after = embedding(word).exp()
    weight = embedding.weight.detach().exp()
    assert weft.equal(before.detach(), weight[1])
    assert weft.equal(twin.detach(), weight[1])
    assert weft.equal(after.detach(), weight[3])


def test_memory_of_others_is_no_constant() -> None:
    array = np.array(1)
    with weft.lazy():
        a = weft.from_numpy(array) * 2
        array[()] = 5
        b = weft.from_numpy(array) * 2
    assert (a.item(), b.item()) == (2, 10)


def test_losses_that_share_words_are_differentiated_apart(embedding: nn.Embedding) -> None:
    def loss(words: list[int]) -> Any:
        return weft.stack([embedding(weft.tensor(word)).sigmoid() for word in words]).prod()

    sentences = [[0, 1, 1], [1, 2, 0], [1, 1, 1], [3, 0, 1]]
    with weft.lazy():
        losses = [loss(words) for words in sentences]
    _core.run_tensors(losses)
    for words, found in zip(sentences, losses, strict=True):
        embedding.zero_grad()
        found.backward()
        gradient = embedding.weight.grad.clone()
        embedding.zero_grad()
        loss(words).backward()
        assert weft.allclose(gradient, embedding.weight.grad)


@pytest.mark.parametrize("same_tensor", [True, False])
def test_what_the_user_holds_of_equal_examples_is_apart(
    embedding: nn.Embedding, same_tensor: bool
) -> None:
    x = weft.tensor(1)
    held: list[Any] = []

    def loss(_: int) -> Any:
        h = embedding(x if same_tensor else weft.tensor(1)).tanh()
        held.append(h)
        return (h.exp() * 2).sum()

    first, second, third = weft.map(loss, [0, 1, 2])
    held[0].register_hook(lambda gradient: gradient * 10)
    for number, result in enumerate([first, second, third]):
        found = weft.autograd.grad(result, held, retain_graph=True, allow_unused=True)
        assert [gradient is not None for gradient in found] == [i == number for i in range(3)]
    (plain,) = weft.autograd.grad(second, [embedding.weight], retain_graph=True)
    (scaled,) = weft.autograd.grad(first, [embedding.weight], retain_graph=True)
    assert weft.allclose(scaled, plain * 10)


def test_equal_examples_and_another_go_backward_one_by_one(embedding: nn.Embedding) -> None:
    losses = weft.map(lambda word: embedding(weft.tensor(word)).tanh().exp().sum(), [1, 1, 2])
    for number in (2, 0, 1):
        losses[number].backward()
    with pytest.raises(RuntimeError, match="second time"):
        losses[2].backward()


def test_an_equal_result_becomes_a_leaf() -> None:
    def example(number: float) -> Any:
        z = (weft.tensor(number, dtype=weft.float64) * weft.ones(2, dtype=weft.float64)).clone()
        z.requires_grad_()
        y = z.exp()
        y.sum().item()
        (gradient,) = weft.autograd.grad((y * 2).sum(), [z])
        return gradient.sum()

    numbers = [1.0, 1.0, 0.0]
    found = [result.item() for result in weft.map(example, numbers)]
    assert found == pytest.approx([example(number).item() for number in numbers])


def test_a_row_becomes_a_leaf() -> None:
    ones = weft.ones(2)
    with weft.lazy():
        leaves = [ones * 1, ones * 2, ones * 3]
    _core.run_tensors(leaves)
    leaves[1].detach()
    for leaf in leaves:
        leaf.requires_grad_()
    with weft.lazy():
        results = [leaf.exp() for leaf in leaves]
    _core.run_tensors(results)
    for leaf, result in zip(leaves, results, strict=True):
        result.sum().backward()
        assert weft.equal(leaf.grad, result.detach())


def test_one_backward_of_equal_losses_frees_what_was_saved() -> None:
    table = nn.Embedding(4, 10_000)
    losses = weft.map(lambda word: table(weft.tensor(word)).tanh().exp().sum(), [0, 0, 0])
    before = _core.live_bytes()
    weft.stack(losses).sum().backward()
    table.zero_grad()
    assert _core.live_bytes() < before - 70_000


def test_equal_results_do_not_share_memory_after_an_error(embedding: nn.Embedding) -> None:
    a, b = weft.tensor([1.0, 2.0]), weft.tensor([1.0, 2.0])
    with weft.lazy():
        x, y = a * 2, b * 2
        bad = x.sum() + y.sum() + embedding(weft.tensor(99)).sum()
    with pytest.raises(IndexError):
        bad.item()
    x.add_(100)
    assert y.tolist() == [2.0, 4.0]


@pytest.mark.python
def test_drawn_numbers_are_never_shared(embedding: nn.Embedding) -> None:
    with weft.lazy():
        parts = [
            nn.functional.dropout(embedding(weft.tensor(1)).exp(), 0.5, training=True).sum()
            for _ in range(10)
        ]
    assert len({part.item() for part in parts}) > 1


@pytest.mark.filterwarnings("ignore:more than 20 plans in a row")
@pytest.mark.parametrize("seed", range(20))
def test_random_programs_over_few_words(seed: int) -> None:
    """Whatever is equal, the results and gradients of each example are its own."""
    generator = random.Random(seed)
    weft.manual_seed(seed)
    embedding = nn.Embedding(WORDS, 4, dtype=weft.float64)
    cell = nn.Linear(8, 4, dtype=weft.float64)
    parameters = [*embedding.parameters(), *cell.parameters()]
    reads, writes = generator.random() < 0.5, generator.random() < 0.5

    def run(tree: Any) -> Any:
        if isinstance(tree, int):
            found = embedding(weft.tensor(tree))
            if writes and tree == 2:
                found = found * 1.0
                found[0] = 0.5
            return found.tanh() * weft.tensor(tree + 1)
        left, right = run(tree[0]), run(tree[1])
        if reads and left.sum().item() > 0.5:
            left, right = right, left
        return cell(weft.cat([left, right])).tanh() + (left if len(tree) > 2 else 0)

    def make(depth: int) -> Any:
        if depth == 0 or generator.random() < 0.2:
            return generator.randrange(WORDS)
        extra = (None,) if generator.random() < 0.3 else ()
        return (make(depth - 1), make(depth - 1), *extra)

    trees = [make(3) for _ in range(12)]
    mapped = weft.map(run, trees)
    hooked: list[int] = []
    for number in generator.sample(range(12), 3):
        if mapped[number].requires_grad:
            mapped[number].register_hook(lambda _, number=number: hooked.append(number))
    order = list(range(12))
    generator.shuffle(order)
    for number in order:
        expected = run(trees[number])
        assert weft.allclose(mapped[number], expected, rtol=1e-12)
        ours, theirs = (
            weft.autograd.grad((x**2).sum(), parameters, allow_unused=True)
            for x in (mapped[number], expected)
        )
        for a, b in zip(ours, theirs, strict=True):
            assert (a is None) == (b is None)
            assert a is None or weft.allclose(a, b, rtol=1e-10)
    assert len(hooked) == len(set(hooked))
