"""An interrupt at any line of the library's own code for maps and cells leaves nothing behind."""

from __future__ import annotations

import contextvars
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import weft
from weft import _core
from weft.batching import cells, mapping, replaying
from weft.batching.mapping import held
from weft.batching.replaying import Mapped
from weft.batching.scope import at_once

pytestmark = [
    pytest.mark.single_ops,  # how they are pending makes no difference to Python's lines
    pytest.mark.filterwarnings("ignore:more than 20 plans"),
    # Interrupts in generators that nobody goes on with.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

FOLDER = str(Path(mapping.__file__).parent)
Program = Callable[[], Any]
Place = tuple[str, int, str]
word = contextvars.ContextVar("word", default="outside")


class Interrupter:
    """Counts what happens in the library's folder; interrupts a place when it is passed again."""

    def __init__(self, place: Place | None = None, times: int = 1) -> None:
        self.place = place
        self.left = times
        self.places: dict[Place, int] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(FOLDER):
            return None
        if self.place and code.co_qualname != self.place[0]:
            return None
        place = (code.co_qualname, frame.f_lineno, event)
        if self.place is None:
            self.places[place] = self.places.get(place, 0) + (event != "exception")
        elif place == self.place:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def interrupted(program: Program, place: Place | None = None, times: int = 1) -> Interrupter:
    """Run a program until it passes that place, or to its end."""
    interrupter = Interrupter(place, times)
    sys.settrace(interrupter)
    try:
        program()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return interrupter


def changes(place: Place) -> bool:
    """Tell whether the place is in a file that does more than to look at functions and results."""
    return place[0].startswith((*vars(mapping), *vars(cells), *vars(replaying)))


def state() -> dict[str, Any]:
    """Return what a map may switch and must put back."""
    return {
        "grad": weft.is_grad_enabled(),
        "inference": weft.is_inference_mode_enabled(),
        "modes": _core.describe_modes(),
        "dtype": weft.get_default_dtype(),
        "word": word.get(),
        "hub": mapping._running.hub,
    }


def plain(x: weft.Tensor) -> float:
    y = x * 2
    word.set("inside")
    if y.sum() > 3:
        y = y.tanh() + weft.rand(2)
    return y.sum().item()


def nested(x: weft.Tensor) -> Any:
    parts = weft.map(plain, [x, x + 1])
    return x.sum() + parts[0] + parts[1]


def failing(x: weft.Tensor) -> float:
    if x.sum() > 3:
        raise ValueError("too large")
    return plain(x)


def inner_gradient(x: weft.Tensor) -> weft.Tensor:
    x = x.clone().requires_grad_()
    (g,) = weft.autograd.grad((x * x.exp()).sum(), x, create_graph=True)
    return g * 2 if g.sum() > 1 else g


def in_scopes(x: weft.Tensor) -> float:
    with weft.no_grad(), weft.lazy(False):
        y = x * 2
    with weft.lazy(), at_once(y):
        z = y + 1
    weft.set_default_dtype(weft.float64)
    return (z.sum() + weft.ones(1)).item()


cache: list[str] = []


def holding(x: weft.Tensor) -> float:
    own = "mine"
    cache.append(own)
    try:
        with held(cache.pop, lambda: cache.append(own)):
            return x.sum().item()
    finally:
        cache.pop()


def drawing() -> Iterator[weft.Tensor]:
    for _ in range(4):
        yield weft.rand(2)


def examples() -> list[weft.Tensor]:
    return [weft.ones(2) * k for k in range(4)]


def replayed() -> Any:
    weight = weft.ones(2, requires_grad=True)

    def model(x: weft.Tensor, weight: weft.Tensor = weight) -> weft.Tensor:
        y = (x * weight).tanh()
        return y * 2 if y.sum() > 1 else y

    return [weft.map(model, examples()) for _ in range(3)]


class Scaled(weft.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = weft.nn.Linear(2, 2)

    def forward(self, x: weft.Tensor) -> weft.Tensor:
        return self.inner(x).tanh()


def replayed_module() -> Any:
    module = Scaled()
    return [weft.map(lambda x: module(x).sum(), examples()) for _ in range(3)]


def declared() -> Any:
    @weft.cell(check=1.0)
    def cell(x: weft.Tensor) -> weft.Tensor:
        return x * 3 if x.sum() > 2 else x - 1

    return [cell(x) for x in examples()] + weft.map(cell, examples())


def scope() -> Any:
    with weft.lazy():
        y = weft.ones(3) * 2
        with at_once(y):
            z = y + 1
        y = y + z
    weft.explain()
    return y


PROGRAMS: dict[str, Program] = {
    "plain": lambda: weft.map(plain, examples(), replay=False),
    "few at a time": lambda: weft.map(plain, examples(), width=2, replay=False),
    "nested": lambda: weft.map(nested, examples(), replay=False),
    "generator": lambda: weft.map(plain, (x * 2 for x in drawing())),
    "a generator that reads": lambda: weft.map(plain, (x for x in drawing() if x.sum() > 0.1)),
    "exceptions": lambda: weft.map(failing, examples(), return_exceptions=True),
    "failing": lambda: weft.map(failing, examples()),
    "one by one": lambda: weft.map(plain, examples(), batch=False),
    "gradients": lambda: weft.map(inner_gradient, examples(), replay=False),
    "scopes": lambda: weft.map(in_scopes, examples(), replay=False),
    "held": lambda: weft.map(holding, examples(), replay=False),
    "objects": lambda: weft.map(lambda x: {"a": [x * 2, (x,)]}, examples(), replay=False),
    "replayed": replayed,
    "replayed module": replayed_module,
    "declared": declared,
    "lazy": scope,
}


def outcome(program: Program) -> Any:
    """Return what a program gives as plain data."""
    try:
        return plain_data(program())
    except ValueError as error:
        return [str(error), *error.__notes__]


def plain_data(found: Any) -> Any:
    if isinstance(found, weft.Tensor):
        return found.tolist()
    if isinstance(found, dict):
        return {key: plain_data(value) for key, value in found.items()}
    if isinstance(found, (list, tuple)):
        return [plain_data(item) for item in found]
    return str(found)


@pytest.fixture
def quick_collections() -> Iterator[None]:
    """Collect garbage when asked only, and look at what is made from here on only."""
    gc.collect()
    gc.disable()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.enable()
    gc.collect()


@pytest.mark.usefixtures("quick_collections")
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interrupt_leaves_nothing_behind(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS[name]
    monkeypatch.setattr(Mapped, "warm", 4)
    monkeypatch.setattr(replaying, "_is_traced", lambda: False)
    expected = []
    for _ in range(2):  # what is remembered of code is known from here on
        weft.manual_seed(0)
        expected.append(outcome(program))
    assert expected[0] == expected[1]
    before = state()
    weft.manual_seed(0)
    places = interrupted(lambda: outcome(program)).places
    gc.collect()
    pending = _core.pending_count()
    first = [(place, 1) for place, times in places.items() if times]
    last = [(place, times) for place, times in places.items() if times > 1 and changes(place)]
    assert len(first) > 10
    for place, times in first + last:
        weft.manual_seed(0)
        left = interrupted(lambda: outcome(program), place, times).left
        assert left == 0 or times > 1, f"never came to {place}"
        if _core.pending_count() != pending:
            gc.collect()
        assert _core.pending_count() == pending, place
        assert state() == before, place
        assert cache == [], place
        weft.manual_seed(0)
        assert outcome(program) == expected[0], place
