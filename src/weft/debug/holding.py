"""`why_alive`: which variables, containers and closures keep a tensor and its graph."""

from __future__ import annotations

import dis
import gc
import inspect
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CellType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Literal, cast

from weft._core import Node, Tensor
from weft._reports import Report
from weft.autograd.graph import get_gradient_edge
from weft.debug.wording import bytes_text, count_text, place_at, place_text
from weft.tracing import Place

if TYPE_CHECKING:
    from types import CodeType

HolderKind = Literal["variable", "global", "attribute", "item", "closure", "object"]

_OWN_FOLDER = os.path.dirname(os.path.dirname(__file__)) + os.sep  # noqa: PTH120
_MOST_STEPS = 6  # from a tensor to a variable
_MOST_LOOKS = 2_000  # at objects, on the way
_KEY = re.compile(r"^\['(\w+)'\]")
_ATTRIBUTE = re.compile(r"^\.(\w+)")
_ADDERS = frozenset({"append", "add", "extend", "insert", "setdefault", "update", "appendleft"})


@dataclass(frozen=True)
class Holder:
    """Who keeps a tensor: `name` as one would write it ("losses[3]"), and where that is.

    Example:
        >>> import weft, weft.debug
        >>> x = weft.ones(2, requires_grad=True)
        >>> loss = x.sum()
        >>> any("loss" in holder.name for holder in weft.debug.why_alive(loss).holders)
        True
    """

    name: str
    kind: HolderKind
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.name}, {place_text(self.place)}" if self.place else self.name


@dataclass(frozen=True, repr=False)
class Alive(Report):
    """What `why_alive` found; false if nobody that Python knows of holds the graph.

    Attributes:
        holders: Those who hold the tensor, or another tensor whose graph it is part of.
        nodes: How many nodes its graph has.
        bytes: What the graph keeps for backward; each piece of memory counts once.
        place: The line that made it.

    Example:
        >>> import weft, weft.debug
        >>> x = weft.ones(2, requires_grad=True)
        >>> loss = x.exp().sum()
        >>> weft.debug.why_alive(loss).nodes
        3
    """

    holders: tuple[Holder, ...]
    nodes: int
    bytes: int
    place: Place | None

    def __bool__(self) -> bool:
        return bool(self.holders)

    def __str__(self) -> str:
        lines: list[str] = []
        if self.nodes:
            size = f"{count_text(self.nodes, 'node')} and {bytes_text(self.bytes)} for backward"
            lines.append(f"Its graph has {size}; it ends at {place_text(self.place)}.")
        else:
            lines.append("It has no graph.")
        lines.extend(f"  held by {holder}" for holder in self.holders)
        if not self.holders:
            lines.append("  held by nothing that Python knows of")
        return "\n".join(lines)


def why_alive(what: Tensor | Node) -> Alive:
    """Tell who keeps a tensor, or the graph that a node is part of, in memory.

    Finds variables of running functions, globals, attributes, items of containers and variables of
    closures, for the tensor itself and for every other tensor whose graph contains it. The variable
    that was passed to this function is among them.

    Args:
        what: A tensor, or a node of a graph (`loss.grad_fn`).

    Raises:
        TypeError: If it is something else.

    Example:
        >>> import weft, weft.debug
        >>> def train():
        ...     w = weft.ones(3, requires_grad=True)
        ...     losses = [(w * i).sum() for i in range(3)]
        ...     return weft.debug.why_alive(losses[1])
        >>> [holder.name for holder in train().holders]
        ['losses[1] in train()']
    """
    given: Any = what
    if isinstance(given, Tensor):
        node = get_gradient_edge(given).node if given.grad_fn is not None else None
    elif isinstance(given, Node):
        node = given
    else:
        raise TypeError(
            f"why_alive takes a tensor or a node of a graph, not a {type(given).__name__}"
        )
    tensors = [given] if isinstance(given, Tensor) else []
    if node is not None:
        known = {id(tensor) for tensor in tensors}
        tensors += [one for one in reaching(node) if id(one) not in known]
    nodes, size = graph_size(node)
    place = place_at(node._position) if node is not None else None
    search = Search(tensors)
    try:
        holders = [holder for one in tensors for holder in search.holders(one)]
    finally:
        search.close()
    return Alive(tuple(dict.fromkeys(holders)), nodes, size, place)


def graph_size(node: Node | None) -> tuple[int, int]:
    """Return how many nodes a graph has, and the bytes that they keep, each memory once."""
    if node is None:
        return 0, 0
    seen, waiting = {node}, [node]
    storages: dict[int, int] = {}
    while waiting:
        current = waiting.pop()
        leaf = current.name() == "AccumulateGrad"
        for saved in () if leaf else _saved(current):
            is_number = saved.ndim == 0 and saved.element_size() == 8
            if not (is_number or (saved.is_leaf and saved.requires_grad)):
                storages[saved.data_ptr()] = max(
                    storages.get(saved.data_ptr(), 0), saved.numel() * saved.element_size()
                )
        for below, _ in current.next_functions:
            if below is not None and below not in seen:
                seen.add(below)
                waiting.append(below)
    return len(seen), sum(storages.values())


def _saved(node: Node) -> tuple[Tensor, ...]:
    try:
        return tuple(one for one in node._saved_tensors if isinstance(cast("Any", one), Tensor))
    except RuntimeError:  # freed by a backward, or overwritten since
        return ()


def live_tensors() -> list[Tensor]:
    """Return the tensors that containers, objects and running functions hold."""
    found: dict[int, Tensor] = {}
    for one in gc.get_referents(*gc.get_objects()):
        # Not isinstance, which asks a weak proxy of something dead for its class.
        if issubclass(type(one), Tensor):
            found[id(one)] = one
    for frame in running_frames():
        variables = Variables(frame)
        for value in variables.values():
            if issubclass(type(value), Tensor):
                found[id(value)] = value
        variables.close()
    return list(found.values())


def reaching(node: Node) -> list[Tensor]:
    """Return the live tensors whose graph contains a node, the oldest first."""
    number = node._sequence_nr()

    def is_it(one: Node) -> bool | None:
        return True if one == node else False if one._sequence_nr() <= number else None

    return holding(is_it)


def holding(is_it: Callable[[Node], bool | None]) -> list[Tensor]:
    """Return the live tensors whose graphs have a node that is looked for, the oldest first.

    Args:
        is_it: Says of a node that it is one, that nothing below it is (False), or neither (None).
    """
    answers: dict[Node, bool] = {}
    found: list[tuple[int, Tensor]] = []
    for tensor in live_tensors():
        if tensor.grad_fn is None:
            continue
        top = get_gradient_edge(tensor).node
        if _leads_to(top, is_it, answers):
            found.append((top._sequence_nr(), tensor))
    return [tensor for _, tensor in sorted(found, key=lambda pair: pair[0])]


def _leads_to(top: Node, is_it: Callable[[Node], bool | None], answers: dict[Node, bool]) -> bool:
    waiting: list[tuple[Node, bool]] = [(top, False)]
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            answers[node] = any(answers[below] for below, _ in node.next_functions if below)
            continue
        if node in answers:
            continue
        answer = is_it(node)
        if answer is not None:
            answers[node] = answer
            continue
        waiting.append((node, True))
        waiting.extend((below, False) for below, _ in node.next_functions if below is not None)
    return answers[top]


# ---- variables of running functions --------------------------------------------------------------


def running_frames() -> list[FrameType]:
    """Return the frames of all threads, innermost first, but for Weft's own."""
    found: list[FrameType] = []
    frame = current = None
    for frame in sys._current_frames().values():  # pyright: ignore[reportPrivateUsage]
        current = frame
        while current is not None:
            if not current.f_code.co_filename.startswith(_OWN_FOLDER):
                found.append(current)
            current = current.f_back
    # One of them is this function's: a variable with it would keep it, and all its callers, alive.
    del frame
    return found


class Variables:
    """The variables of a frame, for a while.

    Before Python 3.13, looking at them makes a copy that the frame keeps: what is in it would live
    as long as the function. `close` empties it.
    """

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.mapping = frame.f_locals
        self.is_module = self.mapping is frame.f_globals

    def items(self) -> list[tuple[str, Any]]:
        """Return names and values."""
        return list(self.mapping.items())

    def values(self) -> list[Any]:
        """Return the values."""
        return list(self.mapping.values())

    def close(self) -> None:
        """Forget the values, unless a debugger looks at them as well."""
        is_copy = self.frame.f_code.co_flags & inspect.CO_OPTIMIZED
        if sys.version_info < (3, 13) and is_copy and self.frame.f_trace is None:
            self.mapping.clear()


class Search:
    """Finds names for objects that hold tensors. `close` it after use.

    Python is asked who refers to what once for each step away from the tensors, for all of them
    together: each time it looks through all objects there are.
    """

    def __init__(self, tensors: list[Tensor]) -> None:
        self._variables = [Variables(frame) for frame in running_frames()]
        self._names: dict[int, list[tuple[FrameType, str]]] = {}  # by object
        for variables in self._variables:
            for name, value in variables.items():
                if name.isidentifier() and not variables.is_module:
                    self._names.setdefault(id(value), []).append((variables.frame, name))
        self._referrers: dict[int, list[Any]] = {}
        self._climb(tensors)

    def close(self) -> None:
        """Let go of everything that was looked at."""
        for variables in self._variables:
            variables.close()
        self._variables.clear()
        self._names.clear()
        self._referrers.clear()

    def _climb(self, tensors: list[Tensor]) -> None:
        own = {id(self._names), id(self._variables), id(self._referrers), id(tensors)}
        own |= {id(variables.mapping) for variables in self._variables if not variables.is_module}
        own |= set(map(id, self._names.values()))
        level: list[Any] = list(tensors)
        known = set(map(id, level))
        for _ in range(_MOST_STEPS):
            # What a variable has is found; nobody asks who has a module or a class.
            wanted = {id(one) for one in level}
            above: list[Any] = []
            referrers = gc.get_referrers(*level) if level else []
            own |= {id(level), id(above), id(referrers)}
            for referrer in referrers:
                if id(referrer) in own or _is_tool(referrer):
                    continue
                for held in gc.get_referents(referrer):
                    if id(held) in wanted:
                        self._referrers.setdefault(id(held), []).append(referrer)
                is_end = id(referrer) in self._names or _is_namespace(referrer)
                if id(referrer) not in known and not is_end and len(above) < _MOST_LOOKS:
                    known.add(id(referrer))
                    above.append(referrer)
            own |= set(map(id, self._referrers.values()))
            level = above

    def holders(self, tensor: Tensor) -> list[Holder]:
        """Return who holds a tensor: variables first."""
        made = place_at(tensor._position)
        found: dict[str, Holder] = {}
        # Breadth first: the shortest way to a name is the best one.
        waiting: deque[tuple[Any, str, Place | None, int]] = deque([(tensor, "", None, 0)])
        seen: set[tuple[int, int]] = set()
        while waiting and len(seen) < _MOST_LOOKS:
            current, path, adds, steps = waiting.popleft()
            named = self._named(current, path, made, steps, adds)
            for holder in named:
                found.setdefault(holder.name, holder)
            if named and steps > 0:
                continue
            for referrer in self._referrers.get(id(current), ()):
                if (id(referrer), id(current)) in seen:
                    continue
                seen.add((id(referrer), id(current)))
                way = _way(referrer, current, path)
                if way is not None:
                    line = adds or _line_in_class(referrer, way, is_container=steps > 0)
                    waiting.append((referrer, way, line, steps + 1))
        return list(found.values())

    def _named(
        self, current: Any, path: str, made: Place | None, steps: int, adds: Place | None
    ) -> list[Holder]:
        """Return names under which an object is known: variables, globals, parts of functions."""
        if isinstance(current, GeneratorType):
            generator = cast("GeneratorType[Any, Any, Any]", current)
            code = generator.gi_code
            line = generator.gi_frame.f_lineno if generator.gi_frame else code.co_firstlineno
            at = Place(code.co_filename, line, code.co_name)
            return [Holder(f"{path[1:]} in the generator {code.co_name}()", "variable", at)]
        found: list[Holder] = []
        for frame, name in self._names.get(id(current), ()):
            code = frame.f_code
            line = _line_of(code, name, is_container=steps > 0, made=made) or frame.f_lineno
            at = adds or Place(code.co_filename, line, code.co_name)
            kind: HolderKind = "item" if "[" in path else "attribute" if path else "variable"
            found.append(Holder(f"{name}{path} in {code.co_name}()", kind, at))
        if isinstance(current, dict):
            at = adds or (made if steps == 1 else None)
            found.extend(_global_names(cast("dict[Any, Any]", current), path, at))
        if isinstance(current, CellType):
            found.extend(self._closure_names(current, path))
        return found

    def _closure_names(self, cell: CellType, path: str) -> list[Holder]:
        found: list[Holder] = []
        for closure in self._referrers.get(id(cell), ()):
            for function in self._referrers.get(id(closure), ()):
                if isinstance(function, FunctionType) and function.__closure__ is closure:
                    cells = function.__closure__ or ()
                    variable = function.__code__.co_freevars[cells.index(cell)]
                    code = function.__code__
                    at = Place(code.co_filename, code.co_firstlineno, code.co_name)
                    name = f"{variable}{path} in the closure of {function.__qualname__}()"
                    found.append(Holder(name, "closure", at))
        return found


def _is_tool(referrer: Any) -> bool:
    return isinstance(referrer, FrameType) or type(referrer).__module__ == __name__


def _is_namespace(one: Any) -> bool:
    """Whether it is a module, its globals, or a class."""
    if isinstance(one, dict):
        return "__builtins__" in one or "__spec__" in one
    return isinstance(one, ModuleType | type)


def _way(referrer: Any, held: Any, path: str) -> str | None:
    """Write how one comes from an object to a tensor: through what it holds, then by a path."""
    if isinstance(referrer, dict):
        keys = [key for key, value in cast("dict[Any, Any]", referrer).items() if value is held]
        return f"[{keys[0]!r}]{path}" if keys else None
    if isinstance(referrer, list | tuple | deque):
        items = cast("list[Any]", referrer)
        return next((f"[{i}]{path}" for i, value in enumerate(items) if value is held), None)
    if isinstance(referrer, CellType):
        return path
    if isinstance(referrer, set | frozenset):
        return f" (in a set){path}"
    if isinstance(referrer, FunctionType | MethodType | ModuleType | type):
        return None
    if isinstance(referrer, GeneratorType):
        name = _name_in_generator(cast("GeneratorType[Any, Any, Any]", referrer), held)
        return f".{name}{path}" if name else None
    attributes: Any = getattr(referrer, "__dict__", None)
    if attributes is held:  # ["history"][3] of it is .history[3]
        return _KEY.sub(r".\1", path, count=1)
    if isinstance(attributes, dict):
        names = [k for k, v in cast("dict[Any, Any]", attributes).items() if v is held]
        if names:
            return f".{names[0]}{path}"
    for kind in type(referrer).__mro__:
        for name in _slots(kind):
            if getattr(referrer, name, None) is held:
                return f".{name}{path}"
    return f" (of a {type(referrer).__name__}){path}"


def _name_in_generator(generator: GeneratorType[Any, Any, Any], held: Any) -> str:
    frame = generator.gi_frame
    if not frame:
        return ""
    variables = Variables(frame)
    names = [key for key, value in variables.items() if value is held]
    variables.close()
    return names[0] if names else ""


def _slots(kind: type) -> tuple[str, ...]:
    slots: Any = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _global_names(namespace: dict[Any, Any], path: str, place: Place | None) -> list[Holder]:
    """Return the name of a module's global, if a dictionary is the globals of a module."""
    name = namespace.get("__name__")
    match = _KEY.match(path)
    if not isinstance(name, str) or not _is_namespace(namespace) or match is None:
        return []
    text = f"{match[1]}{path[match.end() :]} in module {name}"
    return [Holder(text, "global", place)]


def _line_of(code: CodeType, name: str, *, is_container: bool, made: Place | None) -> int:
    """Return the line of a function that puts something into a variable, 0 if none is found.

    The line that made the tensor is the likeliest; then, for a container, one that adds to it.
    """
    stores, adds = _writes(code, name)
    lines = adds if is_container and adds else stores
    if made is not None and made.file == code.co_filename and made.line in stores + adds:
        return made.line
    return lines[-1] if lines else 0


def _line_in_class(one: Any, way: str, *, is_container: bool) -> Place | None:
    """Return the line of an object's methods that puts something into an attribute."""
    match = _ATTRIBUTE.match(way)
    if match is None or type(one).__name__ == "generator":
        return None
    found: list[Place] = []
    for _, function in inspect.getmembers_static(one.__class__):
        if isinstance(function, FunctionType):
            code = function.__code__
            stores, adds = _writes(code, match[1])
            lines = adds if is_container else stores
            found += [Place(code.co_filename, line, code.co_name) for line in lines[-1:]]
    # What __init__ puts there is what it was at first.
    return min(found, key=lambda place: place.function == "__init__", default=None)


def _writes(code: CodeType, name: str) -> tuple[list[int], list[int]]:
    """Return the lines that store a variable or attribute, and those that add to what it is."""
    stores: list[int] = []
    adds: list[int] = []
    line, loaded = code.co_firstlineno, False
    for instruction in dis.get_instructions(code):
        line = _start(instruction, line)
        for operation, argument in _operations(instruction):
            if argument == name and operation.startswith("STORE"):
                stores.append(line)
            if loaded and (argument in _ADDERS or operation == "STORE_SUBSCR"):
                adds.append(line)
            is_load = operation.startswith("LOAD") and argument == name
            loaded = is_load or (loaded and not operation.startswith("STORE"))
    return stores, adds


def _operations(instruction: dis.Instruction) -> Iterator[tuple[str, Any]]:
    """Take an instruction that is two in one, as they are since 3.13, apart."""
    argument: Any = instruction.argval
    if isinstance(argument, tuple) and instruction.opname.count("_FAST") == 2:
        names = cast("tuple[str, str]", argument)
        yield from zip(instruction.opname.split("_FAST_"), names, strict=True)
    else:
        yield instruction.opname, argument


def _start(instruction: dis.Instruction, line: int) -> int:
    if sys.version_info >= (3, 13):
        return instruction.line_number or line
    return instruction.starts_line or line
