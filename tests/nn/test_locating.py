"""Errors inside modules say in which one they happened, once, by its path."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import nn

X = weft.ones(2, 3)


class Block(nn.Module):
    """Has a wrong layer deep inside, modules in a list, and one that is not registered."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Sequential(nn.ReLU(), nn.Linear(4, 3))])
        self.heads = nn.ModuleDict({"wide": nn.Linear(7, 1)})
        self.free = [nn.Linear(9, 9)]

    def forward(self, x: weft.Tensor, how: str = "layers") -> weft.Tensor:
        if how == "free":
            return self.free[0](x)
        if how == "wide":
            return self.heads["wide"](x)
        for layer in self.layers:
            x = layer(x)
        return x


class Tree(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.leaf = nn.Linear(4, 4)

    def forward(self, depth: int) -> weft.Tensor:
        return self(depth - 1) if depth else self.leaf(X)


class Trainer:
    def __init__(self) -> None:
        self.model = nn.Sequential(nn.Linear(4, 4))

    def step(self) -> weft.Tensor:
        return self.model(X)


def message(call: Callable[[], Any], kind: type[Exception] = weft.ShapeError) -> str:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    return str(caught.value)


def place(call: Callable[[], Any], kind: type[Exception] = weft.ShapeError) -> str:
    """Return what an error says behind the text of the op; that it says so once is checked."""
    text = message(call, kind)
    assert text.count("\n  in ") == 1
    return text.partition("\n  in ")[2]


def test_the_op_words_the_rest() -> None:
    layer = nn.Linear(4, 2)
    by_op = message(lambda: nn.functional.linear(X, layer.weight, layer.bias))
    assert message(lambda: layer(X)) == f"{by_op}\n  in layer (Linear)"
    assert "\n" not in by_op


def test_sequential() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(5, 2))
    assert place(lambda: model(X)) == "model.2 (Linear)"


def test_lists_and_dictionaries_of_modules() -> None:
    net = nn.Sequential(nn.Identity(), Block())
    assert place(lambda: net(X)) == "net.1.layers.1.1 (Linear)"
    block = Block()
    assert place(lambda: block(X, "wide")) == "block.heads.wide (Linear)"


def test_modules_that_are_not_registered() -> None:
    block = Block()
    assert place(lambda: block(X, "free")) == "block.free[0] (Linear)"


def test_a_model_without_a_name() -> None:
    assert place(lambda: nn.Linear(4, 2)(X)) == "Linear"
    assert place(lambda: nn.Sequential(nn.Linear(4, 2))(X)) == "Sequential.0 (Linear)"


def test_a_model_that_an_object_holds() -> None:
    assert place(lambda: Trainer().step()) == "model.0 (Linear)"


def test_a_module_that_calls_itself() -> None:
    tree = Tree()
    assert place(lambda: tree(30)) == "tree.leaf (Linear)"


def test_deep_models() -> None:
    deep: nn.Module = nn.Linear(4, 4)
    for _ in range(50):
        deep = nn.Sequential(deep)
    assert place(lambda: deep(X)) == "deep" + ".0" * 50 + " (Linear)"


@pytest.mark.parametrize(
    ("layer", "given", "kind"),
    [
        (nn.LSTMCell(3, 4), weft.ones(2, 5), weft.ShapeError),
        (nn.GRU(3, 4), weft.ones(2, 2, 5), weft.ShapeError),
        (nn.Conv2d(3, 4, 3), weft.ones(1, 2, 8, 8), weft.ShapeError),
        (nn.BatchNorm2d(3), weft.ones(1, 2, 8, 8), weft.ShapeError),
        (nn.Softmax2d(), weft.ones(2), weft.ShapeError),
        (nn.Embedding(3, 4), weft.tensor([5]), weft.OutOfRangeError),
        (nn.Linear(3, 3), weft.ones(3, dtype=weft.int64), weft.DTypeError),
    ],
    ids=lambda value: type(value).__name__,
)
def test_kinds_of_layers(layer: nn.Module, given: weft.Tensor, kind: type[Exception]) -> None:
    model = nn.Sequential(layer)
    assert place(lambda: model(given), kind) == f"model.0 ({type(layer).__name__})"


def test_attention_in_a_transformer() -> None:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2)
    said = place(lambda: model(weft.ones(2, 2, 9)))
    assert said == "model.layers.0.self_attn (MultiheadAttention)"


# ---- ways to run ---------------------------------------------------------------------------------


def in_lazy_scope(model: nn.Module) -> None:
    with weft.lazy():
        model(X)


def with_hooks(model: nn.Module) -> None:
    for module in model.modules():
        module.register_forward_hook(lambda *given: None)
    model(X)


def recorded(model: nn.Module) -> None:
    with weft.tracing.Recording():
        model(X)


@pytest.mark.parametrize(
    "run",
    [
        in_lazy_scope,
        with_hooks,
        recorded,
        lambda model: weft.map(lambda x: model(x) * 2, [X[0], X[1]]),
        lambda model: weft.map(lambda x: model(x) * 2, [X[0], X[1]], batch=False),
        lambda model: weft.vmap(model)(X),
        lambda model: weft.func.functional_call(model, dict(model.named_parameters()), (X,)),
    ],
)
def test_under(run: Callable[[nn.Module], object]) -> None:
    model = nn.Sequential(Block())
    assert place(lambda: run(model)) == "model.0.layers.1.1 (Linear)"


def test_a_mapped_module_has_its_class_for_a_name() -> None:
    model = nn.Sequential(Block())
    with pytest.raises(weft.ShapeError) as caught:
        weft.map(model, [X[0], X[1]])
    assert str(caught.value).endswith("\n  in Sequential.0.layers.1.1 (Linear)")
    assert caught.value.__notes__ == ["in example 0 of weft.map"]


def test_each_example_has_its_own() -> None:
    model = nn.Linear(3, 1)
    examples = [X[0], weft.ones(4), weft.ones(5)]
    found = weft.map(lambda x: model(x) * 2, examples, return_exceptions=True)
    assert isinstance(found[0], weft.Tensor)
    assert [str(each).count("  in model (Linear)") for each in found[1:]] == [1, 1]


def test_inside_a_cell() -> None:
    layer = nn.Linear(4, 2)

    @weft.cell
    def step(x: weft.Tensor) -> weft.Tensor:
        return layer(x) * 2

    assert place(lambda: step(X)) == "layer (Linear)"
    assert place(lambda: step(X)) == "layer (Linear)"


# ---- what stays as it is -------------------------------------------------------------------------


class Raising(nn.Module):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def forward(self) -> None:
        raise self.error


@pytest.mark.parametrize("error", [ValueError("mine"), RuntimeError("mine"), StopIteration("mine")])
def test_errors_of_others(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        nn.Sequential(Raising(error))[0]()
    assert caught.value is error
    assert error.args == ("mine",)


def test_one_that_is_raised_again() -> None:
    layer, other = nn.Linear(4, 2), Raising(ValueError())
    with pytest.raises(weft.ShapeError) as caught:
        layer(X)
    said = str(caught.value)
    other.error = caught.value
    assert message(other) == said  # another module has nothing to do with it


def test_one_whose_text_was_changed() -> None:
    class Wording(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            try:
                return self.layer(x)
            except weft.ShapeError as error:
                error.args = ("in words of my own",)
                raise

    assert message(lambda: Wording()(X)) == "in words of my own"


def test_a_caught_error_leaves_nothing() -> None:
    class Falling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 2), nn.Linear(5, 2)

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            try:
                return self.first(x)
            except weft.ShapeError:
                return self.second(x)

    model = Falling()
    with pytest.raises(weft.ShapeError) as caught:
        model(X)
    assert str(caught.value).endswith("\n  in model.second (Linear)")
    assert str(caught.value.__context__).endswith("\n  in first (Linear)")


def test_an_error_can_be_copied_and_sent() -> None:
    layer = nn.Linear(4, 2)
    with pytest.raises(weft.ShapeError) as caught:
        layer(X)
    for twin in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert type(twin) is weft.ShapeError
        assert str(twin) == str(caught.value)


def test_an_error_holds_no_module() -> None:
    def failed() -> tuple[Exception, Any]:
        layer = nn.Linear(4, 2)
        try:
            layer(X)
        except weft.ShapeError as error:
            return error.with_traceback(None), weakref.ref(layer)
        raise AssertionError

    error, layer = failed()
    gc.collect()
    assert layer() is None
    assert "layer (Linear)" in str(error)


def test_in_threads() -> None:
    layers = [nn.Linear(4 + i, 2) for i in range(4)]
    found: dict[int, str] = {}

    def run(index: int) -> None:
        own = layers[index]
        found[index] = place(lambda: own(X))

    threads = [threading.Thread(target=run, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(4), "own (Linear)")


def test_an_odd_module_does_not_hide_the_error() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def named_modules(self, *_: Any, **__: Any) -> Any:
            raise ZeroDivisionError

        def forward(self, x: weft.Tensor) -> weft.Tensor:
            return self.layer(x)

    assert "linear(input, weight, bias)" in message(lambda: Odd()(X))
