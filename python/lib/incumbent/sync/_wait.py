"""Waits on a thread, with the interpreter's lock released."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from incumbent import _incumbent
from incumbent.errors import TimedOutError

T = TypeVar("T")
U = TypeVar("U")


def _is_main() -> bool:
    # Python handles signals, such as Ctrl-C, on this thread: its waits check for them.
    return threading.current_thread() is threading.main_thread()


class _Deadline:
    """A time limit that several waits share."""

    __slots__ = ("_at", "_timeout")

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._at = None if timeout is None else time.monotonic() + timeout

    def left(self) -> float | None:
        return None if self._at is None else max(0.0, self._at - time.monotonic())

    def missed(self) -> TimedOutError:
        return TimedOutError(f"nothing came within {self._timeout} s")


def answer(operation: _incumbent.Operation[T], timeout: float | None = None) -> T:
    """Waits for an operation, and cancels it when the wait is interrupted or times out."""
    deadline, is_main = _Deadline(timeout), _is_main()
    try:
        while (taken := operation.take()) is None:
            if not operation.wait(deadline.left(), is_main):
                raise deadline.missed()
    except BaseException:
        operation.cancel()
        raise
    return taken[0]


class Stream(Generic[U]):
    """A feed of the compiled part, as an iterator."""

    __slots__ = ("_convert", "_feed", "_timeout")

    def __init__(
        self, feed: _incumbent.Feed[T], convert: Callable[[T], U], timeout: float | None = None
    ) -> None:
        self._feed: _incumbent.Feed[Any] = feed
        self._convert: Callable[[Any], U] = convert
        self._timeout = timeout

    @property
    def missed(self) -> int:
        """The number of items that were dropped because they were not read in time."""
        return self._feed.missed

    def __iter__(self) -> Stream[U]:
        return self

    def __next__(self) -> U:
        deadline, is_main = _Deadline(self._timeout), _is_main()
        while (taken := self._feed.take()) is None:
            if not self._feed.wait(deadline.left(), is_main):
                raise deadline.missed()
        if not taken:
            raise StopIteration
        return self._convert(taken[0])

    def close(self) -> None:
        """Ends the iteration: nothing more is read, and waiters are notified."""
        self._feed.close()
