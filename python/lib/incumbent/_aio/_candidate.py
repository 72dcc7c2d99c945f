"""A candidate, for asyncio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Union

from incumbent import _incumbent
from incumbent._aio._callbacks import Callbacks
from incumbent._aio._loop import answer
from incumbent._aio._stream import Stream
from incumbent._aio._term import Term
from incumbent._base import BaseCandidate, BaseTerms, is_end
from incumbent._types import Draining, LeaderChanged, Lost, Reason, State, StateChanged, Warning, Won, event_of

Event = Union[Won[Term], Draining[Term], Lost[Term], LeaderChanged, StateChanged, Warning]
"""An event of a candidate."""


class Terms(BaseTerms):
    """The terms of a candidate, as an asynchronous iterator; see :meth:`Candidate.terms`."""

    __slots__ = ()

    def __aiter__(self) -> Terms:
        return self

    async def __anext__(self) -> Term:
        operation = self._ask()
        try:
            hold = await answer(operation)
        finally:
            self._is_asked = False
        if hold is None:
            raise StopAsyncIteration
        from asyncio import current_task

        return self._begin(hold, current_task(), Term)

    async def aclose(self) -> None:
        """Ends the iteration."""
        self._finish()


class Candidate(BaseCandidate[Term]):
    """A participant of an election, made by :meth:`Store.campaign`.

    It campaigns until it is closed: after a lost term it campaigns for the next. As an asynchronous context manager it
    closes itself at the end. Dropping it without closing it ends its term at once, releases the key in the background,
    and causes a :class:`ResourceWarning`.
    """

    __slots__ = ()
    _term_type = Term

    async def next_term(self) -> Term:
        """Waits for the current or the next term. Does not hold the term: ``async with term`` does that.

        Raises :class:`ClosedError` when the campaign is over.
        """
        return self._won(await answer(self._native.next_term(None)))

    def terms(self) -> Terms:
        """Yields every term of this candidate once, until the campaign is over::

            async for term in candidate.terms():
                async with term:
                    await work(term.token)

        The body of the loop is work of the term: a drain waits for it. When the body ends before the term does, the
        term continues, and the loop proceeds to the next term.
        """
        return Terms(self._native)

    async def lead(self, work: Callable[[Term], Awaitable[object]]) -> None:
        """Runs ``work(term)`` in every term of this candidate, until the campaign is over::

            await candidate.lead(relay_the_outbox)

        The work is cancelled the moment its term ends. When it returns before that, the term continues; call
        :meth:`resign` as the last step to leave instead. When it raises, the term ends with
        :attr:`Reason.HANDLER_FAILED`, the event loop's exception handler gets the error, and the candidate campaigns
        again after a delay. Cancelling this call cancels the work and resigns.
        """
        terms = self.terms()
        try:
            async for term in terms:
                await self._lead(term, work)
        finally:
            await terms.aclose()

    async def _lead(self, term: Term, work: Callable[[Term], Awaitable[object]]) -> None:
        from asyncio import CancelledError, get_running_loop

        try:
            async with term:
                await work(term)
        except CancelledError:
            if term.is_current():
                # Sent at once; the cancelling caller does not wait for it.
                self._native.resign(inside=True)
            raise
        except Exception as error:
            if term._is_failed_by(error) and not is_end(error):
                message = f"the work of a term of the election {term.election!r} failed"
                get_running_loop().call_exception_handler({"message": message, "exception": error})

    def events(self) -> Stream[Event]:
        """Returns the events from now on, beginning with the current state, as an asynchronous iterator. Each call
        returns a separate iterator.

        Slow readers delay nothing: a reader that falls 1024 events behind loses the oldest events other than ``Won``
        and ``Lost``, and ``missed`` counts them. Reading an event does not hold its term.
        """
        return Stream(self._native.events(), partial(event_of, term_of=Term))

    def attach(
        self,
        *,
        on_won: Callable[[Term], object] | None = None,
        on_draining: Callable[[Term, float], object] | None = None,
        on_lost: Callable[[Term, Reason], object] | None = None,
        on_state_changed: Callable[[State], object] | None = None,
        on_warning: Callable[[Warning], object] | None = None,
        on_missed: Callable[[int], object] | None = None,
        error_ends_term: bool = False,
    ) -> None:
        """Calls functions, async or not, for the events from now on, beginning with the current state, until the campaign
        is over.

        They are called one at a time, in order, on the event loop of this call: a slow one only delays those after it, so
        the work of a term belongs into :meth:`lead`, and what finishes it into the setting ``drain``. Callbacks that fall
        1024 events behind miss some: ``on_missed`` gets their number, before the next event. ``on_draining`` gets the
        seconds it may take. The term is held until it has returned, even where the leader leaves before any callback has
        learned of the win.
        ``sys.unraisablehook`` reports an error that a callback raises, and so does the logger ``incumbent`` where logging is
        configured; with ``error_ends_term`` an error of ``on_won`` or ``on_draining`` ends the term.
        """
        callbacks = Callbacks(on_won, on_draining, on_lost, on_state_changed, on_warning, on_missed)
        callbacks.start(self._native, error_ends_term=error_ends_term)

    async def resign(self) -> None:
        """Gives up leadership, if this candidate leads, and keeps campaigning behind the other candidates.

        Returns once the work has drained and the key is released. Called inside that work, for example in an ``async
        with term``, it returns as soon as the term is draining, since the drain waits for that work.
        """
        await answer(self._native.resign(self._is_inside()))

    async def hand_over(self, to: str) -> None:
        """Hands leadership over to the candidate named ``to``; otherwise like :meth:`resign`.

        Other candidates hold back for a moment; if the successor does not acquire the key, one of them does. Raises
        :class:`NotLeaderError` if this candidate does not lead.
        """
        await answer(self._native.hand_over(to, self._is_inside()))

    async def close(self) -> None:
        """Gives up leadership and ends the campaign; otherwise like :meth:`resign`. Closing twice is not an error."""
        await answer(self._native.close(self._is_inside()))

    async def __aenter__(self) -> Candidate:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
