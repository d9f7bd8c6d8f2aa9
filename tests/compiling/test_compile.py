"""weft.compile: what it returns behaves like what it was given."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys
import threading

import pytest

import weft
from weft import _core, nn
from weft.compiling import CompiledFunction, CompiledModule

SCALE = 2.0


@weft.compile
def scaled(x, factor=3, *rest, sign=1):  # type: ignore[no-untyped-def]
    """Scale."""
    for _ in range(factor):
        x = x * SCALE
    return x * sign


def plain(x):  # type: ignore[no-untyped-def]
    return [item + 1 for item in x]


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])
        self.calls = 0

    def forward(self, x):  # type: ignore[no-untyped-def]
        self.calls += 1
        for layer in self.layers:
            x = layer(x).tanh()
        return x if self.training else x * 0

    @weft.compile
    def twice(self, x):  # type: ignore[no-untyped-def]
        return self(self(x))


def runs_compiled(function) -> bool:  # type: ignore[no-untyped-def]
    return _core.routine_of(function.__wrapped__) is not None


def test_a_function_keeps_its_name_and_signature() -> None:
    assert isinstance(scaled, CompiledFunction)
    assert runs_compiled(scaled)
    assert (scaled.__name__, scaled.__doc__, scaled.__module__) == ("scaled", "Scale.", __name__)
    assert str(inspect.signature(scaled)) == "(x, factor=3, *rest, sign=1)"
    assert scaled.__wrapped__.__code__ is scaled.__code__
    assert repr(scaled).startswith("<compiled <function scaled")
    assert scaled(1) == 8.0
    assert weft.compile(scaled) is scaled


def test_defaults_that_are_changed_count() -> None:
    def f(x=1, *, y=2):  # type: ignore[no-untyped-def]
        return x + y

    compiled = weft.compile(f)
    assert compiled() == 3
    compiled.__defaults__ = (10,)
    f.__kwdefaults__ = {"y": 20}
    assert (compiled(), f()) == (30, 30)
    compiled.note = "mine"
    assert compiled.note == "mine"


def test_it_decorates_with_and_without_arguments() -> None:
    made = weft.compile(fullgraph=True, dynamic=True, backend="inductor", mode="max-autotune")(
        plain
    )
    assert made([1]) == [2]
    assert weft.compile(plain, disable=True) is plain
    assert weft.compile()(plain)([1]) == [2]
    with pytest.raises(RuntimeError, match="mode and options"):
        weft.compile(plain, mode="default", options={})
    with pytest.raises(TypeError, match="int is no function or module"):
        weft.compile(3)  # type: ignore[call-overload]


def test_it_is_a_method_on_a_class() -> None:
    class Counter:
        start = 10

        def __init__(self, count: int) -> None:
            self.count = count

        @weft.compile
        def more(self, by):  # type: ignore[no-untyped-def]
            return self.count + by

        @weft.compile
        @staticmethod
        def same(x):  # type: ignore[no-untyped-def]
            return x

        @classmethod
        @weft.compile
        def named(cls, x):  # type: ignore[no-untyped-def]
            return cls.start + x

        @property
        @weft.compile
        def double(self):  # type: ignore[no-untyped-def]
            return self.count * 2

        def __call__(self, x):  # type: ignore[no-untyped-def]
            return self.count - x

    counter = Counter(5)
    assert (counter.more(1), Counter.more(counter, 2)) == (6, 7)
    assert (counter.same(1), Counter.named(1), counter.double) == (1, 11, 10)
    assert weft.compile(counter.more)(3) == 8
    assert weft.compile(counter)(3) == 2


def test_copies_and_pickles() -> None:
    assert pickle.loads(pickle.dumps(scaled)) is scaled
    assert copy.deepcopy(scaled) is scaled
    assert copy.copy(scaled) is scaled
    other = weft.compile(plain)
    again = pickle.loads(pickle.dumps(other))
    assert isinstance(again, CompiledFunction)
    assert again([1]) == [2]


def test_a_module_behaves_like_the_module() -> None:
    weft.manual_seed(0)
    model = Model()
    compiled = weft.compile(model)
    x = weft.ones(1, 2)
    assert isinstance(compiled, CompiledModule)
    assert isinstance(compiled, nn.Module)
    assert weft.equal(compiled(x), model(x))
    assert compiled.calls == model.calls == 2
    assert list(compiled.parameters()) == list(model.parameters())
    assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in model.state_dict()]
    compiled.load_state_dict(compiled.state_dict())
    compiled.eval()
    assert (model.training, compiled.training) == (False, False)
    model.train()
    assert compiled.training
    compiled.calls = 0
    assert model.calls == 0
    assert compiled.twice(x).shape == (1, 2)
    assert repr(compiled).startswith("CompiledModule(\n  (_orig_mod): Model(")
    del compiled.calls
    assert not hasattr(model, "calls")
    with pytest.raises(AttributeError):
        compiled.missing


def test_a_module_is_copied_and_pickled() -> None:
    compiled = weft.compile(Model())
    x = weft.ones(1, 2)
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert isinstance(other, CompiledModule)
        assert weft.equal(other(x), compiled(x))
        assert other._orig_mod is not compiled._orig_mod


def test_a_container_has_its_parts() -> None:
    compiled = weft.compile(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    assert len(compiled) == 2
    assert [type(item) for item in compiled] == [nn.Linear, nn.ReLU]
    assert isinstance(compiled[1], nn.ReLU)


def test_hooks_run() -> None:
    model = Model()
    compiled = weft.compile(model)
    seen = []
    model.register_forward_pre_hook(lambda *_: seen.append("before"))
    model.register_forward_hook(lambda *_: seen.append("after"))
    compiled.register_forward_hook(lambda *_: seen.append("outer"))
    compiled(weft.ones(1, 2))
    assert seen == ["before", "after", "outer"]


def test_it_trains() -> None:
    def losses(wrap):  # type: ignore[no-untyped-def]
        weft.manual_seed(1)
        model = wrap(Model())
        optimizer = weft.optim.Adam(model.parameters(), lr=0.1)
        x, y = weft.randn(8, 2), weft.randn(8, 2)
        found = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    assert losses(weft.compile) == losses(lambda model: model)


def test_followers_of_lines_see_python() -> None:
    lines = []

    def trace(frame, event, argument):  # type: ignore[no-untyped-def]
        if frame.f_code is plain.__code__:
            lines.append(event)
        return trace

    compiled = weft.compile(plain)
    before = sys.gettrace()
    sys.settrace(trace)
    compiled([1])
    sys.settrace(before)
    assert "line" in lines
    calls = []
    sys.setprofile(lambda frame, event, _: calls.append((frame.f_code.co_name, event)))
    compiled([1])
    sys.setprofile(None)
    assert ("plain", "call") in calls


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is of Python 3.12")
def test_tools_that_monitor_see_python() -> None:
    monitoring = sys.monitoring
    seen = []
    monitoring.use_tool_id(monitoring.COVERAGE_ID, "test")
    try:
        monitoring.register_callback(
            monitoring.COVERAGE_ID, monitoring.events.LINE, lambda code, _: seen.append(code)
        )
        monitoring.set_local_events(monitoring.COVERAGE_ID, plain.__code__, monitoring.events.LINE)
        weft.compile(plain)([1])
    finally:
        monitoring.free_tool_id(monitoring.COVERAGE_ID)
    assert plain.__code__ in seen


@pytest.mark.parametrize(("value", "is_on"), [("0", False), ("1", True), (None, True)])
def test_the_environment_can_switch_it_off(value: str | None, is_on: bool) -> None:
    program = "import weft.compiling; print(weft._core.enable_compiled(True))"
    environment = {name: text for name, text in os.environ.items() if name != "WEFT_COMPILE"}
    if value is not None:
        environment["WEFT_COMPILE"] = value
    command = [sys.executable, "-c", program]
    text = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert text.stdout == f"{is_on}\n"


def test_switched_off_python_runs() -> None:
    def f():  # type: ignore[no-untyped-def]
        return frames()

    def frames() -> list[str]:
        return [frame.f_code.co_name for frame in (sys._getframe(i) for i in range(5))]

    compiled = weft.compile(f)
    assert "f" not in compiled()
    before = _core.enable_compiled(False)
    try:
        assert "f" in compiled()
    finally:
        _core.enable_compiled(before)


def test_threads_run_at_once() -> None:
    results = []
    threads = [threading.Thread(target=lambda n=n: results.append(scaled(n, 5))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [32.0 * n for n in range(8)]


def test_explain_says_what_is_compiled_and_what_is_not() -> None:
    def helper(x):  # type: ignore[no-untyped-def]
        import os

        return os.fspath(x)

    def main(x):  # type: ignore[no-untyped-def]
        print(x)
        return helper(x) * SCALE

    explanation = weft.compile(main).explain()
    line = main.__code__.co_firstlineno
    assert [item.name.rpartition(".")[2] for item in explanation.compiled] == ["main"]
    assert [(item.line, item.called.rpartition(".")[2]) for item in explanation.python] == [
        (line + 1, "print"),
        (line + 2, "helper"),
    ]
    assert [item.construct for item in explanation.refusals] == ["`import` inside a function"]
    assert ("SCALE", "2.0") in [(item.name, item.value) for item in explanation.outside]
    text = str(explanation)
    assert text.startswith("compiled: 1 functions, ")
    assert repr(explanation) == text
    assert "runs as Python: 2 calls\n" in text
    assert f"test_compile.py:{line + 1} in " in text


def test_explain_goes_through_modules() -> None:
    explanation = weft.compile(Model()).explain()
    assert [item.name for item in explanation.compiled] == ["Model.forward"]
    assert explanation.python == []


def test_code_shows_instructions_beside_their_lines() -> None:
    text = repr(scaled.code())
    assert "|         x = x * SCALE\n" in text
    assert "= binary * x " in text
    assert "x, " not in text
    assert "<listcomp>" in str(weft.compile(plain).code()) or sys.version_info >= (3, 12)
    assert "explain() says why" in str(weft.compile(len).code())


def test_a_compiled_function_calls_itself_without_pythons_stack() -> None:
    @weft.compile
    def depth(n):  # type: ignore[no-untyped-def]
        return 0 if n == 0 else 1 + depth(n - 1)

    assert depth(20_000) == 20_000
