"""End what grows too long: a recording of a program in which no step ever ends.

Only the main thread can end its recording, and a program that runs op after op tells nobody. So a
thread looks at the length, and asks the interpreter to call back between two instructions of the
main thread.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

_SECONDS = 0.02

_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Overflow:
    """Look at something now and then, and call a function in the main thread if it is too long.

    Args:
        is_too_long: Called in a thread of its own.
        stop: Called in the main thread, soon after; it must be quick and must not raise.
        stopped: Called in the thread afterwards; may take its time.
    """

    def __init__(
        self,
        is_too_long: Callable[[], bool],
        stop: Callable[[], None],
        stopped: Callable[[], None],
    ) -> None:
        self._is_too_long = is_too_long
        self._stop = stop
        self._stopped = stopped
        self._callback = _Callback(self._call)
        self._called = threading.Event()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="weft-overflow", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def end(self) -> None:
        """Look no more."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(_SECONDS):
            if self._is_too_long():
                self._called.clear()
                ctypes.pythonapi.Py_AddPendingCall(self._callback, None)
                while not self._called.wait(_SECONDS):
                    if self._end.is_set():
                        return
                self._stopped()

    def _call(self, _: int | None) -> int:
        if not self._end.is_set():
            self._stop()
        self._called.set()
        return 0
