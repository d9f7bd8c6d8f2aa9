"""Recording: what a run did, as plain data."""

from __future__ import annotations

import gc
import itertools
import math
import threading

import pytest

import weft
from weft import _core, nn
from weft.tracing import Recording, Trace, record


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.cell = nn.LSTMCell(4, 4)
        self.last = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        h = self.first(x)
        h = h * 2 if h.sum() > 0 else h - 1
        state = (weft.zeros(1, 4), weft.zeros(1, 4))
        for _ in range(3):
            state = self.cell(h, state)
        return self.last(state[0]).sum()


def names(trace: Trace) -> list[str]:
    return [node.name or node.op for node in trace.nodes]


def test_a_run_has_its_ops_in_order_with_shapes_and_edges() -> None:
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    with Recording() as run:
        (x * 2).sum()
    trace = run.trace()
    assert [node.op for node in trace.nodes] == ["parameter", "mul", "sum"]
    assert trace.nodes[1].inputs[0].node == 0
    assert trace.nodes[1].inputs[1].number == 2
    assert trace.nodes[2].inputs[0].node == 1
    assert trace.nodes[1].results[0].shape == (2,)
    assert trace.nodes[1].results[0].dtype == "float32"
    assert trace.nodes[1].results[0].bytes == 8
    assert trace.nodes[2].results[0].shape == ()


def test_values_and_gradients_have_statistics() -> None:
    x = weft.tensor([1.0, -2.0, math.inf], requires_grad=True)
    with Recording() as run:
        (x * 3).sum().backward()
    value = run.trace().nodes[1].results[0].value
    gradient = run.trace().nodes[0].results[0].gradient
    assert value is not None
    assert gradient is not None
    assert (value.count, value.infinities, value.minimum, value.maximum) == (3, 1, -6, 3)
    assert value.values == (3, -6, math.inf)
    assert sum(value.histogram) == 2
    assert gradient.values == (3, 3, 3)


def test_large_tensors_keep_a_histogram_but_no_values() -> None:
    with Recording() as run:
        weft.arange(1000.0) * 1
    value = run.trace().nodes[-1].results[0].value
    assert value is not None
    assert value.values is None
    assert sum(value.histogram) == 1000
    assert max(value.histogram) - min(value.histogram) <= 1
    assert value.mean == pytest.approx(499.5)
    assert value.deviation == pytest.approx(288.675, rel=1e-4)


def test_without_values_there_are_no_statistics() -> None:
    with Recording(values=False) as run:
        weft.ones(3) * 2
    assert all(result.value is None for node in run.trace().nodes for result in node.results)


def test_nodes_know_line_and_callers() -> None:
    def inner(x: weft.Tensor) -> weft.Tensor:
        return x.exp()

    with Recording() as run:
        inner(weft.ones(2))
    trace = run.trace()
    frame = trace.frames[trace.nodes[-1].frame]
    place = trace.places[frame.place]
    assert (place.function, place.file) == ("inner", __file__)
    assert trace.sources[__file__][place.line].strip() == "return x.exp()"
    caller = trace.places[trace.frames[frame.caller].place]
    assert caller.function == "test_nodes_know_line_and_callers"
    assert "inner(weft.ones(2))" in trace.sources[__file__][caller.line]


def test_modules_have_paths_and_parameters_names() -> None:
    trace = record(Model(), (weft.ones(1, 3),)).trace()
    assert {call.path for call in trace.modules} == {
        "Model", "first", "cell", "last", "last.0", "last.1",
    }  # fmt: skip
    assert {"first.weight", "cell.bias_hh", "last.0.bias", "x"} <= set(names(trace))
    linear = next(node for node in trace.nodes if node.op == "linear")
    assert trace.modules[linear.module].path == "first"
    assert trace.modules[linear.module].kind == "Linear"
    cells = [node for node in trace.nodes if node.kind == "cell"]
    assert [node.op for node in cells] == ["LSTMCell"] * 3
    assert cells[1].inputs[1].node == trace.nodes.index(cells[0])


def test_parts_of_cells_can_be_seen() -> None:
    with Recording(parts=True) as run:
        Model()(weft.ones(1, 3))
    ops = [node.op for node in run.trace().nodes]
    assert "LSTMCell" not in ops
    assert ops.count("lstm_gates") == 3


def test_decisions_are_noted_with_their_line() -> None:
    trace = record(Model(), (weft.ones(1, 3) * 100,)).trace()
    (read,) = trace.reads
    assert read.kind == "bool"
    assert read.value in {"True", "False"}
    assert trace.nodes[read.node].op == "gt"
    place = trace.places[trace.frames[read.frame].place]
    assert "if h.sum() > 0" in trace.sources[place.file][place.line]
    following = next(node for node in trace.nodes[read.after :] if node.kind == "op")
    assert following.op == ("mul" if read.value == "True" else "sub")


@pytest.mark.parametrize(
    ("ask", "kind", "text"),
    [
        (bool, "bool", "True"),
        (int, "int", "3"),
        (float, "float", "3"),
        (weft.Tensor.item, "item", "3"),
        (range, "int", "3"),
    ],
)
def test_every_way_to_read_is_noted(ask: object, kind: str, text: str) -> None:
    with Recording() as run:
        ask(weft.tensor(1) + 2)  # type: ignore[operator]
    (read,) = run.trace().reads
    assert (read.kind, read.value) == (kind, text)


def test_backward_steps_name_the_nodes_of_forward() -> None:
    model = Model()
    with Recording() as run:
        model(weft.ones(1, 3)).backward()
    trace = run.trace()
    (backward,) = trace.backwards
    assert backward.steps[0].name == "SumBackward0"
    assert [trace.nodes[i].op for i in backward.steps[0].nodes] == ["sum"]
    cells = [step for step in backward.steps if step.name == "LstmGatesBackward0"]
    assert [trace.nodes[i].op for step in cells for i in step.nodes] == ["LSTMCell"] * 3
    assert all(step.nodes for step in backward.steps)
    assert {node.name for node in trace.nodes if node.results[0].gradient} >= {"first.weight"}


def test_second_derivatives_are_recorded_as_backward() -> None:
    x = weft.tensor(2.0, requires_grad=True)
    with Recording() as run:
        (gradient,) = weft.autograd.grad((x**3).sum(), x, create_graph=True)
        gradient.backward()
    phases = {node.phase for node in run.trace().nodes if node.kind == "op"}
    assert phases == {"forward", "backward"}


def test_plans_tell_which_nodes_ran_together() -> None:
    model = Model()
    with Recording() as run:
        losses = weft.map(model, [weft.randn(1, 3) for _ in range(4)])
        weft.stack(losses).sum().backward()
    trace = run.trace()
    batches = [batch for plan in trace.plans for batch in plan.batches]
    linear = next(batch for batch in batches if batch.op == "linear")
    assert [trace.nodes[i].op for i in linear.nodes] == ["linear"] * 4
    assert [trace.nodes[i].example for i in linear.nodes] == [0, 1, 2, 3]
    assert linear.seconds > 0
    assert all(result.value for i in linear.nodes for result in trace.nodes[i].results)
    step = next(one for one in trace.backwards[0].steps if one.rows == 4)
    assert len(step.nodes) == 4
    assert all(trace.nodes[i].results[0].gradient for i in linear.nodes)


def test_what_nobody_needs_is_recorded_but_in_no_plan() -> None:
    with Recording() as run, weft.lazy():
        unused = weft.ones(2) * 3
        used = weft.ones(2) * 4
        used.sum().item()
        del unused
    trace = run.trace()
    ran = {i for plan in trace.plans for batch in plan.batches for i in batch.nodes}
    products = [i for i, node in enumerate(trace.nodes) if node.op == "mul"]
    assert [i in ran for i in products] == [False, True]


def test_observing_does_not_change_results() -> None:
    model = Model()
    inputs = [weft.randn(1, 3) for _ in range(5)]

    def step() -> list[weft.Tensor]:
        model.zero_grad()
        weft.stack(weft.map(model, inputs)).sum().backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    plain = step()
    with Recording():
        watched = step()
    with Recording(parts=True, at_once=True):
        at_once = step()
    for a, b, c in zip(plain, watched, at_once, strict=True):
        assert weft.allclose(a, b, atol=1e-6)
        assert weft.allclose(a, c, atol=1e-6)


def test_a_failure_keeps_what_was_recorded_before() -> None:
    def fails(x: weft.Tensor) -> weft.Tensor:
        y = x * 2
        return y @ weft.ones(7)

    run = record(fails, (weft.ones(3),))
    trace = run.trace()
    assert run.value is None
    assert isinstance(run.failure, weft.ShapeError)
    assert "mul" in [node.op for node in trace.nodes]
    assert trace.failure is not None
    assert trace.failure.kind == "ShapeError"
    place = trace.places[trace.frames[trace.failure.frame].place]
    assert "y @ weft.ones(7)" in trace.sources[place.file][place.line]


def test_functions_written_by_users_are_nodes() -> None:
    class Double(weft.autograd.Function):
        @staticmethod
        def forward(_: object, x: weft.Tensor) -> weft.Tensor:
            return x * 2

        @staticmethod
        def backward(_: object, g: weft.Tensor) -> weft.Tensor:
            return g * 2

    x = weft.ones(2, requires_grad=True)
    with Recording() as run:
        Double.apply(x).sum().backward()
    trace = run.trace()
    ops = [node.op for node in trace.nodes]
    custom = ops.index("Double")
    assert ops.index("mul") in [read.node for read in trace.nodes[custom].inputs]
    assert trace.nodes[ops.index("sum")].inputs[0].node == custom


def test_in_place_ops_make_new_results() -> None:
    x = weft.zeros(3)
    with Recording() as run:
        x.add_(1)
        x[1] = 5
        x * 2
    trace = run.trace()
    assert "add_" in [node.op for node in trace.nodes]
    product = trace.nodes[-1].results[0].value
    assert product is not None
    assert product.values == (2, 10, 2)


def test_recordings_nest_and_the_inner_one_sees_the_inner_part() -> None:
    x = weft.ones(2)
    with Recording() as outer:
        y = x + 1
        with Recording() as inner:
            z = y * 2
        z - 3
        y - 4
    assert [node.op for node in inner.trace().nodes] == ["constant", "mul"]
    trace = outer.trace()
    assert [node.op for node in trace.nodes] == ["constant", "add", "constant", "sub", "sub"]
    assert trace.nodes[4].inputs[0].node == 1


def test_starting_twice_is_refused() -> None:
    run = Recording()
    with run, pytest.raises(ValueError, match="observing already"):
        run.__enter__()
    with pytest.raises(ValueError, match="not observing"):
        run.__exit__(None, None, None)


def test_on_node_sees_tensors_and_may_raise() -> None:
    seen: list[tuple[float, ...]] = []

    def look(run: Recording) -> None:
        (output,) = run.outputs
        assert output is not None
        seen.append(tuple(output.tolist()))
        if len(seen) == 2:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"), Recording(on_node=look):
        weft.tensor([1.0, 2.0]).mul(2).add(1).mul(5)
    assert seen == [(2, 4), (3, 5)]
    assert weft.ones(1).add(1).item() == 2


def test_events_tell_of_plans_rules_and_backwards() -> None:
    events: list[str] = []
    x = weft.ones(2, requires_grad=True)
    run = Recording(on_event=lambda _, kind: events.append(kind), rules=True)
    with run, weft.lazy():
        (x * 2).sum().backward()
    assert [kind for kind, _ in itertools.groupby(events)] == ["plan", "rule", "backward"]


def test_clear_begins_anew() -> None:
    x = weft.ones(2)
    with Recording() as run:
        y = x * 2
        run.clear()
        y + 1
    assert [node.op for node in run.trace().nodes] == ["constant", "add"]


def test_at_once_runs_ops_of_lazy_scopes_where_they_are_recorded() -> None:
    with Recording(at_once=True) as run, weft.lazy():
        weft.ones(2) * 3
    value = run.trace().nodes[-1].results[0].value
    assert value is not None
    assert value.values == (3, 3)
    assert not run.trace().plans


def test_parameters_keep_their_names_when_another_recording_follows() -> None:
    model = nn.Linear(2, 2)
    runs: list[Recording] = []
    for _ in range(2):
        with Recording() as run:
            model(weft.ones(2)).sum().backward()
        runs.append(run)
    assert [names(run.trace())[1:3] for run in runs] == [["weight", "bias"]] * 2
    with Recording() as outer, Recording() as inner:
        model(weft.ones(2))
    assert names(inner.trace())[1:3] == ["weight", "bias"]
    assert len(outer) == 0


def test_a_recorder_that_is_let_go_while_it_observes_stays() -> None:
    recorder = _core.Recorder(True)
    recorder.start()
    again = recorder
    del recorder
    gc.collect()
    weft.ones(2) * 2
    assert len(again) == 2
    again.stop()


def test_stopping_elsewhere_is_refused() -> None:
    run = _core.Recorder(True)
    run.start()
    errors: list[str] = []

    def stop() -> None:
        try:
            run.stop()
        except ValueError as error:
            errors.append(str(error))

    thread = threading.Thread(target=stop)
    thread.start()
    thread.join()
    inner = _core.Recorder(False)
    inner.start()
    with pytest.raises(ValueError, match="not observing here"):
        run.stop()
    inner.stop()
    run.stop()
    assert errors == ["the recorder is not observing here"]


def test_stopping_inside_an_example_is_refused() -> None:
    run = _core.Recorder(False)
    run.start()

    def example(x: weft.Tensor) -> weft.Tensor:
        y = x * 2
        if y.item() == 2:
            with pytest.raises(ValueError, match="not observing here"):
                run.stop()
        return y + 1

    results = weft.map(example, [weft.tensor(float(i)) for i in range(4)])
    run.stop()
    assert [result.item() for result in results] == [1, 3, 5, 7]


def test_clear_inside_a_module_forgets_its_call() -> None:
    class Inner(nn.Module):
        def forward(self, x: weft.Tensor) -> weft.Tensor:
            run.clear()
            return x * 2

    with Recording() as run:
        nn.Sequential(Inner(), nn.Tanh())(weft.ones(2))
    trace = run.trace()
    assert [call.kind for call in trace.modules] == ["Tanh"]
    assert [node.module for node in trace.nodes if node.kind == "op"] == [-1, 0]


def test_calls_around_a_recorded_function_are_not_part_of_the_run() -> None:
    model = Model()
    one = record(model, (weft.ones(1, 3),)).trace()
    other = record(model, (weft.ones(1, 3),)).trace()
    assert [node.frame for node in one.nodes] == [node.frame for node in other.nodes]
    assert one.modules[0].frame == -1
    functions = {one.places[frame.place].function for frame in one.frames if frame.caller < 0}
    assert "forward" in functions


def test_arguments_are_inputs_with_gradients_too() -> None:
    def scaled(x: weft.Tensor, weight: weft.Tensor) -> weft.Tensor:
        return x * weight

    weight = weft.nn.Parameter(weft.ones(2))
    run = record(scaled, (weft.ones(2, requires_grad=True), weight))
    assert [(n.kind, n.name) for n in run.trace().nodes[:2]] == [
        ("input", "x"), ("parameter", "weight"),
    ]  # fmt: skip


around = weft.tensor(3.0)


def _adds(x: weft.Tensor) -> weft.Tensor:
    return x + around


def test_tensors_around_a_function_have_its_names_for_them() -> None:
    slope = weft.ones(2, requires_grad=True)

    def line(x: weft.Tensor) -> weft.Tensor:
        return next(_adds(x * slope) for _ in range(1))

    trace = record(line, (weft.ones(2),)).trace()
    leaves = {node.name: node.kind for node in trace.nodes if node.name}
    assert leaves == {"x": "input", "slope": "parameter", "around": "constant"}
    mapped = record(weft.map, (line, [weft.ones(2)])).trace()
    assert {node.name for node in mapped.nodes if node.name} == {"examples[0]", "slope", "around"}


def test_a_base_that_was_written_through_a_view_reads_itself_and_the_part() -> None:
    w = weft.ones(3, requires_grad=True)
    with Recording() as run:
        y = w * 1
        y[0] = 5
        y.sum()
    ops = [node.op for node in run.trace().nodes]
    trace = run.trace()
    written = trace.nodes[ops.index("CopySlices")]
    assert [ops[read.node] for read in written.inputs] == ["mul", "copy_"]
    assert trace.nodes[-1].inputs[0].node == ops.index("CopySlices")
