"""How what is ready reaches an event loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, TypeVar, Union
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from incumbent import _incumbent
from incumbent.errors import BrokenError

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

Source = Union["_incumbent.Operation[T]", "_incumbent.Feed[T]"]


# Importing asyncio costs more than all of this package, and a program without a loop has no use for it.
def running() -> asyncio.AbstractEventLoop:
    """The event loop of whoever calls."""
    from asyncio import get_running_loop

    return get_running_loop()


class Post:
    """Brings what rings to one event loop.

    The loop watches a file descriptor, which is written to wherever something rings: neither a thread of ours nor the
    interpreter's lock comes in between. A loop that can watch none, as on Windows, is called back from a thread.
    """

    __slots__ = ("__weakref__", "_mailbox", "_pulse", "_waiting", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._waiting: dict[int, Callable[[], object]] = {}
        self._mailbox: _incumbent.Mailbox | None = None
        try:
            mailbox = _incumbent.Mailbox()
            pulse = _incumbent.Pulse.of_mailbox(mailbox)
            # The loop keeps us by this, and its pulse, until it is closed.
            loop.add_reader(mailbox.fileno(), _deliver, self, pulse)
            self._mailbox = mailbox
        except (NotImplementedError, BrokenError):
            pulse = _called(loop)
        self._pulse = ref(pulse)

    @property
    def pulse(self) -> _incumbent.Pulse | None:
        """Whether the loop turns; None once it is closed."""
        return self._pulse()

    def listen(self, source: Source[T], callback: Callable[[], object]) -> int:
        """Has the loop call back, once, when there may be something to take: a number by which to :meth:`forget` it.

        Zero where there may be something already: look.
        """
        letter = next(_LETTERS)
        if self._mailbox is None:
            return letter if source.tell(partial(_call, self.loop, callback)) else 0
        self._waiting[letter] = callback
        if source.write(self._mailbox, letter):
            return letter
        del self._waiting[letter]
        return 0

    def forget(self, letter: int) -> None:
        """Nobody waits for it any more."""
        self._waiting.pop(letter, None)

    def is_of(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether it brings to that loop, in this process."""
        return self.loop is loop and not (self._mailbox is not None and self._mailbox.is_forked)

    def deliver(self) -> None:
        """Calls back who is written to. That the loop turns is known by this, too."""
        if self._mailbox is None:
            return
        for letter in self._mailbox.take():
            callback = self._waiting.pop(letter, None)
            if callback is not None:
                callback()


def _deliver(post: Post, pulse: _incumbent.Pulse) -> None:
    """There is something in the mailbox. The pulse is here to be kept by the loop and by nothing else."""
    post.deliver()


_LETTERS = count(1)
_POSTS: WeakValueDictionary[int, Post] = WeakValueDictionary()
# Those of loops that can watch no file descriptor.
_PULSES: WeakKeyDictionary[asyncio.AbstractEventLoop, _incumbent.Pulse] = WeakKeyDictionary()


def _called(loop: asyncio.AbstractEventLoop) -> _incumbent.Pulse:
    """The pulse of a loop that is called back from a thread."""
    pulse = _PULSES.get(loop)
    if pulse is None:
        pulse = _PULSES[loop] = _incumbent.Pulse.called(partial(_ask, ref(loop)))
    return pulse


def _ask(at: ref[asyncio.AbstractEventLoop]) -> None:
    """Has the loop say that it turns, from another thread."""
    loop = at()
    pulse = None if loop is None else _PULSES.get(loop)
    if loop is None or pulse is None:
        return
    try:
        loop.call_soon_threadsafe(pulse.beat)
    except RuntimeError:
        # It is closed.
        pulse.stop()


def post() -> Post:
    """The post of the event loop of whoever calls."""
    loop = running()
    present = _POSTS.get(id(loop))
    if present is None or not present.is_of(loop):
        present = _POSTS[id(loop)] = Post(loop)
    return present


def _call(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    """Has the loop call back, from another thread; a loop that is closed is left alone."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        if not loop.is_closed():
            raise


def settle(future: asyncio.Future[None]) -> None:
    """Wakes who waits for it."""
    if not future.done():
        future.set_result(None)


async def answer(operation: _incumbent.Operation[T]) -> T:
    """Waits for an operation; cancelled, it gives up what was asked for."""
    here, letter = post(), 0
    try:
        while (taken := operation.take()) is None:
            future: asyncio.Future[None] = here.loop.create_future()
            if letter := here.listen(operation, partial(settle, future)):
                await future
    except BaseException:
        here.forget(letter)
        operation.cancel()
        raise
    return taken[0]
