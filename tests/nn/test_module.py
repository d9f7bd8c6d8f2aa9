"""Module: registration, walks, conversion, state, text."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

import weft
from weft import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(3, 2, bias=False))
        self.scale = nn.Parameter(weft.ones(2))
        self.register_buffer("count", weft.zeros(1))
        self.register_buffer("scratch", weft.zeros(2), persistent=False)

    def forward(self, x):
        return self.rest(self.first(x)) * self.scale


def test_registration_by_assignment():
    net = Net()
    names = ["scale", "first.weight", "first.bias", "rest.1.weight"]
    assert [name for name, _ in net.named_parameters()] == names
    assert [name for name, _ in net.named_buffers()] == ["count", "scratch"]
    assert [name for name, _ in net.named_children()] == ["first", "rest"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    assert len(list(net.parameters(recurse=False))) == 1
    assert net.first is net._modules["first"]
    assert "first" in dir(net)


def test_shared_parts_are_walked_once():
    net = nn.Module()
    net.a = nn.Linear(2, 2)
    net.b = net.a
    assert len(list(net.parameters())) == 2
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert len(list(net.modules())) == 2


def test_registries_are_live_views():
    net = Net()
    net._modules["first"] = nn.Identity()
    assert isinstance(net.first, nn.Identity)
    net._parameters["scale"] = None
    assert net.scale is None
    del net._buffers["scratch"]
    assert not hasattr(net, "scratch")
    assert list(net._buffers) == ["count"]
    assert "count" in repr(net._buffers)


def test_an_attribute_has_one_kind():
    net = Net()
    net.first = nn.Parameter(weft.zeros(1))
    assert "first" not in net._modules
    assert "first" in net._parameters
    del net.first
    assert "first" not in net._parameters
    net.first = 3
    assert net.first == 3


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("scale", weft.ones(2), "parameter"),
        ("first", 3, "module"),
        ("count", "many", "buffer"),
    ],
)
def test_wrong_assignments(name, value, word):
    with pytest.raises(TypeError, match=f"{name}.*{word}"):
        setattr(Net(), name, value)


def test_none_keeps_the_place():
    net = Net()
    net.scale = None
    assert "scale" in net._parameters
    net.scale = nn.Parameter(weft.ones(1))
    assert next(net.parameters()).shape == (1,)


def test_assignment_before_init():
    class Early(nn.Module):
        def __init__(self) -> None:
            self.part = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match="super"):
        Early()


@pytest.mark.parametrize("name", ["", "a.b", "training"])
def test_names_that_are_refused(name):
    with pytest.raises(KeyError):
        nn.Module().register_buffer(name, weft.zeros(1))
    with pytest.raises(KeyError):
        nn.Module().register_parameter(name, None)
    with pytest.raises(KeyError):
        nn.Module().add_module(name, nn.Identity())


def test_a_parameter_must_be_a_leaf():
    with pytest.raises(TypeError, match="Parameter"):
        nn.Module().register_parameter("p", weft.ones(1))


def test_paths():
    net = Net()
    assert net.get_submodule("rest.1") is net.rest[1]
    assert net.get_submodule("") is net
    assert net.get_parameter("first.bias") is net.first.bias
    assert net.get_buffer("count") is net.count
    for find, path in [
        (net.get_submodule, "rest.7"),
        (net.get_parameter, "first.nothing"),
        (net.get_buffer, "first.weight"),
    ]:
        with pytest.raises(AttributeError, match=path):
            find(path)
    net.set_submodule("rest.1", nn.Identity())
    assert isinstance(net.rest[1], nn.Identity)


def test_forward_is_required():
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)


def test_apply_and_modes():
    net = Net()
    seen = []
    assert net.apply(lambda module: seen.append(type(module).__name__)) is net
    assert seen == ["Linear", "ReLU", "Linear", "Sequential", "Net"]
    assert not net.eval().rest[0].training
    assert net.train().rest[0].training
    net.requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in net.parameters())
    with pytest.raises(ValueError, match="bool"):
        net.train(3)


def test_conversion():
    net = Net()
    parameter = net.scale
    net(weft.ones(1, 4)).sum().backward()
    net.register_buffer("index", weft.tensor([1]))
    assert net.double() is net
    assert net.scale is parameter
    assert parameter.dtype is weft.float64
    assert parameter.grad is not None
    assert parameter.grad.dtype is weft.float64
    assert net.count.dtype is weft.float64
    assert net.index.dtype is weft.int64
    assert net.to(weft.float16).scale.dtype is weft.float16
    assert net.to("cpu", weft.float32).scale.dtype is weft.float32
    assert net.bfloat16().scale.dtype is weft.bfloat16
    assert net.half().float().scale.dtype is weft.float32
    assert net.to(weft.zeros(1, dtype=weft.float64)).scale.dtype is weft.float64
    with pytest.raises(TypeError, match="int64"):
        net.to(weft.int64)


def test_zero_grad():
    net = Net()
    net(weft.ones(1, 4)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.scale.grad is not None
    assert net.scale.grad.abs().sum() == 0
    net.zero_grad()
    assert net.scale.grad is None


def test_state_goes_round():
    first, second = Net(), Net()
    first.count += 5
    state = first.state_dict()
    assert list(state) == ["scale", "count", "first.weight", "first.bias", "rest.1.weight"]
    assert not state["scale"].requires_grad
    assert state["scale"].data_ptr() == first.scale.data_ptr()
    before = second.scale
    assert repr(second.load_state_dict(state)) == "<All keys matched successfully>"
    assert second.scale is before
    x = weft.ones(2, 4)
    assert weft.equal(first(x), second(x))
    assert second.count == 5
    assert first.state_dict(keep_vars=True)["scale"] is first.scale
    assert next(iter(first.state_dict(prefix="model."))) == "model.scale"


def test_state_that_does_not_fit():
    net = Net()
    state = dict(net.state_dict())
    del state["scale"]
    state["more"] = weft.zeros(1)
    state["first.bias"] = weft.zeros(7)
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    text = str(caught.value)
    for fragment in ["Net", '"scale"', '"more"', "first.bias", "(7,)", "(3,)"]:
        assert fragment in text
    state["first.bias"] = weft.zeros(3)
    found = net.load_state_dict(state, strict=False)
    assert found.missing_keys == ["scale"]
    assert found.unexpected_keys == ["more"]
    assert "scale" in repr(found)
    with pytest.raises(TypeError, match="mapping"):
        net.load_state_dict([1])


def test_state_by_assignment():
    net = nn.Linear(2, 2)
    weight = weft.ones(2, 2)
    net.load_state_dict({"weight": weight, "bias": weft.zeros(2)}, assign=True)
    assert isinstance(net.weight, nn.Parameter)
    assert net.weight.data_ptr() == weight.data_ptr()


def test_extra_state():
    class Counting(nn.Module):
        steps = 0

        def get_extra_state(self):
            return {"steps": self.steps}

        def set_extra_state(self, state):
            self.steps = state["steps"]

    first, second = Counting(), Counting()
    first.steps = 4
    second.load_state_dict(first.state_dict())
    assert second.steps == 4


def test_copies():
    net = Net()
    net.other = net.first  # shared parts stay shared
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert twin.first is twin.other
        assert twin.scale is not net.scale
        assert isinstance(twin.scale, nn.Parameter)
        assert weft.equal(twin(weft.ones(1, 4)), net(weft.ones(1, 4)))
    shallow = copy.copy(net)
    assert shallow.scale is net.scale


def test_text():
    assert repr(nn.Module()) == "Module()"
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()))) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): Sequential(\n"
        "    (0): ReLU()\n"
        "  )\n"
        ")"
    )


def test_buffers_by_assignment():
    net = nn.Module()
    net.table = nn.Buffer(weft.ones(2))
    net.scratch = nn.Buffer(weft.ones(2), persistent=False)
    assert list(net.state_dict()) == ["table"]
    net.table = weft.zeros(2)
    assert net.state_dict()["table"].sum() == 0


def test_training_through_a_module():
    weft.manual_seed(0)
    net = Net()
    x, target = weft.randn(16, 4), weft.randn(16, 2)
    losses = []
    for _ in range(100):
        loss = ((net(x) - target) ** 2).mean()
        net.zero_grad()
        loss.backward()
        with weft.no_grad():
            for parameter in net.parameters():
                parameter -= 0.1 * parameter.grad
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]


class Recorder(nn.Module):
    def forward(self, *args, **kwargs):
        return args, kwargs


@pytest.mark.parametrize("count", [0, 1, 8, 9, 20])
def test_arguments_reach_forward(count):
    given = tuple(range(count))
    assert Recorder()(*given) == (given, {})
    assert Recorder()(*given, a=1) == (given, {"a": 1})
    hooked = Recorder()
    hooked.register_forward_hook(lambda module, args, output: None)
    assert hooked(*given) == (given, {})
    assert hooked(*given, a=1) == (given, {"a": 1})


def test_forward_is_looked_up_at_each_call():
    module = Recorder()
    module.forward = lambda x: x + 1
    assert module(1) == 2
    del module.forward
    assert module(1) == ((1,), {})

    class Other(Recorder):
        def __getattr__(self, name):
            return name

    assert Other()(1) == ((1,), {})
    assert Other().missing == "missing"


def test_a_class_may_have_its_own_call():
    class Counted(Recorder):
        def __call__(self, *args):
            return "called", super().__call__(*args)

    assert Counted()(1) == ("called", ((1,), {}))
    assert nn.Sequential(Counted())(1) == ("called", ((1,), {}))


def test_errors_of_forward_come_through():
    def fail(x):
        raise ValueError(x)

    module = Recorder()
    module.forward = fail
    with pytest.raises(ValueError, match="no"):
        module("no")
    with pytest.raises(TypeError, match=r"fail\(\) missing 1 required"):
        module()


def test_hooks_survive_copies():
    module = Recorder()
    module.register_forward_hook(_double)
    for other in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert other(1) == "hooked"


def _double(module, args, output):
    return "hooked"


class Slotted(nn.Linear):
    __slots__ = ("note",)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))]
)
def test_copies_keep_all_attributes(duplicate):
    module = Slotted(2, 2)
    module.note = "kept"
    module.extra = [1]
    other = duplicate(module)
    assert (other.note, other.extra) == ("kept", [1])
    assert list(other.state_dict()) == ["weight", "bias"]
    other.in_features = 7
    other.fresh = nn.Parameter(weft.ones(1))
    assert (module.in_features, hasattr(module, "fresh")) == (2, False)
    assert weft.equal(other(weft.ones(2)), module(weft.ones(2)))


def test_attributes_before_init_stay():
    class Early(nn.Module):
        def __init__(self):
            self.size = 3
            super().__init__()

    assert Early().size == 3


def test_signatures():
    assert list(inspect.signature(nn.Linear(2, 2)).parameters) == ["input"]
    assert list(inspect.signature(nn.LSTMCell(2, 2)).parameters) == ["input", "hx"]
    assert "in_features" in inspect.signature(nn.Linear).parameters
