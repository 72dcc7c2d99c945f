"""Delivers wake-ups of the compiled part to an event loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, TypeVar, Union
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from incumbent import _incumbent
from incumbent.errors import BrokenError, TimedOutError

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

Source = Union["_incumbent.Operation[T]", "_incumbent.Feed[T]"]


# Imported late: asyncio takes longer to import than this package, and a program without a loop does not need it.
def running() -> asyncio.AbstractEventLoop:
    """Returns the event loop of the caller."""
    from asyncio import get_running_loop

    try:
        return get_running_loop()
    except RuntimeError:
        message = (
            "no asyncio event loop runs here: await this inside asyncio.run(), uvloop, or anyio on asyncio; trio is "
            "not supported, so use incumbent.sync on a thread there"
        )
        raise RuntimeError(message) from None


class Wakeups:
    """Delivers wake-ups to one event loop.

    The loop watches a file descriptor, which the thread with the result writes directly: without another thread, and
    without the interpreter's lock. A loop that cannot watch descriptors, as on Windows, is called back from a thread.
    """

    __slots__ = ("__weakref__", "_mailbox", "_probe", "_waiting", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._waiting: dict[int, Callable[[], object]] = {}
        self._mailbox: _incumbent.Mailbox | None = None
        try:
            mailbox = _incumbent.Mailbox()
            probe = _incumbent.LoopProbe.of_mailbox(mailbox)
            # This makes the loop keep `self` and its probe until the loop is closed.
            loop.add_reader(mailbox.fileno(), self._deliver, probe)
            self._mailbox = mailbox
        except (NotImplementedError, BrokenError):
            probe = _called(loop)
        self._probe = ref(probe)

    @property
    def probe(self) -> _incumbent.LoopProbe | None:
        """The probe that checks whether the loop runs; None once the loop is closed."""
        return self._probe()

    def listen(self, source: Source[T], callback: Callable[[], object]) -> int:
        """Makes the loop call back once when there may be something to take. Returns a number for :meth:`forget`.

        Returns zero if there may already be something: the caller then takes it.
        """
        message = next(_MESSAGES)
        if self._mailbox is None:
            return message if source.wake(partial(_call, self.loop, callback)) else 0
        self._waiting[message] = callback
        if source.post(self._mailbox, message):
            return message
        del self._waiting[message]
        return 0

    def forget(self, message: int) -> None:
        """Drops a callback that is no longer needed."""
        self._waiting.pop(message, None)

    def is_of(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether it delivers to that loop, in this process."""
        return self.loop is loop and not (self._mailbox is not None and self._mailbox.is_forked)

    def _deliver(self, probe: _incumbent.LoopProbe) -> None:
        """Calls the callbacks of the messages in the mailbox. Taking them also proves that the loop runs.

        The argument ``probe`` makes the loop, and only the loop, keep it.
        """
        if self._mailbox is None:
            return
        for message in self._mailbox.take():
            callback = self._waiting.pop(message, None)
            if callback is not None:
                callback()


_MESSAGES = count(1)
_WAKEUPS: WeakValueDictionary[int, Wakeups] = WeakValueDictionary()
# The probes of loops that cannot watch file descriptors.
_PROBES: WeakKeyDictionary[asyncio.AbstractEventLoop, _incumbent.LoopProbe] = WeakKeyDictionary()


def _called(loop: asyncio.AbstractEventLoop) -> _incumbent.LoopProbe:
    """Returns the probe of a loop that is called back from a thread."""
    probe = _PROBES.get(loop)
    if probe is None:
        probe = _PROBES[loop] = _incumbent.LoopProbe.called(partial(_ask, ref(loop)))
    return probe


def _ask(at: ref[asyncio.AbstractEventLoop]) -> None:
    """Asks the loop from another thread to prove that it runs."""
    loop = at()
    probe = None if loop is None else _PROBES.get(loop)
    if loop is None or probe is None:
        return
    try:
        loop.call_soon_threadsafe(probe.answered)
    except RuntimeError:
        # The loop is closed.
        probe.stop()


def wakeups() -> Wakeups:
    """Returns the wake-ups of the caller's event loop."""
    loop = running()
    present = _WAKEUPS.get(id(loop))
    if present is None or not present.is_of(loop):
        present = _WAKEUPS[id(loop)] = Wakeups(loop)
    return present


def _call(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    """Makes the loop call back, from another thread. Ignores a closed loop."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        if not loop.is_closed():
            raise


def settle(future: asyncio.Future[None]) -> None:
    """Wakes the task that waits for ``future``."""
    if not future.done():
        future.set_result(None)


async def answer(operation: _incumbent.Operation[T], timeout: float | None = None) -> T:
    """Waits for an operation, and cancels it when the caller is cancelled or the timeout is over."""
    here, message = wakeups(), 0
    until = None if timeout is None else here.loop.time() + timeout
    try:
        while (taken := operation.take()) is None:
            if until is not None and here.loop.time() >= until:
                raise TimedOutError(f"nothing arrived within {timeout} s")
            future: asyncio.Future[None] = here.loop.create_future()
            if message := here.listen(operation, partial(settle, future)):
                timer = None if until is None else here.loop.call_at(until, settle, future)
                try:
                    await future
                finally:
                    if timer is not None:
                        timer.cancel()
    except BaseException:
        here.forget(message)
        operation.cancel()
        raise
    return taken[0]
