"""Traces as JSON and back; whatever else is in a file gives one sentence."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tracing import programs
from tests.tracing.building import run
from weft.tracing import (
    Backward,
    BackwardStep,
    Batch,
    Failure,
    Frame,
    Input,
    ModuleCall,
    Node,
    Place,
    Plan,
    Read,
    Result,
    Statistics,
    Trace,
    TraceFormatError,
    from_data,
    from_json,
    json_format,
    to_data,
    to_json,
)

numbers = st.floats(allow_nan=False)
texts = st.text(max_size=6)
counts = st.integers(0, 1 << 40)


def below(count: int, low: int = -1) -> st.SearchStrategy[int]:
    return st.integers(low, max(low, count - 1))


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    places = draw(st.lists(st.builds(Place, texts, counts, texts, counts), min_size=1, max_size=4))
    frames = [
        Frame(draw(below(len(places), 0)), draw(st.integers(-1, number - 1)))
        for number in range(draw(st.integers(0, 4)))
    ]
    frame = below(len(frames))
    modules = [
        ModuleCall(draw(texts), draw(texts), draw(st.integers(-1, number - 1)), draw(frame))
        for number in range(draw(st.integers(0, 3)))
    ]
    statistics = st.none() | st.builds(
        Statistics,
        counts,
        st.none() | numbers,
        st.none() | numbers,
        st.none() | numbers,
        nans=counts,
        histogram=st.lists(counts, max_size=3).map(tuple),
        values=st.none() | st.lists(numbers, max_size=3).map(tuple),
    )
    result = st.builds(
        Result, st.lists(counts, max_size=3).map(tuple), texts, counts, statistics, statistics
    )
    nodes = [
        Node(
            draw(texts),
            draw(st.sampled_from(["op", "cell", "parameter", "input", "constant", "decision"])),
            tuple(
                Input(draw(st.integers(-1, number - 1)), 0, draw(st.none() | numbers), draw(texts))
                for _ in range(draw(st.integers(0, 2)))
            ),
            tuple(draw(st.lists(result, min_size=1, max_size=2))),
            draw(st.dictionaries(texts, texts, max_size=2)),
            draw(frame),
            draw(below(len(modules))),
            draw(numbers),
            phase=draw(st.sampled_from(["forward", "backward"])),
        )
        for number in range(draw(st.integers(0, 5)))
    ]
    node = below(len(nodes))
    some = st.lists(st.integers(0, len(nodes) - 1), max_size=3).map(tuple) if nodes else st.just(())
    place = below(len(places))
    batch = st.builds(Batch, texts, some, counts, numbers, numbers, place, texts)
    step = st.builds(BackwardStep, texts, some, numbers, incoming=st.just((None, Statistics(3))))
    return Trace(
        draw(texts),
        tuple(places),
        tuple(frames),
        tuple(modules),
        tuple(nodes),
        tuple(Input(draw(node)) for _ in range(2)),
        tuple(
            Read(
                draw(st.sampled_from(["bool", "item"])),
                draw(texts),
                draw(node),
                after=draw(st.integers(0, len(nodes))),
            )
            for _ in range(draw(st.integers(0, 2)))
        ),
        tuple(
            draw(
                st.lists(
                    st.builds(Plan, st.lists(batch, max_size=2).map(tuple), place=place), max_size=1
                )
            )
        ),
        tuple(
            draw(st.lists(st.builds(Backward, st.lists(step, max_size=2).map(tuple)), max_size=1))
        ),
        draw(st.none() | st.builds(Failure, texts, texts, frame)),
        draw(
            st.dictionaries(
                texts, st.dictionaries(st.integers(0, 999), texts, max_size=2), max_size=2
            )
        ),
        draw(numbers),
    )


@given(traces())
def test_round_trip(trace: Trace) -> None:
    assert from_json(to_json(trace)) == trace
    assert from_json(to_json(trace).encode()) == trace


@given(traces(), st.data())
def test_a_cut_text_is_refused(trace: Trace, data: st.DataObject) -> None:
    text = to_json(trace)
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(TraceFormatError) as caught:
        from_json(text[:cut])
    assert "\n" not in str(caught.value)


def spots(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to all values inside plain data."""
    inside = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    return [path] + [way for key, value in inside for way in spots(value, (*path, key))]


WRONG = (None, True, "text", "", [], {}, -2, 10**30, 0.5, 1 << 62, [[]], {"a": 1}, "nan")


@given(traces(), st.data())
def test_a_changed_value_is_refused_or_means_the_same(trace: Trace, data: st.DataObject) -> None:
    plain = to_data(trace)
    way = data.draw(st.sampled_from(spots(plain)[1:] or [("title",)]))
    at: Any = plain
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = data.draw(st.sampled_from(WRONG))
    try:
        read = from_json(json.dumps(plain))
    except TraceFormatError as error:
        message = str(error)
    else:
        message = "trace: good"
        # It was another good value: then it is all there.
        assert from_json(to_json(read)) == read
    assert message.startswith("trace: ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "trace: not JSON: Expecting value at line 1, column 1"),
        ("[]", "trace: must be an object, and is a list"),
        ("null", "trace: must be an object, and is missing"),
        ("{}", 'trace: the field "format" must be "weft-trace"'),
        ('{"format": "weft-page"}', 'trace: the field "format" must be "weft-trace"'),
        ('{"format": "weft-trace"}', "trace: version missing cannot be read; this is version 1"),
        (
            '{"format": "weft-trace", "version": 2}',
            "trace: version 2 cannot be read; this is version 1",
        ),
        ("[" * 100_000, "trace: not a trace: brackets are nested too deep"),
        ("\ufeff{}", None),
        ("9" * 5000, None),
    ],
)
def test_no_trace(text: str, message: str | None) -> None:
    with pytest.raises(TraceFormatError) as caught:
        from_json(text)
    assert message is None or str(caught.value) == message


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(TraceFormatError, match="not UTF-8"):
        from_json(b"\x80\xff")


FIELDS = [
    ({"nodes": [{"op": 3}]}, "nodes[0].op must be a text, and is 3"),
    ({"nodes": [{}]}, 'nodes[0] lacks "op"'),
    ({"nodes": {}}, "nodes must be a list, and is an object"),
    ({"nodes": [{"op": "a", "surprise": 1}]}, 'nodes[0] has the unknown field "surprise"'),
    ({"nodes": [{"op": "a", "kind": "tree"}]}, "nodes[0].kind must be one of op, cell"),
    ({"nodes": [{"op": "a", "inputs": [{"node": 0}]}]}, "nodes[0].inputs[0].node must be from -1"),
    ({"nodes": [{"op": "a", "frame": 0}]}, "nodes[0].frame must be from -1 to -1, and is 0"),
    ({"nodes": [{"op": "a", "results": [{"shape": [-1], "dtype": "b"}]}]}, "size below zero"),
    (
        {"nodes": [{"op": "a"}, {"op": "a", "inputs": [{"node": 0}]}]},
        "nodes[1].inputs[0].output is 0, and there is nothing that it can mean",
    ),
    ({"frames": [{"place": 0}]}, "frames[0].place"),
    (
        {
            "places": [{"file": "a", "line": 1, "function": "f"}],
            "frames": [{"place": 0, "caller": 0}],
        },
        "frames[0].caller must be from -1 to -1, and is 0",
    ),
    ({"modules": [{"path": "a", "kind": "b", "parent": 5}]}, "modules[0].parent"),
    ({"reads": [{"kind": "bool", "value": "True", "after": 1}]}, "reads[0].after"),
    ({"reads": [{"kind": "guess", "value": "True"}]}, "reads[0].kind must be one of"),
    ({"outputs": [{"node": 0}]}, "outputs[0].node"),
    ({"plans": [{"batches": [{"op": "a", "nodes": [0]}]}]}, "plans[0].batches[0].nodes"),
    ({"backwards": [{"steps": [{"name": "a", "nodes": [7]}]}]}, "backwards[0].steps[0].nodes"),
    ({"failure": {"kind": "E", "message": "", "after": 9}}, "failure.after"),
    ({"sources": {"a": {"x": "text"}}}, 'sources["a"]["x"] must be the number of a line'),
    ({"sources": {"a": {"1": 2}}}, 'sources["a"]["1"] must be a text, and is 2'),
    ({"seconds": "long"}, 'seconds must be a number, and is "long"'),
    ({"seconds": True}, "seconds must be a number, and is true"),
    ({"title": "x" * 9, "seconds": []}, "seconds must be a number, and is a list"),
    ({"version_of": 1}, 'has the unknown field "version_of"'),
]


@pytest.mark.parametrize(("fields", "message"), FIELDS, ids=[message for _, message in FIELDS])
def test_wrong_fields(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TraceFormatError) as caught:
        from_data({"format": "weft-trace", "version": 1} | fields)
    assert message in str(caught.value)
    assert str(caught.value).startswith("trace: ")


def test_huge_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_format, "MAX_CHARACTERS", 100)
    with pytest.raises(TraceFormatError, match="101 characters are more than 100"):
        from_json(" " * 101)


def test_numbers_that_json_does_not_have() -> None:
    values = (math.nan, math.inf, -math.inf, 1.0)
    trace = Trace(
        nodes=(Node("a", results=(Result((4,), "float32", value=Statistics(4, values=values)),)),)
    )
    text = to_json(trace)
    assert '["nan","inf","-inf",1.0]' in text
    back = from_json(text).nodes[0].results[0].value
    assert back is not None
    assert back.values is not None
    assert math.isnan(back.values[0])
    assert back.values[1:] == values[1:]
    for text in ("NaN", "Infinity", "-Infinity", "1e999"):
        with pytest.raises(TraceFormatError):
            from_json('{"format":"weft-trace","version":1,"seconds":' + text + "}")


def test_defaults_are_left_out() -> None:
    assert to_data(Trace(nodes=(Node("add"),))) == {
        "format": "weft-trace",
        "version": 1,
        "nodes": [{"op": "add"}],
    }


@pytest.mark.parametrize("program", [programs.branch, programs.module_while, programs.failing])
def test_real_runs(program: Any) -> None:
    trace = run(program, [1.0, 0.6])
    assert from_json(to_json(trace)) == trace


def test_every_dataclass_is_covered() -> None:
    # A new field must be readable: all fields of all classes have decoders.
    for kind in (Trace, Node, Read, Plan, Batch, Backward, BackwardStep, Statistics, Result):
        names = {field.name for field in dataclasses.fields(kind)}
        assert set(json_format._hints(kind)) | {"version"} >= names
