"""A clean shutdown when the interpreter exits: leaders release their keys first, and nothing hangs.

Python exits in two steps. Once the main thread has ended it waits for every other thread that is no daemon, and for those of
executors: one that leads would keep it waiting. So the stores are closed before that, where there are such threads: their
work drains, their loops over terms end, and so do they. Then Python calls what ``atexit`` has. No thread runs for long after
that: what is left is released without waiting for its drain.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from incumbent import _incumbent
from incumbent.errors import ClosedError, IncumbentError

if TYPE_CHECKING:
    from incumbent._open import OpenStore

LIMIT = 3.0
"""The seconds that the release of all keys may take."""

GRACE = 1.0
"""The seconds that the callbacks after the release may take."""

threads: set[threading.Thread] = set()
"""The threads that run callbacks."""

stores: WeakSet[OpenStore] = WeakSet()
"""The stores that were opened."""

endings: list[Callable[[], object]] = []
"""Functions that end the runs on threads of this package; each ends within its drain time."""

is_leaving = False
"""Whether the main thread has ended, and the stores are closed for the threads that Python waits for."""

has_left = False
"""Whether everything was closed because the interpreter exits."""

_closing: list[_incumbent.Operation[None]] = []
"""The closing of the stores: a request whose operation is dropped may be cancelled."""

_is_first = False
"""Whether Python leaves by :func:`_begin` before it joins the threads of executors."""


def prepare() -> None:
    """Called when a store is opened. Raises :class:`ClosedError` where the main thread has ended."""
    global _is_first
    if is_leaving:
        message = (
            "no store is opened any more, because the main thread has ended and the interpreter exits: "
            "let the main thread wait, as with thread.join()"
        )
        raise ClosedError(message)
    if not _is_first:
        # Callbacks run in the reverse order of their registration. Executors register when their
        # module is imported.
        import concurrent.futures.thread

        _is_first = _register()


def _register() -> bool:
    """Has Python call :func:`_begin` before it joins threads; returns whether it will."""
    # This function is private but the only way, and executors use it too.
    register: Any = getattr(threading, "_register_atexit", None)
    if register is None:
        return False
    try:
        register(_begin)
    except RuntimeError:
        # Python is leaving already.
        return False
    return True


def _begin() -> None:
    global is_leaving
    main = threading.main_thread()
    if any(thread is not main and not thread.daemon for thread in threading.enumerate()):
        is_leaving = True
        for store in tuple(stores):
            try:
                _closing.append(store.close(True))
            except IncumbentError:
                # Inherited by a forked child.
                continue
    for end in tuple(endings):
        end()


def _leave() -> None:
    global has_left
    has_left = True
    if not _incumbent.is_running():
        return
    _incumbent.shut_down(LIMIT)
    for thread in list(threads):
        thread.join(GRACE)


# Here too: a program whose stores are all opened later, by other threads, must learn that it is leaving.
_register()
atexit.register(_leave)
