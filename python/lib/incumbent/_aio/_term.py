"""A term, for asyncio."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

from incumbent import _incumbent, _inside
from incumbent._aio._loop import answer, wakeups
from incumbent._base import BaseTerm, is_end
from incumbent._types import Reason
from incumbent.errors import TermEnded

if TYPE_CHECKING:
    import asyncio


class _Scope(_inside.Work):
    """The body of one ``async with term``."""

    __slots__ = ("_cancelling", "_ended", "_message", "_post", "_task", "fired")

    def __init__(self, face: Term, task: asyncio.Task[Any]) -> None:
        term = face._native
        _inside.hand_on(term, task)
        super().__init__(term, face)
        self.fired = False
        self._task = task
        self._post = wakeups()
        self._cancelling: int = task.cancelling() if sys.version_info >= (3, 11) else 0
        self._ended = term.ended()
        self._message = self._post.listen(self._ended, self._end)
        if not self._message:
            # Deferred, because the body has to run before it can be cancelled.
            self._post.loop.call_soon(self._end)

    def _end(self) -> None:
        if self.hold is not None and not self.fired:
            self.fired = True
            self._task.cancel()

    def is_of(self, task: asyncio.Task[Any] | None) -> bool:
        """Whether that task entered it."""
        return self._task is task

    def is_done(self) -> bool:
        """Whether the task that entered it has ended."""
        return self._task.done()

    def leave(self, kind: type[BaseException] | None, task: asyncio.Task[Any] | None) -> bool:
        """Ends the scope. Returns whether the body was cancelled because the term ended, and for no other reason."""
        self.finish()
        self._post.forget(self._message)
        self._ended.cancel()
        if not self.fired or not self.is_of(task):
            # The task that entered the term was cancelled, not the task that leaves it.
            return False
        if sys.version_info >= (3, 11) and self._task.uncancel() > self._cancelling:
            return False
        from asyncio import CancelledError

        return kind is not None and issubclass(kind, CancelledError)


class Term(BaseTerm):
    """An uninterrupted leadership.

    ``async with term:`` is the work of a leader. Its body is cancelled the moment the term ends, like the body of
    ``asyncio.timeout`` at its deadline, and then raises :class:`TermEnded` with the reason. When the leader leaves of
    its own accord, the term drains first: it continues until every such body is left, or the drain time is over.

    One task may enter a term and another leave it, as when a framework runs a fixture or a dependency. The end of the
    term then cancels the task that entered, if it still runs.
    """

    __slots__ = ("_scopes",)

    def __init__(self, native: _incumbent.Term) -> None:
        super().__init__(native)
        self._scopes: list[_Scope] = []

    async def __aenter__(self) -> Term:
        from asyncio import current_task

        task = current_task()
        if task is None:
            message = "`async with term` has to be inside a task"
            raise RuntimeError(message)
        self.check()
        self._scopes.append(_Scope(self, task))
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
        # Several bodies of a task may work for a term at once: takes the innermost. If this task has none, another task
        # entered for it, and has most likely ended since.
        scope = max(reversed(self._scopes), key=lambda scope: (scope.is_of(task), scope.is_done()))
        self._scopes.remove(scope)
        is_ended = scope.leave(kind, task)
        # A task group wraps the end of the term that one of its tasks has found.
        if is_ended or (is_end(error) and not isinstance(error, TermEnded) and not self.is_current()):
            raise TermEnded(self.reason or Reason.EXPIRED) from error

    async def ended(self) -> Reason:
        """Waits until the term is over, and returns the reason. Does not hold the term."""
        return Reason(await answer(self._native.ended()))

    async def draining(self) -> None:
        """Waits until the leader begins to leave of its own accord, or the term is over. Does not hold the term."""
        await answer(self._native.draining())
        self._drain.is_noticed = True


def current_term() -> Term | None:
    """Returns the term whose work the caller is part of; None outside of such work.

    For code deep inside of that work, which sends the token or checks the term::

        def charge(invoice):
            term = incumbent.current_term()
            if term is not None:
                term.check()

    The work is an ``async with term``, the body of a loop over :meth:`Candidate.terms`, a function that ``leader_only``
    guards, or one that ``run`` or ``lead`` has called. Tasks, and functions of ``asyncio.to_thread``, inherit the term
    from what started them, and keep it after its end: ``check()`` raises then. Other threads do not inherit it.
    """
    return Term._seen_as(_inside.current())
