"""Function transforms against torch.func, on programs of the kind people write with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.func

import weft
import weft.func
from weft.pytree import tree_flatten

# PyTorch's own forward mode uses it.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((6, 5))
Y = RANDOM.integers(0, 3, 6)
IMAGES = RANDOM.standard_normal((4, 2, 8, 8))
MATRIX = RANDOM.standard_normal((5, 5)) / 2


class Of:
    """One library, as the programs see it."""

    def __init__(self, module: Any) -> None:
        self.module, self.func, self.nn = module, module.func, module.nn
        self.x, self.y, self.images, self.matrix = map(module.tensor, (X, Y, IMAGES, MATRIX))

    def drawn(self, model: Any, seed: int) -> Any:
        """Return the model in float64, with weights that are the same in both libraries."""
        random = np.random.default_rng(seed)
        model.double()
        with self.module.no_grad():
            for parameter in model.parameters():
                parameter.copy_(self.module.tensor(random.standard_normal(parameter.shape) / 2))
        return model

    def mlp(self, seed: int = 0) -> Any:
        nn = self.nn
        return self.drawn(nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)), seed)

    def cnn(self) -> Any:
        nn = self.nn
        model = nn.Sequential(
            *(nn.Conv2d(2, 4, 3, padding=1, stride=2), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(4, 6, 2, groups=2), nn.GroupNorm(2, 6), nn.Flatten(), nn.Linear(6, 3)),
        )
        return self.drawn(model, 0)

    def loss(self, model: Any) -> Callable[..., Any]:
        def loss(parameters: Any, x: Any, y: Any) -> Any:
            scores = self.func.functional_call(model, parameters, (x[None],))
            return self.nn.functional.cross_entropy(scores, y[None])

        return loss


def detached(model: Any) -> dict[str, Any]:
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def per_example_gradients(of: Of) -> Any:
    model = of.mlp()
    gradient = of.func.grad(of.loss(model))
    return of.func.vmap(gradient, in_dims=(None, 0, 0))(detached(model), of.x, of.y)


def per_example_gradients_of_a_cnn(of: Of) -> Any:
    model = of.cnn()
    gradient = of.func.grad_and_value(of.loss(model))
    return of.func.vmap(gradient, in_dims=(None, 0, 0))(detached(model), of.images, of.y[:4])


def clipped_and_noised_step(of: Of) -> Any:
    """Differential privacy: gradients are clipped one by one, then averaged."""
    model = of.mlp()
    parameters = detached(model)
    gradients = of.func.vmap(of.func.grad(of.loss(model)), in_dims=(None, 0, 0))(
        parameters, of.x, of.y
    )
    norm = sum(g.flatten(1).pow(2).sum(1) for g in gradients.values()).sqrt()
    scale = (0.5 / norm).clamp(max=1)
    step = {n: (g * scale.reshape(-1, *[1] * (g.ndim - 1))).mean(0) for n, g in gradients.items()}
    return {name: parameters[name] - 0.1 * step[name] for name in parameters}


def hessian_vector_products(of: Of) -> Any:
    f = lambda x: (x @ of.matrix).tanh().pow(3).sum()  # noqa: E731
    x, v = of.x[0], of.x[1]
    forward = of.func.jvp(of.func.grad(f), (x,), (v,))[1]
    reverse = of.func.vjp(of.func.grad(f), x)[1](v)[0]
    many = of.func.vmap(lambda v: of.func.vjp(of.func.grad(f), x)[1](v)[0])(of.x)
    return forward, reverse, many, of.func.hessian(f)(x) @ v


def ensemble(of: Of) -> Any:
    models = [of.mlp(seed) for seed in range(4)]
    parameters, buffers = of.func.stack_module_state(models)

    def call(parameters: Any, buffers: Any, x: Any) -> Any:
        return of.func.functional_call(models[0], (parameters, buffers), (x,))

    same = of.func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, of.x)
    own = of.func.vmap(call)(parameters, buffers, of.x[:4])
    (same.pow(2).mean() + own.pow(2).mean()).backward()
    return same, own, {name: p.grad for name, p in parameters.items()}


def jacobians_of_trees(of: Of) -> Any:
    def f(tree: Any, y: Any) -> Any:
        return {"a": tree["u"] @ of.matrix * y, "b": [(tree["v"][0] ** 2).sum(), tree["u"].sin()]}

    tree = {"u": of.x[0], "v": (of.x[1], of.x[2])}
    both = [
        getattr(of.func, name)(f, argnums=(0, 1))(tree, of.x[3]) for name in ("jacrev", "jacfwd")
    ]
    return both, of.func.hessian(lambda t: (t["u"] * t["v"][0]).pow(2).sum())(tree)


def meta_learning(of: Of) -> Any:
    """MAML: a loss after a step of gradient descent, for several tasks, and its gradient."""
    model = of.mlp()
    loss = of.loss(model)

    def after_a_step(parameters: Any, x: Any, y: Any) -> Any:
        gradient = of.func.grad(loss)(parameters, x, y)
        moved = {name: p - 0.1 * gradient[name] for name, p in parameters.items()}
        return loss(moved, x * 2, y)

    def over_tasks(parameters: Any) -> Any:
        return of.func.vmap(after_a_step, in_dims=(None, 0, 0))(parameters, of.x, of.y).mean()

    return of.func.grad_and_value(over_tasks)(detached(model))


def neural_tangent_kernel(of: Of) -> Any:
    model = of.mlp()
    parameters = detached(model)

    def call(parameters: Any, x: Any) -> Any:
        return of.func.functional_call(model, parameters, (x[None],))[0]

    def jacobian(x: Any) -> Any:
        rows = of.func.vmap(of.func.jacrev(call), (None, 0))(parameters, x)
        return [row.flatten(2) for row in rows.values()]

    ones, others = jacobian(of.x[:3]), jacobian(of.x[3:])
    einsum = of.module.einsum
    return sum(einsum("Naf,Mbf->NMab", a, b) for a, b in zip(ones, others, strict=True))


def batched_jacobians_and_hessians(of: Of) -> Any:
    f = lambda x: of.nn.functional.gelu(x @ of.matrix).softmax(-1)  # noqa: E731
    return (
        of.func.vmap(of.func.jacrev(f))(of.x),
        of.func.vmap(of.func.jacfwd(f), out_dims=1)(of.x),
        of.func.vmap(of.func.hessian(f))(of.x[:2]),
    )


def gradient_penalty(of: Of) -> Any:
    """A loss with the norm of each example's input gradient in it, differentiated by backward."""
    model = of.mlp()

    def score(x: Any) -> Any:
        return model(x[None]).sum()

    norms = of.func.vmap(of.func.grad(score))(of.x).norm(dim=1)
    (norms - 1).pow(2).mean().backward()
    return norms, {n: p.grad for n, p in model.named_parameters() if p.grad is not None}


def physics(of: Of) -> Any:
    """The residual of a differential equation at several points: u'' + u u' for a network u."""
    model = of.mlp()
    u = lambda t: model((t * of.x[0])[None])[0, 0]  # noqa: E731
    first = of.func.grad(u)
    second = of.func.grad(first)
    residual = of.func.vmap(lambda t: second(t) + u(t) * first(t))(of.x[1])
    residual.pow(2).mean().backward()
    return residual, model[0].weight.grad


def nested_maps(of: Of) -> Any:
    pairs = of.func.vmap(of.func.vmap(lambda a, b: (a - b).pow(2).sum(), (None, 0)), (0, None))
    chunked = of.func.vmap(lambda a: a.sort().values, chunk_size=4, in_dims=1, out_dims=-1)
    return pairs(of.x, of.x), chunked(of.x), of.func.grad(lambda x: pairs(x, x).exp().mean())(of.x)


def random_rows(of: Of) -> Any:
    of.module.manual_seed(1)
    noise = of.func.vmap(lambda x: x + of.module.rand(20).double().sum(), randomness="different")
    drop = of.func.vmap(lambda x: of.nn.functional.dropout(x, 0.5), randomness="different")
    same = of.func.vmap(lambda x: x + of.module.rand(5).double(), randomness="same")
    return noise(of.x), drop(of.x), same(of.x)


def custom_function(of: Of) -> Any:
    class Cube(of.module.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            del output
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return 2 * ctx.saved_tensors[0] ** 2 * gradient  # not the true one

    f = lambda x: Cube.apply(x).sum()  # noqa: E731
    outer = of.func.grad(lambda x: of.func.vmap(of.func.grad(f))(x).pow(2).sum())
    return of.func.vmap(Cube.apply)(of.x), of.func.vmap(of.func.grad(f))(of.x), outer(of.x)


def vectorized_autograd(of: Of) -> Any:
    functional = of.module.autograd.functional
    f = lambda x, m: (x @ m).tanh()  # noqa: E731
    x = of.x[0].clone().requires_grad_()
    batched = of.module.autograd.grad(x.sin(), x, of.module.eye(5).double(), is_grads_batched=True)
    return (
        functional.jacobian(f, (of.x, of.matrix), vectorize=True),
        functional.hessian(lambda x: f(x, of.matrix).pow(2).sum(), of.x[0], vectorize=True),
        batched,
    )


PROGRAMS = (
    *(per_example_gradients, per_example_gradients_of_a_cnn, clipped_and_noised_step),
    *(hessian_vector_products, ensemble, jacobians_of_trees, meta_learning),
    *(neural_tangent_kernel, batched_jacobians_and_hessians, gradient_penalty, physics),
    *(nested_maps, random_rows, custom_function, vectorized_autograd),
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program: Callable[[Of], Any]) -> None:
    ours, theirs = tree_flatten(program(Of(weft))), tree_flatten(program(Of(torch)))
    assert str(ours[1]) == str(theirs[1])
    for got, expected in zip(ours[0], theirs[0], strict=True):
        assert got.requires_grad == expected.requires_grad
        np.testing.assert_allclose(
            got.detach().numpy(), expected.detach().numpy(), rtol=1e-8, atol=1e-10
        )


BAD: dict[str, Callable[[Of], Any]] = {
    "different sizes": lambda of: of.func.vmap(lambda a, b: a + b)(of.x, of.x[:2]),
    "no tensors": lambda of: of.func.vmap(lambda a: a, in_dims=None)(of.x),
    "a number": lambda of: of.func.vmap(lambda a: a)(3.0),
    "too far": lambda of: of.func.vmap(lambda a: a, in_dims=2)(of.x),
    "structure": lambda of: of.func.vmap(lambda a: a, in_dims=({"b": 0},))({"a": of.x}),
    "rows as none": lambda of: of.func.vmap(lambda a: a, out_dims=None)(of.x),
    "result too far": lambda of: of.func.vmap(lambda a: a, out_dims=5)(of.x),
    "a number back": lambda of: of.func.vmap(lambda a: 3)(of.x),
    "item": lambda of: of.func.vmap(lambda a: a.sum().item())(of.x),
    "a branch": lambda of: of.func.vmap(lambda a: a if a.sum() > 0 else -a)(of.x),
    "random": lambda of: of.func.vmap(lambda a: a + of.module.rand(5))(of.x),
    "randomness": lambda of: of.func.vmap(lambda a: a, randomness="x")(of.x),
    "a mask": lambda of: of.func.vmap(lambda a: a[a > 0])(of.x),
    "chunks": lambda of: of.func.vmap(lambda a: a, chunk_size=0)(of.x),
    "not a scalar": lambda of: of.func.grad(lambda a: a)(of.x),
    "not a tensor": lambda of: of.func.grad(lambda a: 3.0)(of.x),
    "argnums": lambda of: of.func.grad(lambda a: a.sum(), argnums=2)(of.x),
    "integers": lambda of: of.func.grad(lambda a: a.sum())(of.y),
    "cotangents": lambda of: of.func.vjp(lambda a: a, of.x)[1](of.x[0]),
    "tangents": lambda of: of.func.jvp(lambda a: a, (of.x,), (of.x[0],)),
    "primals": lambda of: of.func.jvp(lambda a: a, of.x, of.x),
    "outputs": lambda of: of.func.jacrev(lambda a: (a, 3))(of.x),
    "outside": lambda of: of.func.vmap(of.matrix[0].add_)(of.x),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_are_of_pytorchs_classes(name: str) -> None:
    with pytest.raises((ValueError, RuntimeError, IndexError)) as theirs:
        BAD[name](Of(torch))
    with pytest.raises(theirs.type):
        BAD[name](Of(weft))
