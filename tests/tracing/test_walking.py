"""of_tensors: the graph behind tensors that are there already."""

from __future__ import annotations

import weft
import weft.debug
from weft.tracing import of_tensors


def decide(x: weft.Tensor, w: weft.Tensor) -> weft.Tensor:
    y = w * x if x.sum() > 0 else w - x
    if y.max() > 3:
        y = y.tanh()
    return y.sum()


def test_ops_edges_names_and_values() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    trace = of_tensors([loss], {"w": w})
    assert [(node.op, node.name) for node in trace.nodes] == [
        ("parameter", "w"), ("mul", ""), ("sum", ""),
    ]  # fmt: skip
    assert [read.node for read in trace.nodes[1].inputs] == [0, 0]
    leaf = trace.nodes[0].results[0]
    assert leaf.value is not None
    assert leaf.gradient is not None
    assert leaf.value.values == (1, 2)
    assert leaf.gradient.values == (2, 4)
    assert trace.outputs[0].node == 2


def test_the_decisions_on_the_way_are_there() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    for x, answers in (([1.0, 3.0], ["True", "True"]), ([-1.0, -3.0], ["False", "True"])):
        trace = of_tensors([decide(weft.tensor(x), w)])
        assert [read.value for read in trace.reads] == answers
        lines = [trace.places[trace.frames[read.frame].place].line for read in trace.reads]
        first = decide.__code__.co_firstlineno
        assert lines == [first + 1, first + 2]


def test_decisions_of_an_earlier_run_do_not_belong_to_it() -> None:
    w = weft.tensor([1.0, 2.0], requires_grad=True)
    decide(weft.tensor([1.0, 3.0]), w)
    assert of_tensors([(w * 2).sum()]).reads == ()


def test_a_tensor_without_a_graph_is_a_constant() -> None:
    trace = of_tensors([weft.ones(2)])
    assert [node.kind for node in trace.nodes] == ["constant"]


def test_kept_values_are_shown() -> None:
    x = weft.tensor(3.0, requires_grad=True)
    with weft.debug.keep_values():
        y = (x * 2).exp()
    y.backward()
    product = of_tensors([y]).nodes[1].results[0]
    assert product.value is not None
    assert product.gradient is not None
    assert product.value.values == (6,)


def test_a_row_of_a_batch_shows_its_own_graph() -> None:
    w = weft.tensor(2.0, requires_grad=True)
    results = weft.map(lambda x: (w * x).exp(), [weft.tensor(float(i)) for i in range(4)])
    trace = of_tensors([results[2]])
    assert [node.op for node in trace.nodes] == ["parameter", "mul", "exp"]
    value = trace.nodes[2].results[0].value
    assert value is not None
    assert value.count == 1
