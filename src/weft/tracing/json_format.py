"""Traces as JSON: the rules of docs/trace-format.md, derived from the dataclasses.

A reader of a file from somewhere else trusts nothing: every field has its type, every reference
leads somewhere, and what refers to things of its own kind refers backward, so there are no cycles.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, Literal, NoReturn, TypeVar, cast

from weft.tracing import model
from weft.tracing.model import VERSION, Trace

FORMAT = "weft-trace"
MAX_CHARACTERS = 1 << 29
_LARGEST = 1 << 63
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

T = TypeVar("T")
Convert = Callable[[Any], Any]


class TraceFormatError(ValueError):
    """A text that is no trace. The message is one sentence that says where and why.

    Example:
        >>> from weft import tracing
        >>> issubclass(tracing.TraceFormatError, ValueError)
        True
    """


class _Problem(Exception):  # noqa: N818 - becomes a TraceFormatError with its path
    """Something wrong, and the way to it from the inside out."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
        self.path: list[str] = []


def to_data(trace: Trace) -> dict[str, Any]:
    """Return a trace as plain lists and dictionaries, as JSON has them.

    Args:
        trace: Any trace.

    Example:
        >>> from weft.tracing import Trace
        >>> to_data(Trace(title="run"))
        {'format': 'weft-trace', 'version': 1, 'title': 'run'}
    """
    return {"format": FORMAT, "version": VERSION} | cast("dict[str, Any]", _ENCODE_TRACE(trace))


def to_json(trace: Trace) -> str:
    """Write a trace as JSON.

    Args:
        trace: Any trace.

    Returns:
        One line of ASCII; `from_json` reads it back.

    Example:
        >>> from weft.tracing import Trace
        >>> from_json(to_json(Trace(title="run"))) == Trace(title="run")
        True
    """
    return json.dumps(to_data(trace), separators=(",", ":"), allow_nan=False)


def from_json(text: str | bytes) -> Trace:
    """Read a trace from JSON.

    Args:
        text: What `to_json` wrote; UTF-8 if it is bytes.

    Raises:
        TraceFormatError: The text is not a whole and consistent trace of this version.

    Example:
        >>> try:
        ...     from_json('{"format": "weft-trace", "version": 9}')
        ... except TraceFormatError as error:
        ...     print(error)
        trace: version 9 cannot be read; this is version 1
    """
    if len(text) > MAX_CHARACTERS:
        raise TraceFormatError(f"trace: {len(text):,} characters are more than {MAX_CHARACTERS:,}")
    return from_data(_parsed(text))


def from_data(data: object) -> Trace:
    """Read a trace from plain lists and dictionaries.

    Args:
        data: What `to_data` gave.

    Raises:
        TraceFormatError: The data is not a whole and consistent trace of this version.

    Example:
        >>> from weft import tracing
        >>> tracing.from_data(tracing.to_data(tracing.Trace(title="run"))).title
        'run'
    """
    if not isinstance(data, dict):
        raise TraceFormatError(f"trace: must be an object, and is {_said(data)}")
    fields = dict(cast("dict[str, Any]", data))
    if fields.pop("format", None) != FORMAT:
        raise TraceFormatError(f'trace: the field "format" must be "{FORMAT}"')
    version = fields.pop("version", None)
    if type(version) is not int or version != VERSION:
        raise TraceFormatError(
            f"trace: version {_said(version)} cannot be read; this is version {VERSION}"
        )
    try:
        trace = cast("Trace", _DECODE_TRACE(fields))
        _check_references(trace)
    except _Problem as problem:
        where = "".join(reversed(problem.path)).lstrip(".")
        raise TraceFormatError(f"trace: {where} {problem.text}".replace("  ", " ")) from None
    return trace


def _parsed(text: str | bytes) -> object:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise TraceFormatError("trace: the bytes are not UTF-8") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise TraceFormatError(f"trace: not JSON: {error.msg} at {place}") from None
    except RecursionError:
        raise TraceFormatError("trace: not a trace: brackets are nested too deep") from None
    except ValueError as error:
        raise TraceFormatError(f"trace: not JSON: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f'{name} must be written as a text: "nan", "inf" or "-inf"')


def _said(value: object) -> str:
    """Say what something is, shortly."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "missing"
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:36]}..."


# ---- one value at a time: to JSON and back -------------------------------------------------------


def _whole(value: Any) -> int:
    if type(value) is not int or not -_LARGEST <= value < _LARGEST:
        raise _Problem(f"must be a whole number, and is {_said(value)}")
    return value


def _number(value: Any) -> float:
    if type(value) is float and -math.inf < value < math.inf:
        return value
    if type(value) is int:
        return float(_whole(value))
    if type(value) is str and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    raise _Problem(f"must be a number, and is {_said(value)}")


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise _Problem(f"must be true or false, and is {_said(value)}")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise _Problem(f"must be a text, and is {_said(value)}")
    return value


def _number_to_json(value: float) -> float | str:
    if value - value == 0:
        return value
    return "nan" if value != value else ("inf" if value > 0 else "-inf")  # noqa: PLR0124


def _numbers_to_json(values: tuple[float, ...]) -> list[float | str]:
    total = sum(values)
    if total - total == 0:
        return list(values)
    return [_number_to_json(value) for value in values]


def _choice(words: tuple[str, ...]) -> Convert:
    allowed = frozenset(words)

    def decode(value: Any) -> str:
        if type(value) is not str or value not in allowed:
            raise _Problem(f"must be one of {', '.join(words)}, and is {_said(value)}")
        return value

    return decode


def _all_good(values: list[Any], decode: Convert) -> bool:
    """Tell quickly whether a list needs no closer look: all are plain numbers of one type."""
    kinds = set(map(type, values))
    if decode is _number and kinds == {float}:
        total = sum(values)
        return total - total == 0
    return decode is _whole and kinds == {int} and max(values) < _LARGEST > -min(values)


def _list_of(decode: Convert) -> Convert:
    def decode_list(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise _Problem(f"must be a list, and is {_said(value)}")
        items = cast("list[Any]", value)
        if _all_good(items, decode):
            return tuple(items)
        result: list[Any] = []
        try:
            for item in items:
                result.append(decode(item))  # noqa: PERF401 - the error needs to know how far it came
        except _Problem as problem:
            problem.path.append(f"[{len(result)}]")
            raise
        return tuple(result)

    return decode_list


def _dictionary_of(key: Convert, item: Convert) -> Convert:
    def decode(value: Any) -> dict[Any, Any]:
        if type(value) is not dict:
            raise _Problem(f"must be an object, and is {_said(value)}")
        result: dict[Any, Any] = {}
        for name, content in cast("dict[str, Any]", value).items():
            try:
                result[key(name)] = item(content)
            except _Problem as problem:
                problem.path.append(f"[{_said(name)}]")
                raise
        return result

    return decode


def _line_number(name: str) -> int:
    if not (name.isascii() and name.isdigit() and len(name) <= 9):
        raise _Problem("must be the number of a line")
    return int(name)


def _object_of(kind: type[Any]) -> Convert:
    """Return the decoder of one dataclass."""
    decoders = {name: _decoder(hint) for name, hint in _hints(kind).items()}
    required = [name for name, default in _defaults(kind).items() if default is _NOTHING]

    def decode(value: Any) -> Any:
        if type(value) is not dict:
            raise _Problem(f"must be an object, and is {_said(value)}")
        given = cast("dict[str, Any]", value)
        name = ""
        try:
            fields = {name: decoders[name](content) for name, content in given.items()}
        except (_Problem, KeyError):
            for name, content in given.items():
                _decode_field(decoders, name, content)
            raise
        for name in required:
            if name not in fields:
                raise _Problem(f'lacks "{name}"')
        return kind(**fields)

    return decode


def _decode_field(decoders: dict[str, Convert], name: str, content: Any) -> None:
    """Decode one field once more, to say which one is wrong."""
    if name not in decoders:
        raise _Problem(f"has the unknown field {_said(name)}")
    try:
        decoders[name](content)
    except _Problem as problem:
        problem.path.append(f".{name}")
        raise


_NOTHING = object()


def _hints(kind: type[Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, dict(vars(model)))
    return {name: hint for name, hint in hints.items() if (kind, name) != (Trace, "version")}


def _defaults(kind: type[Any]) -> dict[str, Any]:
    """Return each field's default, or `_NOTHING`."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        if field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
        else:
            missing = field.default is dataclasses.MISSING
            found[field.name] = _NOTHING if missing else field.default
    return found


def _decoder(hint: Any) -> Convert:
    """Return what reads a value of a type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is Literal:
        return _choice(arguments)
    if origin is types.UnionType:
        inner = _decoder(arguments[0])
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        return _list_of(_decoder(arguments[0]))
    if origin is dict:
        key = _line_number if arguments[0] is int else _text
        return _dictionary_of(key, _decoder(arguments[1]))
    return _object_of(hint)


_PLAIN: dict[Any, Convert] = {bool: _truth, int: _whole, float: _number, str: _text}


def _encoder(hint: Any) -> Convert | None:
    """Return what writes a value of a type, None where it is written as it is."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is float:
        return _number_to_json
    if hint in _PLAIN or origin is Literal:
        return None
    if origin is dict and arguments[0] is int:
        return lambda value: {str(key): text for key, text in value.items()}
    inner = _encoder(arguments[-1] if origin is dict else arguments[0]) if arguments else None
    if origin is types.UnionType:
        return inner and (lambda value: None if value is None else inner(value))
    if origin is tuple:
        if inner is _number_to_json:
            return _numbers_to_json
        return list if inner is None else lambda value: [inner(item) for item in value]
    if origin is dict:
        return inner and (lambda value: {key: inner(item) for key, item in value.items()})
    return _object_encoder(hint)


def _object_encoder(kind: type[Any]) -> Convert:
    defaults = _defaults(kind)
    rows = [(name, defaults[name], _encoder(hint)) for name, hint in _hints(kind).items()]

    def encode(value: Any) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, default, convert in rows:
            content = getattr(value, name)
            if content is default or content == default:
                continue
            result[name] = content if convert is None else convert(content)
        return result

    return encode


_DECODE_TRACE = _object_of(Trace)
_ENCODE_TRACE = _object_encoder(Trace)


# ---- references ----------------------------------------------------------------------------------


def _check_references(trace: Trace) -> None:
    """Check that every reference leads somewhere, and backward within its own kind."""
    places, frames, modules = len(trace.places), len(trace.frames), len(trace.modules)
    outputs = [len(node.results) for node in trace.nodes]
    for number, frame in enumerate(trace.frames):
        _check(f"frames[{number}].place", frame.place, 0, places)
        _check(f"frames[{number}].caller", frame.caller, -1, number)
    for number, module in enumerate(trace.modules):
        _check(f"modules[{number}].parent", module.parent, -1, number)
        _check(f"modules[{number}].frame", module.frame, -1, frames)
    for number, node in enumerate(trace.nodes):
        if not (-1 <= node.frame < frames and -1 <= node.module < modules):
            _check(f"nodes[{number}].frame", node.frame, -1, frames)
            _check(f"nodes[{number}].module", node.module, -1, modules)
        for position, one in enumerate(node.inputs):
            if not (-1 <= one.node < number and one.output >= 0):
                _check(f"nodes[{number}].inputs[{position}].node", one.node, -1, number)
            if one.node >= 0 and not 0 <= one.output < outputs[one.node]:
                name = f"nodes[{number}].inputs[{position}].output"
                _check(name, one.output, 0, outputs[one.node])
        for result in node.results:
            if result.shape and min(result.shape) < 0:
                _fail(f"nodes[{number}].results", "has a size below zero")
    for name, value, low, high in _other_references(trace, outputs):
        _check(name, value, low, high)


def _other_references(trace: Trace, outputs: list[int]) -> Iterator[tuple[str, int, int, int]]:
    """Yield name, value, lowest allowed, first not allowed."""
    places, frames, nodes = len(trace.places), len(trace.frames), len(trace.nodes)
    for number, one in enumerate(trace.outputs):
        yield f"outputs[{number}].node", one.node, -1, nodes
        if one.node >= 0:
            yield f"outputs[{number}].output", one.output, 0, outputs[one.node]
    for number, read in enumerate(trace.reads):
        name = f"reads[{number}]"
        yield f"{name}.node", read.node, -1, nodes
        if read.node >= 0:
            yield f"{name}.output", read.output, 0, outputs[read.node]
        yield f"{name}.frame", read.frame, -1, frames
        yield f"{name}.module", read.module, -1, len(trace.modules)
        yield f"{name}.after", read.after, 0, nodes + 1
    for number, plan in enumerate(trace.plans):
        yield f"plans[{number}].place", plan.place, -1, places
        for position, batch in enumerate(plan.batches):
            name = f"plans[{number}].batches[{position}]"
            yield f"{name}.place", batch.place, -1, places
            yield from ((f"{name}.nodes", node, 0, nodes) for node in batch.nodes)
    for number, backward in enumerate(trace.backwards):
        yield f"backwards[{number}].place", backward.place, -1, places
        for position, step in enumerate(backward.steps):
            name = f"backwards[{number}].steps[{position}].nodes"
            yield from ((name, node, 0, nodes) for node in step.nodes)
    if trace.failure is not None:
        yield "failure.frame", trace.failure.frame, -1, frames
        yield "failure.after", trace.failure.after, 0, nodes + 1


def _check(name: str, value: int, low: int, high: int) -> None:
    if not low <= value < high:
        if high <= low:
            _fail(name, f"is {value}, and there is nothing that it can mean")
        _fail(name, f"must be from {low} to {high - 1}, and is {value}")


def _fail(name: str, text: str) -> NoReturn:
    problem = _Problem(text)
    problem.path.append(name)
    raise problem
