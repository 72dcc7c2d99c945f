"""A feed as an asynchronous iterator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import ref

from incumbent import _incumbent
from incumbent._aio._loop import Wakeups, wakeups

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
U = TypeVar("U")


class Stream(Generic[U]):
    """A feed of the compiled part, as an asynchronous iterator."""

    __slots__ = ("__weakref__", "_convert", "_feed", "_message", "_listening", "_waiting")

    def __init__(self, feed: _incumbent.Feed[T], convert: Callable[[T], U]) -> None:
        self._feed: _incumbent.Feed[Any] = feed
        self._convert: Callable[[Any], U] = convert
        self._waiting: set[asyncio.Future[None]] = set()
        # The wake-ups that have our callback, which is registered only once at a time, however many waits are
        # cancelled.
        self._listening: Wakeups | None = None
        self._message = 0

    @property
    def missed(self) -> int:
        """The number of items that were dropped because they were not read in time."""
        return self._feed.missed

    def __aiter__(self) -> Stream[U]:
        return self

    async def __anext__(self) -> U:
        while (taken := self._feed.take()) is None:
            here = wakeups()
            if self._listening is not here:
                # Weak: a stream that is dropped without being closed needs no wake-up.
                message = here.listen(self._feed, partial(_ring, ref(self), here))
                if not message:
                    continue
                self._listening, self._message = here, message
            future: asyncio.Future[None] = here.loop.create_future()
            self._waiting.add(future)
            try:
                await future
            finally:
                self._waiting.discard(future)
        if not taken:
            raise StopAsyncIteration
        return self._convert(taken[0])

    async def aclose(self) -> None:
        """Ends the iteration: nothing more is read, and waiters are notified."""
        self._feed.close()

    def __del__(self) -> None:
        if self._listening is not None:
            self._listening.forget(self._message)


def _ring(stream: ref[Stream[U]], at: Wakeups) -> None:
    """Wakes the readers, since there may be something to read."""
    me = stream()
    if me is None:
        return
    if me._listening is at:
        me._listening = None
    for future in me._waiting:
        if future.get_loop() is at.loop and not future.done():
            future.set_result(None)
