"""`cell`: a pure function, or a module's forward, recorded as one op."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial, wraps
from time import perf_counter
from types import CellType, MethodType
from typing import Any, TypeVar, cast, overload

from weft import _core, pytree
from weft.batching.captures import Captures, Guard
from weft.batching.purity import NotKnownError, check_classes, why_not_pure

Target = TypeVar("Target", bound=Callable[..., Any])


_MOST_CHANGES = 64


class Integer:
    """Stands for an integer of an example while a body is looked at.

    `weft.tensor` makes it what it is for each call. Who does anything else with it gets the number
    that it is in this one, and that is noted.
    """

    __slots__ = ("weft_tensor", "weft_value", "weft_was_read")
    __class__: Any = property(lambda _: int)  # type: ignore[assignment] - to isinstance it is one

    def __init__(self, value: int, tensor: _core.Tensor) -> None:
        self.weft_value = value
        self.weft_tensor = tensor
        self.weft_was_read = False

    def __getattr__(self, name: str) -> Any:
        self.weft_was_read = True
        return getattr(self.weft_value, name)


def _reading(name: str) -> Callable[..., Any]:
    def method(self: Integer, *args: Any) -> Any:
        self.weft_was_read = True
        return getattr(self.weft_value, name)(*args)

    return method


_NOT_READING = {
    *("__class__", "__init__", "__new__", "__getattribute__", "__setattr__", "__delattr__"),
    *("__doc__", "__init_subclass__", "__subclasshook__"),
}
for _name in dir(int):
    if _name.startswith("__") and _name not in _NOT_READING:
        setattr(Integer, _name, _reading(_name))


def _taken(items: list[Any]) -> list[Any]:
    taken = items.copy()
    items.clear()
    return taken


class Watch:
    """Tells whether what a cell's body reads from outside has changed since the last look.

    Args:
        body: A function or method.
        prove: Whether it must be seen to be pure, as nobody has said that it is.
    """

    def __init__(self, body: Any, *, prove: bool = False) -> None:
        self.body = body
        self.prove = prove
        self.owner = getattr(body, "__self__", None)  # of a module's cell: the module
        self.parts: list[tuple[int, int]] | None = None
        self.modules: list[Any] = []
        self.guards: list[Guard] = []
        self.changes = 0
        self.integers: list[Integer] = []
        self.began = self.saved_at = perf_counter()
        self.spent = 0.0  # on looks, in seconds

    def __call__(self, changed: bool) -> tuple[list[_core.Tensor], list[Guard]] | str | None:
        """Return what the body reads and where it was found, or None if nothing has changed.

        Args:
            changed: Something else than before was found in one of those places.

        Returns:
            A text says why the body must run as it is.
        """
        if not changed and self._versions() == self.parts:
            return None
        self.changes += changed
        captures = Captures(strict=self.prove)
        try:
            if self.prove and self.owner is not None:
                check_classes(self.owner)
            captures.read(self.body)
        except NotKnownError as reason:
            captures.unknown = str(reason)
        except Exception as error:  # noqa: BLE001 - what runs there is the user's: a property
            captures.unknown = f"what raises {type(error).__name__}"
        self.modules = captures.modules
        self.parts = self._versions()
        if any(part._hooks is not None for part in self._modules() if part is not self.owner):
            return "a module inside has hooks"
        if captures.unknown:
            return f"it reads {captures.unknown} from outside, which may change"
        # Looks take a tenth of the time at most: a module may be changed at each step.
        within = 0.05 + 0.1 * (perf_counter() - self.began)
        if self.changes > _MOST_CHANGES or (self.prove and self.spent > within):
            return "what it reads from outside changes again and again"
        if self.prove and (reason := why_not_pure(captures)):
            return f"it is not known to be pure: {reason}"
        self.guards = captures.guards()
        return captures.parameters(), self.guards

    def stand_in(self, value: int, tensor: _core.Tensor) -> Integer:
        """Return what a body that is looked at is given in the place of an integer."""
        self.integers.append(Integer(value, tensor))
        return self.integers[-1]

    def integers_were_read(self) -> bool:
        """Tell whether the last look did more with integers than making tensors of them."""
        return any(one.weft_was_read for one in _taken(self.integers))

    def save(self) -> list[tuple[Any, Any]]:
        """Return the places that the body is known to read, each with a copy of what is there."""
        self.saved_at = perf_counter()
        self.integers.clear()
        places: list[Any] = [part.__dict__ for part in self._modules()]
        for container, key, _, _ in self.guards:
            if key is len or isinstance(container, CellType):
                places.append(container)
            elif type(container) is dict:
                places.append((container, key))
        return [(place, _content(place)) for place in places]

    def put_back(self, saved: list[tuple[Any, Any]]) -> bool:
        """Undo what a look at the body has changed there; return whether it had.

        Among threads what is new may be another one's: then only tensors go.
        """
        self.spent += perf_counter() - self.saved_at
        alone = threading.active_count() == 1
        return sum(_put_back(place, content, alone) for place, content in saved) > 0  # all of them

    def _modules(self) -> list[Any]:
        return [part for module in self.modules for part in module.modules()]

    def _versions(self) -> list[tuple[int, int]]:
        return [(id(part), part.__dict__.get("_version", 0)) for part in self._modules()]


_MISSING = object()
_OWN = {"_weft_cell", "_weft_mapped"}  # what maps and cells note in a module


def _content(place: Any) -> Any:
    """Return what is in a place: an item of a dict, a closure's variable, a list, a dict."""
    if isinstance(place, tuple):
        container, key = cast("tuple[dict[Any, Any], Any]", place)
        return container.get(key, _MISSING)
    if isinstance(place, CellType):
        try:
            return place.cell_contents
        except ValueError:  # there is nothing yet
            return _MISSING
    return place.copy()


def _put_back(place: Any, content: Any, alone: bool) -> bool:
    if isinstance(place, dict):
        items = cast("dict[Any, Any]", place)
        keys = [*content, *(key for key in items if key not in content and key not in _OWN)]
        return sum(_put_back((items, key), content.get(key, _MISSING), alone) for key in keys) > 0
    now = _content(place)
    if isinstance(place, list):
        known = set(map(id, content))
        changed = list(map(id, now)) != list(map(id, content))
        if changed and alone:
            place[:] = content
        elif changed:
            place[:] = [one for one in now if id(one) in known or not isinstance(one, _core.Tensor)]
        return changed
    changed = now is not content
    if changed and (alone or isinstance(now, _core.Tensor)):
        if isinstance(place, CellType):
            place.cell_contents = content
            if content is _MISSING:
                del place.cell_contents
        else:
            container, key = cast("tuple[dict[Any, Any], Any]", place)
            container[key] = content
            if content is _MISSING:
                del container[key]
    return changed


@overload
def cell(target: Target, *, check: float = 0.0) -> Target: ...
@overload
def cell(target: None = None, *, check: float = 0.0) -> Callable[[Target], Target]: ...


def cell(target: Any = None, *, check: float = 0.0) -> Any:
    """Make a function, or the forward of a Module class, one op of the graph.

    The body is run for each kind of call (shapes, dtypes, nesting of arguments) to see which ops it
    is made of, twice, to see that they are the same; from then on a call replays those in C++. In a
    batch, cells of many examples run together, op by op. The body must be pure: it may not change
    anything. What it reads from outside (parameters, tensors and numbers of a closure, globals and
    their attributes) is as it is at each call. A body that draws random numbers, has hooks inside,
    writes in place or reads what cannot be watched, such as a NumPy array, runs as it is.

    The body may decide: by `if x.sum() > 0:`, by a `while`, by `scores.argmax().item()`. It is run
    again, to see what it does, for each way that turns up, up to 256 of them. A float that it reads
    is no decision, and such a body runs as it is. `map` over a cell needs no fibers.

    Args:
        target: A function of tensors, numbers and tuples or lists of them, or a Module class.
        check: In this share of the calls, from the first on, the body runs as well, and a result
            that is not the same is an error: 1.0 finds a body that is not pure, 0.001 watches it.

    Raises:
        TypeError: If the target is something else.
        ValueError: If `check` is no share.

    Example:
        >>> import weft
        >>> @weft.cell
        ... def gate(x, y):
        ...     return x.sigmoid() * y.tanh()
        >>> gate(weft.zeros(2), weft.ones(2))
        tensor([0.3808, 0.3808])
    """
    if not 0 <= check <= 1:
        raise ValueError(f"cell: check must be between 0 and 1, not {check}")
    if target is None:
        return partial(cell, check=check)
    if not callable(target) or (isinstance(target, type) and not hasattr(target, "forward")):
        raise TypeError(f"cell: expects a function or a class of modules, not {target!r}")
    if isinstance(target, type):
        kind: Any = target
        kind.forward = _checked(_make_forward(kind.forward), kind.forward, check)
        return kind
    made = _core.Cell(target, getattr(target, "__name__", "cell"), Watch(target))
    return _checked(made, target, check)


def _make_forward(body: Any) -> _core.CellForward:
    def make(module: Any) -> _core.Cell:
        method = MethodType(body, module)
        made = _core.Cell(method, type(module).__name__, Watch(method))
        module.__dict__["_weft_cell"] = made
        return made

    return _core.CellForward(body, body.__name__, make)


def _checked(replay: Any, body: Any, share: float) -> Any:
    if share == 0:
        return replay
    due = 1.0
    name = getattr(body, "__name__", "cell")

    @wraps(body, assigned=("__name__", "__qualname__", "__doc__"))
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal due
        result = replay(*args, **kwargs)
        made = args[0].__dict__["_weft_cell"] if isinstance(replay, _core.CellForward) else replay
        checks = due >= 1 and not made.note
        due += share - checks
        if checks:
            before = _core.keep_modes()

            def compare() -> None:
                _core.set_grad_enabled(False)
                _compare(name, result, body(*args, **kwargs))

            _core.run_then(compare, lambda: _core.give_modes(before))
        return result

    return call


def _compare(name: str, replayed: Any, expected: Any) -> None:
    pairs = zip(pytree.tree_leaves(replayed), pytree.tree_leaves(expected), strict=True)
    for number, (one, other) in enumerate(pairs):
        if isinstance(one, _core.Tensor) and not _is_close(one, other):
            raise RuntimeError(
                f"cell {name}: the body gives another result {number} than what was recorded of "
                f"it ({_shown(other)}, not {_shown(one)}), so it is not pure: it may depend only "
                "on its arguments and on tensors, modules and numbers that it reads by name"
            )


def _is_close(one: _core.Tensor, other: _core.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    tolerance = 1e-9 if one.dtype == _core.float64 else 1e-2 if one.dtype.itemsize == 2 else 1e-4
    return bool(one.isclose(other, tolerance, tolerance, True).all())


def _shown(tensor: _core.Tensor) -> str:
    first = tensor.reshape(-1)[:3].tolist()
    return f"{list(tensor.shape)} {tensor.dtype} that begins with {first}"
