"""`map`: a function over one example, run for many of them at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from inspect import currentframe
from sys import getrecursionlimit, gettrace, settrace
from typing import Any, Literal, TypeVar, cast, overload

from greenlet import GreenletExit, getcurrent, greenlet

from weft import _core
from weft.batching.replaying import Mapped, find_mapped, is_compiled
from weft.batching.results import tensors_in
from weft.batching.worth import Counts

Example = TypeVar("Example")
Result = TypeVar("Result")


class Hub:
    """Runs fibers until each has finished or needs a value, then computes all those values."""

    def __init__(self) -> None:
        _core.keep_stacks()
        _core.keep_prints_whole()
        self.greenlet = getcurrent()
        self.ready: deque[greenlet] = deque()
        self.parked: list[greenlet] = []
        self.waiting: list[greenlet] = []  # for the fibers of a map inside them
        self.sources: list[Fibers] = []
        self.closed = False
        # Of fibers that hold what others must not see: how to let go of it, and to take it again.
        self.asides: dict[greenlet, list[tuple[Callable[[], object], Callable[[], object]]]] = {}

    def __bool__(self) -> bool:
        return bool(self.ready or self.parked)

    def park(self) -> None:
        """Let the others go on until the values that this fiber needs are there."""
        if self.closed:
            raise GreenletExit
        fiber = getcurrent()
        self.parked.append(fiber)
        if self.asides and (asides := self.asides.get(fiber)):
            gone: list[tuple[object, Callable[[], object]]] = []
            _core.run_then(partial(self._let_go, asides, gone), partial(_take_again, gone))
        else:
            self._switch()
        if gettrace() is not None and _core.is_debugged():
            _follow_again()

    def _switch(self) -> None:
        # The next one goes on at once. One that is new, which is false, starts from the hub: it
        # would begin on top of this one's stack.
        (self.ready.popleft() if self.ready and self.ready[0] else self.greenlet).switch()

    def _let_go(
        self,
        asides: list[tuple[Callable[[], object], Callable[[], object]]],
        gone: list[tuple[object, Callable[[], object]]],
    ) -> None:
        for let_go, take_again in reversed(asides):
            gone.append((let_go(), take_again))  # on one line, which interrupts come before
        self._switch()

    def turn(self) -> None:
        """Let every ready fiber run until it parks or ends, then compute what they wait for."""
        while self.ready or self._start_fiber():
            self.ready.popleft().switch()
        if self.parked:
            # After an error each computes its own when it goes on: the one that is to blame fails.
            with suppress(Exception):
                _core.run_demanded()
            self.ready.extend(self.parked)
            self.parked.clear()

    def _start_fiber(self) -> bool:
        """While all are parked, let another fiber take the next example, if there is one."""
        for source in self.sources:  # noqa: SIM110 - a generator would cost as much as the fiber
            if source.start_fiber():
                return True
        return False

    def wait(self) -> None:
        """Let the others go on until somebody makes this fiber ready."""
        modes = _core.keep_modes()
        self.waiting.append(getcurrent())
        try:
            self.greenlet.switch()
        finally:
            self.waiting.remove(getcurrent())
            _core.give_modes(modes)

    def close(self) -> None:
        """End fibers that are still under way; they may not park again."""
        self.closed = True
        _core.forget_demanded()
        error: BaseException | None = None
        for fiber in (*self.parked, *self.ready, *reversed(self.waiting)):  # innermost first
            try:
                if fiber:
                    fiber.throw(GreenletExit)
            except BaseException as raised:  # noqa: BLE001 - the others must end as well
                error = raised
        for source in self.sources:
            try:
                source.end()
            except BaseException as raised:  # noqa: BLE001 - as above
                error = raised
        # Nothing of this is left for the garbage collector. While it collects, a thread that ends
        # would not find who refers to its outermost greenlet, and free it.
        for waiting in (self.ready, self.parked, self.waiting, self.sources):
            waiting.clear()
        vars(self).pop("greenlet", None)
        if error is not None:
            raise error


def _take_again(gone: list[tuple[object, Callable[[], object]]]) -> None:
    while gone:
        _ = gone[-1][1](), gone.pop()  # on one line, as above


def _follow_again() -> None:
    """Let a debugger that another example has started hear of this one's lines, too."""
    tracer: Any = gettrace()
    settrace(tracer)  # the fiber went on as it was, not followed
    frame = currentframe()
    while frame is not None:
        frame.f_trace = frame.f_trace or tracer
        frame = frame.f_back


class Running(threading.local):
    """The hub of the outermost map that runs in this thread."""

    hub: Hub | None = None


_running = Running()


def is_running() -> bool:
    """Tell whether this thread runs the examples of a map now."""
    return _running.hub is not None


@contextmanager
def held(let_go: Callable[[], object], take_again: Callable[[], object]) -> Generator[None]:
    """While this example waits for a value, let go of what others must not see."""
    hub = _running.hub
    if hub is None:
        yield
        return
    asides = hub.asides.setdefault(getcurrent(), [])
    asides.append((let_go, take_again))
    try:
        yield
    finally:
        asides.pop()
        if not asides:
            del hub.asides[getcurrent()]


_NO_MORE = object()
_RUNNING = object()  # in the place of a result
# Iterators that run nobody's code: nothing parks in them or draws random numbers.
_PLAIN = (type(iter([])), type(iter(())), type(iter(range(0))))
_get_stream = _core.get_stream
_set_stream = _core.set_stream


class Streams:
    """Random numbers of a map: each example has a stream of its own, however the map runs.

    What yields the examples goes on with the stream that was there before.
    """

    def __init__(self) -> None:
        self.key = _core.draw_map()
        self.outside = _get_stream()

    def start(self, index: int) -> None:
        """Go on with an example's stream."""
        _core.start_stream(self.outside, self.key, index)

    def take(self, examples: Iterator[Any]) -> Any:
        """Return the next example, or `_NO_MORE`."""
        _set_stream(self.outside)
        try:
            return next(examples, _NO_MORE)
        finally:
            self.outside = _get_stream()

    def restore(self) -> None:
        """Go on with the stream from outside."""
        _set_stream(self.outside)


class Fibers:
    """The examples of one map: at most `width` of them are under way at one time."""

    no_more: object = _NO_MORE
    in_progress: object = _RUNNING

    def __init__(
        self,
        hub: Hub,
        function: Callable[[Any], Any],
        examples: Iterator[Any],
        width: int,
        keep_errors: bool,
        on_end: Callable[[], object],
    ) -> None:
        self.depth = cast("int", getattr(getcurrent(), "depth", 0)) + 1  # of maps inside maps
        if self.depth > getrecursionlimit():  # each fiber has a stack of its own: Python sees none
            raise RecursionError(f"weft.map: {self.depth} maps are inside one another")
        self.hub = hub
        self.park_function = hub.park  # one object, which its fibers' modes refer to
        self.function = function
        self.examples = examples
        self.width = width
        self.keep_errors = keep_errors
        self.on_end = on_end
        self.results: list[Any] = []
        self.error: tuple[int, BaseException] | None = None
        self.source_error: Exception | None = None
        self.running = 0
        self.exhausted = False
        self.taking = False  # a fiber is inside `examples`, which may park there
        self.modes = _core.keep_modes()
        self.context = copy_context()
        self.streams = Streams()
        self.is_plain = type(examples) in _PLAIN
        self.take = partial(next, examples, _NO_MORE) if self.is_plain else self._take
        hub.sources.append(self)
        self.start_fiber()

    def start_fiber(self) -> bool:
        """Make one more fiber, if there may be examples left for it and it is not one too many."""
        if self.exhausted or self.taking or self.running >= self.width:
            return False
        self._add_fiber()
        return True

    def _add_fiber(self) -> None:
        self.running += 1
        fiber: Any = greenlet(self._run, self.hub.greenlet)
        fiber.depth = self.depth
        self.hub.ready.append(fiber)

    def _run(self) -> None:
        """Take examples, one after the other; while one of them is parked, another fiber does."""
        try:
            while not (self.exhausted or self.taking):
                _core.give_modes(self.modes)
                self._run_next()
        except GreenletExit:
            return
        self._stop()

    def _stop(self) -> None:
        self.running -= 1
        if self.running == 0:
            self.hub.sources.remove(self)
            self.on_end()

    def _run_next(self) -> None:
        example = self.take()
        if example is _NO_MORE:
            self.exhausted = True
            return
        index = len(self.results)
        self.results.append(_RUNNING)
        getcurrent().gr_context = self.context.copy()
        _core.start_fiber(index, self.park_function)
        self.streams.start(index)
        try:
            self.results[index] = self.function(example)
        except GreenletExit as error:
            self.leave(index, error)
        except Exception as error:  # noqa: BLE001 - it is raised again, or given back
            self.fail(index, error)

    def _take(self) -> Any:
        self.taking = True
        example = _NO_MORE
        getcurrent().gr_context = self.context  # what yields the examples goes on in it
        try:
            example = self.streams.take(self.examples)
        except Exception as error:  # noqa: BLE001 - raised when those under way have ended
            self.source_error = error
        finally:
            self.taking = False
        return example

    def leave(self, index: int, error: BaseException) -> None:
        """Take an exception that is no error: it ends the map, unless an example ended itself."""
        if self.hub.closed or not isinstance(error, GreenletExit):
            raise error
        self.fail(index, error)

    def fail(self, index: int, error: BaseException) -> None:
        """Take an example's exception."""
        self.results[index] = _with_note(error, index)
        if self.error is None or index < self.error[0]:
            self.error = (index, error)
        self.exhausted = self.exhausted or not self.keep_errors

    @property
    def failed(self) -> bool:
        """Whether an example has failed whose exception is to be raised.

        While one before it is under way, that one's may come first.
        """
        if self.error is None or self.keep_errors:
            return False
        for result in self.results[: self.error[0]]:  # noqa: SIM110 - interrupts end it well
            if result is _RUNNING:
                return False
        return True

    def end(self) -> None:
        """End what is under way without a fiber of its own."""

    def finish(self) -> list[Any]:
        """Return the results, or raise the first example's exception."""
        if self.error is not None and not self.keep_errors:
            raise self.error[1]
        if self.source_error is not None:
            raise self.source_error
        return self.results


class Tasks(Fibers):
    """The same for a compiled function, whose examples need no stack of Python's.

    One fiber runs many of them. Where Python parks inside one, another fiber takes the rest.
    """

    def __init__(self, hub: Hub, function: _core.CompiledCall, *given: Any) -> None:
        self.tasks = _core.Tasks(function)
        self.waits = False  # a fiber waits with those that are parked
        super().__init__(hub, function, *given)

    def start_fiber(self) -> bool:
        """Make one more fiber, if there is something to do for it."""
        has_examples = not (self.exhausted or self.taking) and self.tasks.alive < self.width
        if self.waits or not (has_examples or self.tasks.has_more):
            return False
        self._add_fiber()
        return True

    def _run(self) -> None:
        try:
            while self.tasks.drive(self) and not self.waits:
                self.waits = True
                self.tasks.rest()
                try:
                    self.hub.park()
                finally:
                    self.waits = False
                self.tasks.wake()
        except GreenletExit:
            return
        self._stop()

    def end(self) -> None:
        """End the examples that wait."""
        self.tasks.end(GreenletExit)


def _examples(hub: Hub, function: Callable[[Any], Any], *given: Any) -> Fibers:
    call = _compiled(function)
    if call is None or not _core.runs_routines():
        return Fibers(hub, function, *given)
    return Tasks(hub, call, *given)


def _compiled(function: Any) -> _core.CompiledCall | None:
    """Return the call of a function or module that `weft.compile` has made."""
    if not is_compiled(function):
        return None
    return function if isinstance(function, _core.CompiledCall) else function._as_call()


def _with_note(error: BaseException, index: int) -> BaseException:
    error.add_note(f"in example {index} of weft.map")
    return error


@overload
def map(
    function: Callable[[Example], Result],
    examples: Iterable[Example],
    *,
    batch: bool = True,
    width: int = 128,
    return_exceptions: Literal[False] = False,
    replay: bool = True,
    compile: bool = True,
) -> list[Result]: ...
@overload
def map(
    function: Callable[[Example], Result],
    examples: Iterable[Example],
    *,
    batch: bool = True,
    width: int = 128,
    return_exceptions: bool,
    replay: bool = True,
    compile: bool = True,
) -> list[Result | Exception]: ...
def map(
    function: Callable[[Example], Result],
    examples: Iterable[Example],
    *,
    batch: bool | None = None,
    width: int = 128,
    return_exceptions: bool = False,
    replay: bool = True,
    compile: bool = True,
) -> list[Any]:
    """Run a function written for one example over many of them, together.

    Each example runs in its own fiber. Where one needs a value (`if score > 0:`, `item()`), it
    waits, the others go on, and one plan runs for all that wait. Results are in the order of the
    examples; tensors in them, also in objects of your own classes, are computed together at the
    end.

    Each example draws random numbers from a stream of its own, which depends on the seed and the
    example's place, not on how the map runs. State that examples share, such as the averages of a
    BatchNorm, is changed in the order in which they reach it, and each in-place op changes it as it
    is then. What is computed from it and written to it, as by `total[index] += x`, is computed at
    once, without the other examples; `total.index_add_(0, index, x)` is not, and runs in batches.
    An example that read it, waited, and writes it after another one did would undo that write, and
    raises. For the same reason no value can be read where only one may be at a time: inside a lock,
    which raises, or inside a generator or an event loop that examples share. In a debugger an
    example waits for nobody.

    Args:
        function: Takes one example.
        examples: Any iterable.
        batch: False runs the examples one by one, each op at once: the same, mostly slower. True
            always makes batches. By itself a map does, and looks from time to time at what they
            came to: where a function's batches cost more than they saved, its examples run one by
            one. That goes by counts, not by time.
        width: How many examples are under way at one time. More make larger batches; fewer stay
            in the processor's cache, which mostly counts for more.
        return_exceptions: Put an example's exception in the place of its result.
        replay: A function or module that has been mapped for some hundred examples, and is seen to
            be pure, is replayed without running its Python again; False always runs it.
        compile: A function all of which can be compiled (see `weft.compile`) is tried as a routine
            after some maps, and stays one where that has less to do; False always runs its Python.

    Raises:
        Exception: What the first of the failing examples raised, with a note that names it.

    Example:
        >>> import weft
        >>> weft.map(lambda x: x * 2 if x > 0 else x, [weft.tensor(1.0), weft.tensor(-1.0)])
        [tensor(2.), tensor(-1.)]
    """
    if not callable(cast("object", function)):
        raise _not_a_function(function, examples)
    if not isinstance(cast("object", width), int):
        raise TypeError(f"map: width must be an integer, not {width!r}")
    if width < 1:
        raise ValueError(f"map: width must be at least 1, not {width}")
    if batch is False or _core.is_look():
        # A look at a cell's body notes ops in one order, in memory of its own stack, which is not
        # there while another fiber runs.
        return _one_by_one(function, examples, return_exceptions)
    hub = _running.hub
    if hub is not None and (hub.asides.get(getcurrent()) or _core.is_debugged()):
        # Other examples must not see what this one holds, and those of a map inside it must.
        # A debugger's session belongs to one example.
        return _one_by_one(function, examples, return_exceptions)
    if type(examples) in (range, _core.Tensor):
        examples = list(examples)  # as they would be taken one by one
    given = cast("list[Any] | tuple[Any, ...]", examples)
    call = _compiled(function)
    replay = replay and call is None and type(examples) in (list, tuple)
    results = _core.map_cell(function, given, width) if replay else None
    found = find_mapped(function) if results is None else None
    before = Counts.now()
    if replay and found is not None:
        known, body = found
        results = known.run(body, given, width)
    if results is not None:
        _core.draw_map()  # as if streams had been made for the examples
        if hub is None:
            _compute(results, return_exceptions)
            done = Counts.now().since(before)
            if found is not None and found[0].replays.lose(len(results), done):
                found[0].is_off = True
        return results
    if hub is not None:
        return _nested(hub, function, iter(examples), width, return_exceptions)
    if found is None or batch or not _core.is_plain():
        return _batched(function, iter(examples), width, return_exceptions)
    results = _weighed(
        found[0],
        function,
        iter(examples),
        width,
        return_exceptions,
        declared=call is not None,
        may_compile=compile,
    )
    done = Counts.now().since(before)
    if done.plans and not done.instructions:
        found[0].replays.note_fibers(len(results), done)
    return results


def _weighed(
    known: Mapped,
    function: Callable[[Any], Any],
    examples: Iterator[Any],
    width: int,
    return_exceptions: bool,
    *,
    declared: bool,
    may_compile: bool,
) -> list[Any]:
    """Run a map in the way that its function's maps before this one speak for."""
    training = _core.is_grad_enabled()
    worth, engine = known.worth[training], known.engines[training]
    if worth.steps_aside():
        return _one_by_one(function, examples, return_exceptions)
    as_tasks = not declared and may_compile and engine.wants_tasks
    if as_tasks and not known.compiles(function):
        engine.settle("not all of it is compiled (see weft.compile(...).explain())")
        as_tasks = False
    before = Counts.now()
    try:
        call = _core.CompiledCall(function) if as_tasks else function
        results = _batched(call, examples, width, return_exceptions)
    except Exception:
        if as_tasks:  # Python's own tracebacks have the variables, too
            engine.settle("an example raised an exception")
        raise
    done = Counts.now().since(before)
    if not declared and may_compile:
        engine.note(len(results), done, training=training)
    if declared or engine.is_decided or not may_compile:
        worth.judge(len(results), done, training=training)
    return results


def _batched(
    function: Callable[[Any], Any], examples: Iterator[Any], width: int, return_exceptions: bool
) -> list[Any]:
    results = _outermost(function, examples, width, return_exceptions)
    _compute(results, return_exceptions)
    return results


def _not_a_function(function: Any, examples: Any) -> TypeError:
    kind = type(function).__name__
    if callable(examples):
        return TypeError(
            "map takes the function first: weft.map(function, examples). It was given "
            f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} first, and the function second."
        )
    return TypeError(f"map: function must be something to call with one example, not a {kind}")


def _compute(results: list[Any], return_exceptions: bool) -> None:
    """Compute all tensors in the results together: one after the other they would not be a batch.

    If that fails, computing each example's by themselves tells which one is to blame.
    """
    try:
        _core.run_tensors(tensors_in(results), len(results))
    except Exception:  # noqa: BLE001 - raised again below
        for index, result in enumerate(results):
            try:
                _core.run_tensors(tensors_in(result), 1)
            except Exception as error:
                results[index] = _with_note(error, index)
                if not return_exceptions:
                    raise


def _one_by_one(
    function: Callable[[Any], Any], examples: Iterable[Any], return_exceptions: bool
) -> list[Any]:
    before = _core.keep_modes()
    iterator = iter(examples)
    streams = Streams()

    def run() -> list[Any]:
        _core.set_lazy(False)
        modes = _core.keep_modes()
        results: list[Any] = []
        while (example := streams.take(iterator)) is not _NO_MORE:
            streams.start(len(results))
            try:
                results.append(copy_context().run(function, example))
            except Exception as error:
                _with_note(error, len(results))
                if not return_exceptions:
                    raise
                results.append(error)
            finally:
                _core.give_modes(modes)
        return results

    def end() -> None:
        _core.give_modes(before)
        streams.restore()

    return _core.run_then(run, end)


def _outermost(
    function: Callable[[Any], Any], examples: Iterator[Any], width: int, return_exceptions: bool
) -> list[Any]:
    before = _core.keep_modes()
    hub = Hub()
    fibers: Fibers | None = None

    def run() -> list[Any]:
        nonlocal fibers
        _running.hub = hub
        fibers = _examples(hub, function, examples, width, return_exceptions, lambda: None)
        while hub and not fibers.failed:
            hub.turn()
        _core.watch_map(min(width, len(fibers.results)))
        return fibers.finish()

    def end() -> None:
        hub.close()
        _running.hub = None
        _core.give_modes(before)
        if fibers is not None:
            fibers.streams.restore()

    return _core.run_then(run, end)


def _nested(
    hub: Hub,
    function: Callable[[Any], Any],
    examples: Iterator[Any],
    width: int,
    return_exceptions: bool,
) -> list[Any]:
    """Inside a fiber: more fibers for the same hub; this one waits until they are done."""
    if hub.closed:
        raise GreenletExit
    _core.refuse_inside_locks()
    waiting = getcurrent()
    fibers = _examples(
        hub, function, examples, width, return_exceptions, lambda: hub.ready.append(waiting)
    )
    hub.wait()
    fibers.streams.restore()
    return fibers.finish()
