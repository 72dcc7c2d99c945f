"""A candidate, for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from incumbent import _incumbent
from incumbent._aio._loop import answer
from incumbent._aio._stream import Stream
from incumbent._aio._term import Term
from incumbent._base import BaseCandidate, BaseTerms
from incumbent._types import Draining, LeaderChanged, Lost, StateChanged, Warning, Won, event_of
from incumbent.errors import TermEnded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Event = Union[Won[Term], Draining[Term], Lost[Term], LeaderChanged, StateChanged, Warning]
"""Something the user of a candidate should know."""


class Terms(BaseTerms):
    """The terms of a candidate, one after another, as an asynchronous iterator; see :meth:`Candidate.terms`."""

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

        return Term(self._begin(hold, current_task()))

    async def aclose(self) -> None:
        """Ends the iteration."""
        self._finish()


class Candidate(BaseCandidate[Term]):
    """One participant of an election, made by :meth:`Store.campaign`.

    It campaigns until it is closed, over and over: a candidate that lost a term is in the race for the next. As an
    asynchronous context manager it closes itself at the end. One that is dropped without being closed ends its
    term at once, and gives the seat back in the background.
    """

    __slots__ = ()
    _term_type = Term

    async def next_term(self) -> Term:
        """Waits for the present or the next term. The term is not held: ``async with term`` does that.

        Raises :class:`ClosedError` when the campaign is over.
        """
        return self._won(await answer(self._native.next_term(None)))

    def terms(self) -> Terms:
        """Every term of this candidate, each once, until the campaign is over::

            async for term in candidate.terms():
                async with term:
                    await work(term.token)

        The body of the loop is work of the term: a drain waits for it. When it ends before the term does, the term
        goes on, and the next turn begins with the next term.
        """
        return Terms(self._native)

    async def lead(self, work: Callable[[Term], Awaitable[object]]) -> None:
        """Runs ``work(term)`` in every term of this candidate, until the campaign is over::

            await candidate.lead(relay_the_outbox)

        The work is cancelled the moment its term ends. When it returns before that, the term goes on; call
        :meth:`resign` as the last thing to leave instead. When it raises, the term ends with
        :attr:`Reason.HANDLER_FAILED`, the error goes to the event loop's exception handler, and the candidate campaigns
        again after a while. Cancelling this call cancels the work and resigns.
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
        except TermEnded:
            # Of this term, or of what the work itself asked of it.
            if term.is_current():
                term.fail()
        except CancelledError:
            if term.is_current():
                # Sent at once; the caller that cancels does not wait for it.
                self._native.resign(inside=True)
            raise
        except Exception as error:
            term.fail()
            message = f"the work of a term of the election {term.election!r} failed"
            get_running_loop().call_exception_handler({"message": message, "exception": error})

    def events(self) -> Stream[_incumbent.EventTuple, Event]:
        """What happens from now on, beginning with what holds now, as an asynchronous iterator of its own for every
        caller.

        Nothing waits for a reader: one that falls 1024 events behind loses the oldest that are neither ``Won`` nor
        ``Lost``, and ``missed`` counts them. Reading an event does not hold its term.
        """
        return Stream(self._native.events(), self._event)

    async def resign(self) -> None:
        """Leaves the seat, if this candidate holds it, and stays in the race behind the others.

        Returns once the work has drained and the seat is given back. Inside of that work, an ``async with term``
        say, it returns as soon as the term is draining, since it cannot end before that very code does.
        """
        await answer(self._native.resign(self._is_inside()))

    async def hand_over(self, to: str) -> None:
        """Leaves the seat to the candidate named ``to``; otherwise as :meth:`resign`.

        The others hold back for a moment; if the successor does not take the seat, one of them does. Raises
        :class:`NotLeaderError` where this candidate does not lead.
        """
        await answer(self._native.hand_over(to, self._is_inside()))

    async def close(self) -> None:
        """Leaves the seat and the race for good; otherwise as :meth:`resign`. Closing twice is no error."""
        await answer(self._native.close(self._is_inside()))

    async def __aenter__(self) -> Candidate:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
