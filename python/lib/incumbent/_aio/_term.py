"""A term, for asyncio."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from incumbent import _incumbent, _inside
from incumbent._aio._loop import answer, post
from incumbent._base import BaseTerm
from incumbent._types import Reason
from incumbent.errors import TermEnded

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType


class _Scope(_inside.Work):
    """The body of one ``async with term``."""

    __slots__ = ("_cancelling", "_ended", "_letter", "_post", "_task", "fired")

    def __init__(self, term: _incumbent.Term, task: asyncio.Task[Any]) -> None:
        _inside.hand_on(term, task)
        super().__init__(term)
        self.fired = False
        self._task = task
        self._post = post()
        self._cancelling: int = task.cancelling() if sys.version_info >= (3, 11) else 0
        self._ended = term.ended()
        self._letter = self._post.listen(self._ended, self._end)
        if not self._letter:
            # Not from here: the body has to be running to be cancelled.
            self._post.loop.call_soon(self._end)

    def _end(self) -> None:
        if self.hold is not None and not self.fired:
            self.fired = True
            self._task.cancel()

    def is_of(self, task: asyncio.Task[Any] | None) -> bool:
        """Whether it was entered by that task."""
        return self._task is task

    def is_done(self) -> bool:
        """Whether the task that entered it has ended."""
        return self._task.done()

    def leave(self, kind: type[BaseException] | None, task: asyncio.Task[Any] | None) -> bool:
        """Whether the body was cancelled because the term ended, and for no other reason."""
        self.finish()
        self._post.forget(self._letter)
        self._ended.cancel()
        if not self.fired or not self.is_of(task):
            # What was cancelled then is the task that entered it, and not the one that leaves it.
            return False
        if sys.version_info >= (3, 11) and self._task.uncancel() > self._cancelling:
            return False
        from asyncio import CancelledError

        return kind is not None and issubclass(kind, CancelledError)


class Term(BaseTerm):
    """One uninterrupted leadership.

    ``async with term:`` is the work of a leader. Its body is cancelled the moment the term ends, as that of
    ``asyncio.timeout`` is at its deadline, and then raises :class:`TermEnded` with the reason. When the leader
    leaves of its own will, the term is drained first: it goes on until every such body is left, or the drain
    time is over.

    It may be left in another task than it was entered in, as what a framework does to a fixture or a dependency. It is
    the task that entered it which is cancelled then, where it still runs.
    """

    __slots__ = ("_scopes",)

    def __init__(self, native: _incumbent.Term) -> None:
        super().__init__(native)
        self._scopes: list[_Scope] = []

    async def __aenter__(self) -> Term:
        from asyncio import current_task

        task = current_task()
        if task is None:
            message = "`async with term` has to be inside of a task"
            raise RuntimeError(message)
        self.check()
        self._scopes.append(_Scope(self._native, task))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from asyncio import current_task

        if not self._scopes:
            raise _inside.left_too_often()
        task = current_task()
        # The innermost of this task's, as several may work for a term at once. Where it has none, another task has entered
        # for it: most likely one that has ended since.
        scope = max(reversed(self._scopes), key=lambda scope: (scope.is_of(task), scope.is_done()))
        self._scopes.remove(scope)
        if scope.leave(kind, task):
            raise TermEnded(self.reason or Reason.EXPIRED) from error

    async def ended(self) -> Reason:
        """Waits until the term is over, and says why. It does not hold the term."""
        return Reason(await answer(self._native.ended()))

    async def draining(self) -> None:
        """Waits until the leader begins to leave of its own will, or the term is over. It does not hold the term."""
        await answer(self._native.draining())
