"""`autograd.grad` inside an example of a map: recorded, and run with those of other examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import _core, nn

pytestmark = pytest.mark.filterwarnings("ignore:more than 20 plans in a row:RuntimeWarning")

Function = Callable[[weft.Tensor], Any]
EXAMPLES = 6


def examples(count: int = EXAMPLES, *shape: int) -> list[weft.Tensor]:
    weft.manual_seed(1)
    return [weft.randn(shape or (4,), dtype=weft.float64) for _ in range(count)]


def leaf(x: weft.Tensor) -> weft.Tensor:
    return x.clone().requires_grad_()


def assert_alike(function: Function, given: list[Any], *parameters: weft.Tensor) -> None:
    """Run a map together and one by one: results, and the gradients of a loss over them."""
    results: list[list[weft.Tensor]] = []
    for batch in (True, False):
        found = weft.pytree.tree_leaves(weft.map(function, given, batch=batch))
        losses = [one.sum() for one in found if one is not None and one.requires_grad]
        if losses and parameters:
            found += weft.autograd.grad(weft.stack(losses).sum(), parameters, allow_unused=True)
        results.append(found)
    for ours, theirs in zip(*results, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert weft.allclose(ours, theirs)


def batches_of(function: Function, given: list[Any]) -> list[dict[str, Any]]:
    _core.forget_plans()
    weft.map(function, given)
    return [batch for plan in _core.last_plans() for batch in plan["batches"]]


@pytest.fixture
def model() -> nn.Module:
    weft.manual_seed(0)
    layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
    return layers.double()


@pytest.mark.single_ops
def test_examples_run_together(model: nn.Module) -> None:
    def force(x: weft.Tensor) -> weft.Tensor:
        x = leaf(x)
        return weft.autograd.grad(model(x).sum(), x)[0]

    batches = batches_of(force, examples())
    rows = {batch["op"]: batch["rows"] for batch in batches}
    assert rows["linear"] == rows["tanh"] == rows["tanh_backward"] == EXAMPLES
    # The gradient begins with a one, and meets the last weight before it meets the example.
    assert {batch["rows"] for batch in batches} <= {1, EXAMPLES}


@pytest.mark.parametrize("create_graph", [False, True])
def test_forces(model: nn.Module, create_graph: bool) -> None:
    def force(x: weft.Tensor) -> weft.Tensor:
        x = leaf(x)
        return weft.autograd.grad(model(x).sum(), x, create_graph=create_graph)[0]

    assert_alike(force, examples(), *model.parameters())


def test_examples_of_several_shapes(model: nn.Module) -> None:
    def force(x: weft.Tensor) -> weft.Tensor:
        x = leaf(x)
        (gradient,) = weft.autograd.grad(model(x).square().sum(), x, create_graph=True)
        return (gradient * gradient).sum()

    given = [weft.randn(i % 3 + 1, 4, dtype=weft.float64) for i in range(7)]
    assert_alike(force, given, *model.parameters())


def test_gradients_of_parameters_by_example(model: nn.Module) -> None:
    def adapt(x: weft.Tensor) -> weft.Tensor:
        weights = dict(model.named_parameters())
        loss = model(x).square().sum()
        gradients = weft.autograd.grad(loss, list(weights.values()), create_graph=True)
        w, dw = weights["0.weight"], gradients[0]
        return ((w - 0.1 * dw) @ x).tanh().sum() + sum(g.square().sum() for g in gradients)

    assert_alike(adapt, examples(), *model.parameters())


def test_third_derivatives() -> None:
    def third(x: weft.Tensor) -> weft.Tensor:
        x = leaf(x)
        y = (x.sin() * x.exp()).sum()
        for _ in range(2):
            (gradient,) = weft.autograd.grad(y, x, create_graph=True)
            y = (gradient * x).sum()
        return weft.autograd.grad(y, x)[0]

    assert_alike(third, examples())


def test_of_a_result_in_the_middle(model: nn.Module) -> None:
    def middle(x: weft.Tensor) -> tuple[weft.Tensor | None, ...]:
        hidden = model[0](x).tanh()
        other = hidden * 2
        loss = (model[2](hidden).tanh() * hidden).sum()
        return weft.autograd.grad(loss, [hidden, other, x.detach().requires_grad_()],
                                  allow_unused=True)  # fmt: skip

    assert_alike(middle, examples())


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell])
def test_through_cells(kind: type[nn.Module]) -> None:
    weft.manual_seed(0)
    cell = kind(4, 4).double()

    def run(x: weft.Tensor) -> weft.Tensor:
        x = leaf(x)
        state: Any = None
        for _ in range(3):
            state = cell(x, state)
        h = state[0] if isinstance(state, tuple) else state
        (gradient,) = weft.autograd.grad(h.sum(), x, create_graph=True)
        return (gradient * h).sum()

    assert_alike(run, examples(), *cell.parameters())


def test_a_sum_is_not_the_last_op() -> None:
    def run(x: weft.Tensor) -> weft.Tensor:
        x = leaf(x)
        loss = ((x * x).sum() * 2).exp() + (x.reshape(2, 2).sum(1) * 3).prod()
        return weft.autograd.grad(loss, x)[0]  # nobody differentiates it again

    assert_alike(run, examples())


def test_cells_with_weights_of_their_own() -> None:
    weight = leaf(examples(1)[0])

    @weft.cell
    def both(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
        return x, weight, x * weight

    for is_leaf in (False, True):

        def run(x: weft.Tensor, is_leaf: bool = is_leaf) -> tuple[weft.Tensor | None, ...]:
            x = leaf(x) if is_leaf else x
            given, own, product = both(x)
            assert product.requires_grad
            wanted = [weight, x] if is_leaf else [weight]
            return weft.autograd.grad((given * own * product).sum(), wanted)

        assert_alike(run, examples())


def test_backward_from_a_cell_over_plain_numbers() -> None:
    layer = nn.Linear(2, 1)
    cell = weft.cell(layer)
    with weft.lazy():
        cell(weft.ones(2)).sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.tolist() == [[1, 1]]


def test_after_a_decision(model: nn.Module) -> None:
    def run(x: weft.Tensor) -> weft.Tensor:
        x = leaf(x)
        hidden = model[0](x).tanh()
        if hidden.sum() > 0:  # what is before it is computed then
            hidden = hidden * hidden
        loss = model[4](model[2](hidden).tanh()).sum()
        (gradient,) = weft.autograd.grad(loss, x, create_graph=True)
        return (gradient * hidden.sum()).sum()

    assert_alike(run, examples(), *model.parameters())


def test_views_writes_and_indices() -> None:
    table = weft.randn(5, 4, dtype=weft.float64, requires_grad=True)

    def run(example: tuple[int, weft.Tensor]) -> tuple[weft.Tensor, ...]:
        index, x = example
        x = leaf(x)
        row = nn.functional.embedding(weft.tensor(index), table)
        first, second = weft.cat([x, row * x]).chunk(2)
        first = first * 1.0
        first.mul_(second[0])
        first[1] = second[1] * 3
        loss = (first[::2].reshape(1, 2) @ second.view(2, 2)).exp().sum() + x.max() * first.var()
        return weft.autograd.grad(loss, [x, table])

    assert_alike(run, [(i % 5, x) for i, x in enumerate(examples())])


def test_unused_outputs_of_an_op() -> None:
    def run(x: weft.Tensor) -> weft.Tensor:
        x = leaf(x)
        values, _ = (x * 2).sort()
        _, part = values.split([1, 3])
        return weft.autograd.grad(part.square().sum(), x)[0]

    assert_alike(run, examples())


def test_broadcast_promotion_and_given_gradients() -> None:
    def run(x: weft.Tensor) -> tuple[weft.Tensor, ...]:
        x, y = leaf(x), leaf(x[:1].float())
        outputs = (x[:, None] * y, (x + y).sum())
        return weft.autograd.grad(outputs, [x, y], [(x[:, None] * 3).detach(), None])

    assert_alike(run, examples())


def test_no_grad_and_detach_cut() -> None:
    def run(x: weft.Tensor) -> weft.Tensor:
        x = leaf(x)
        with weft.no_grad():
            scale = x * 2
        return weft.autograd.grad((x * scale * x.detach()).sum(), x)[0]

    assert_alike(run, examples())


def test_hooks_of_leaves_and_custom_functions() -> None:
    class Twice(weft.autograd.Function):
        @staticmethod
        def forward(_: Any, x: weft.Tensor) -> weft.Tensor:
            return x * 2

        @staticmethod
        def backward(_: Any, gradient: weft.Tensor) -> weft.Tensor:
            return gradient * 20

    def run(x: weft.Tensor) -> weft.Tensor:
        x = leaf(x)
        x.register_hook(lambda gradient: gradient * 10)
        return weft.autograd.grad((Twice.apply(x.exp()).tanh() * x).sum(), x)[0]

    assert_alike(run, examples())


def test_unused_inputs_raise_with_the_example() -> None:
    def run(x: weft.Tensor) -> Any:
        x = leaf(x)
        return weft.autograd.grad((x * 2).sum(), [x, leaf(x.detach())])

    with pytest.raises(RuntimeError, match="not have been used") as raised:
        weft.map(run, examples())
    assert raised.value.__notes__ == ["in example 0 of weft.map"]


def test_what_has_no_graph_raises() -> None:
    with pytest.raises(RuntimeError, match="does not require grad"):
        weft.map(lambda x: weft.autograd.grad((x * 2).sum(), x), examples())


def test_within_a_memory_limit(model: nn.Module) -> None:
    def run(x: weft.Tensor) -> weft.Tensor:
        x = leaf(x)
        loss = model(x).sum() + model(x * 2).square().sum()
        (gradient,) = weft.autograd.grad(loss, x, create_graph=True)
        return (gradient * gradient).sum()

    before = weft.batching.set_memory_limit(300)
    try:
        assert_alike(run, examples(), *model.parameters())
    finally:
        weft.batching.set_memory_limit(before)


def test_maps_inside_maps(model: nn.Module) -> None:
    def inner(x: weft.Tensor) -> weft.Tensor:
        x = leaf(x)
        return weft.autograd.grad(model(x).sum(), x, create_graph=True)[0].square().sum()

    def outer(x: weft.Tensor) -> weft.Tensor:
        return weft.stack(weft.map(inner, [x, x * 2])).sum()

    assert_alike(outer, examples(), *model.parameters())


def test_steps_of_descent_inside_examples(model: nn.Module) -> None:
    def minimize(x: weft.Tensor) -> weft.Tensor:
        for _ in range(5):
            x = x.detach().requires_grad_()
            (gradient,) = weft.autograd.grad((model(x) ** 2).sum() + x.square().sum(), x)
            x = x - 0.1 * gradient
        return x

    assert_alike(minimize, examples())


@pytest.mark.parametrize("name", ["weight_hh", "bias_hh", "weight_ih"])
def test_what_a_cell_computes_once_for_all_examples(name: str) -> None:
    weft.manual_seed(0)
    cell = nn.GRUCell(4, 4).double()

    def run(x: weft.Tensor) -> weft.Tensor:
        h = cell(x, weft.zeros(4, dtype=weft.float64))
        if h.sum() > 1e9:
            return h
        weight = getattr(cell, name)
        (first,) = weft.autograd.grad(h.sum(), weight, create_graph=True)
        return weft.autograd.grad(first.square().sum(), weight)[0]

    assert_alike(run, examples())


def test_a_gradient_of_one_example_carries_no_graph_of_the_others() -> None:
    def cube(x: weft.Tensor) -> weft.Tensor:
        total = (x**3).sum()
        return total * 2 if total.item() > 0 else total

    weight = weft.ones(2, requires_grad=True)
    xs = [weft.tensor([1.0, 2.0]), weft.tensor([3.0, 1.0])]
    gradients = weft.map(weft.func.grad(cube), xs)
    assert [gradient.requires_grad for gradient in gradients] == [False, False]
    gradients = weft.map(weft.func.grad(lambda x: cube(x * weight)), xs)
    assert [gradient.requires_grad for gradient in gradients] == [True, True]
