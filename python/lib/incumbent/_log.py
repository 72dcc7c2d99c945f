"""Hands log records to the logger ``incumbent``.

The logger has no handler of its own: if a program does not configure logging, Python prints warnings and errors.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import deque
from typing import Any

from incumbent import _green, _incumbent, _thread

logger = logging.getLogger("incumbent")


def start() -> None:
    """Begins to forward log records. Called when the first store is opened, in a forked child too.

    Records are taken on a Python thread. Another thread would have to create and delete an interpreter state for each
    record, and a fork at that moment would leave the child with a lock that is held forever.
    """
    if _incumbent.keep_logs():
        _thread.start(_forward if _green.select() is None else _forward_from_a_thread, "incumbent-log")
    refresh()


def refresh() -> None:
    """Sets the threshold of the compiled part to the level of the logger."""
    _incumbent.set_log_threshold(min(logger.getEffectiveLevel(), 255))


class _Levels(dict[int, bool]):
    """What a logger remembers of its level. Python clears it whenever a level is set, of this logger or another."""

    def clear(self) -> None:
        super().clear()
        refresh()


# The compiled part logs nothing below its threshold, so it has to know of a level that is set later.
logger._cache = _Levels()  # type: ignore[attr-defined, unused-ignore]


def _forward() -> None:
    while records := _incumbent.take_logs():
        for record in records:
            _try_to_emit(*record)


def _forward_from_a_thread() -> None:
    """Does the same on a greenlet: the locks of ``logging`` are greenlets' own, and taking records stops a thread."""
    reader, writer = os.pipe()
    taken: deque[Any] = deque()

    def take() -> None:
        while records := _incumbent.take_logs():
            taken.extend(records)
            os.write(writer, b"\0")
        os.close(writer)

    # A thread of the operating system: ``take`` uses no lock of the program.
    gevent: Any = sys.modules.get("gevent.monkey")
    eventlet: Any = sys.modules.get("eventlet.patcher")
    if gevent is not None and gevent.is_module_patched("threading"):
        start: Any = gevent.get_original("_thread", "start_new_thread")
    else:
        start = eventlet.original("_thread").start_new_thread
    start(take, ())
    wait = _green.select()
    while wait is not None:
        wait([reader], [], [])
        is_over = not os.read(reader, 4096)
        while taken:
            _try_to_emit(*taken.popleft())
        if is_over:
            break
    os.close(reader)


def failed(error: BaseException, source: object) -> None:
    """Reports an error of a function of the program, which no caller can catch.

    ``sys.unraisablehook`` gets it, and the logger if logging is configured: otherwise Python would print it twice.
    """
    if logger.hasHandlers():
        shown = getattr(source, "__qualname__", None) or repr(source)
        logger.error("%s failed", shown, exc_info=error)
    _incumbent.report(error, source)


def _try_to_emit(level: int, target: str, message: str, fields: list[tuple[str, str]]) -> None:
    try:
        _emit(level, target, message, fields)
    except Exception as error:
        _incumbent.report(error, _emit)


def _emit(level: int, target: str, message: str, fields: list[tuple[str, str]]) -> None:
    ours = target.split("::")[0].startswith("incumbent")
    to = logger if ours else logger.getChild(target.split("::")[0].replace("async_", ""))
    if to.isEnabledFor(level):
        about = " ".join(f"{name}={value}" for name, value in fields)
        shown = f"{message} ({about})" if about else message
        to.log(level, "%s", shown, extra={"incumbent": dict(fields)})
    refresh()
