"""Waits on a thread, with the interpreter's lock released."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from incumbent import _green, _incumbent
from incumbent.errors import TimedOutError

T = TypeVar("T")
U = TypeVar("U")

STOP = 0.1
"""The longest delay, in seconds, of a stop from another thread or a signal."""


class Stopped(BaseException):
    """The wait was ended from another thread, or by a signal."""


def _is_ready(
    source: _incumbent.Operation[T] | _incumbent.Feed[T],
    timeout: float | None,
    posted: list[_incumbent.Mailbox],
) -> bool:
    """Waits until there may be something to take; returns whether there may. ``posted`` are the mailboxes of earlier waits
    for the same source that timed out."""
    select = _green.select()
    if select is None:
        # Python handles signals, such as Ctrl-C, on the main thread: its waits check for them.
        return source.wait(timeout, threading.current_thread() is threading.main_thread())
    if posted:
        mailbox = posted.pop()
    else:
        mailbox = _incumbent.Mailbox()
        if not source.post(mailbox, 1):
            return True
    try:
        readable = bool(select([mailbox.fileno()], [], [], timeout)[0])
    except BaseException:
        posted.append(mailbox)
        raise
    if not readable:
        posted.append(mailbox)
    return readable


class _Deadline:
    """A time limit that several waits share."""

    __slots__ = ("_at", "_timeout")

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._at = None if timeout is None else time.monotonic() + timeout

    def left(self) -> float | None:
        return None if self._at is None else max(0.0, self._at - time.monotonic())

    def missed(self) -> TimedOutError:
        return TimedOutError(f"nothing arrived within {self._timeout} s")


def answer(
    operation: _incumbent.Operation[T],
    timeout: float | None = None,
    is_stopped: Callable[[], bool] | None = None,
) -> T:
    """Waits for an operation, and cancels it when the wait is interrupted or times out; raises :class:`Stopped` once
    ``is_stopped`` returns true."""
    deadline = _Deadline(timeout)
    posted: list[_incumbent.Mailbox] = []
    try:
        while (taken := operation.take()) is None:
            left = deadline.left()
            if is_stopped is None:
                if not _is_ready(operation, left, posted):
                    raise deadline.missed()
            elif is_stopped():
                raise Stopped
            elif not _is_ready(operation, STOP if left is None else min(left, STOP), posted) and left == 0:
                raise deadline.missed()
    except BaseException:
        operation.cancel()
        raise
    return taken[0]


class Stream(Generic[U]):
    """A feed of the compiled part, as an iterator."""

    __slots__ = ("_convert", "_feed", "_posted", "_timeout")

    def __init__(
        self, feed: _incumbent.Feed[T], convert: Callable[[T], U], timeout: float | None = None
    ) -> None:
        self._feed: _incumbent.Feed[Any] = feed
        self._convert: Callable[[Any], U] = convert
        self._timeout = timeout
        self._posted: list[_incumbent.Mailbox] = []

    @property
    def missed(self) -> int:
        """The number of items that were dropped because they were not read in time."""
        return self._feed.missed

    def __iter__(self) -> Stream[U]:
        return self

    def __next__(self) -> U:
        deadline = _Deadline(self._timeout)
        while (taken := self._feed.take()) is None:
            if not _is_ready(self._feed, deadline.left(), self._posted):
                raise deadline.missed()
        if not taken:
            raise StopIteration
        return self._convert(taken[0])

    def close(self) -> None:
        """Ends the iteration: nothing more is read, and waiters are notified."""
        self._feed.close()
