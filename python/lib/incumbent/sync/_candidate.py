"""A candidate, for threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Union

from incumbent import _incumbent
from incumbent._base import BaseCandidate, BaseTerms
from incumbent._types import (
    Draining,
    LeaderChanged,
    Lost,
    Reason,
    State,
    StateChanged,
    Warning,
    Won,
)
from incumbent.errors import TermEnded
from incumbent.sync._callbacks import Callbacks
from incumbent.sync._term import Term
from incumbent.sync._wait import Stream, answer

Event = Union[Won[Term], Draining[Term], Lost[Term], LeaderChanged, StateChanged, Warning]
"""Something the user of a candidate should know."""


class Terms(BaseTerms):
    """The terms of a candidate, one after another, as an iterator; see :meth:`Candidate.terms`."""

    __slots__ = ()

    def __iter__(self) -> Terms:
        return self

    def __next__(self) -> Term:
        operation = self._ask()
        try:
            hold = answer(operation)
        finally:
            self._is_asked = False
        if hold is None:
            raise StopIteration
        return Term(self._begin(hold, threading.get_ident()))

    def close(self) -> None:
        """Ends the iteration."""
        self._finish()


class Candidate(BaseCandidate[Term]):
    """One participant of an election, made by :meth:`Store.campaign`.

    It campaigns until it is closed, over and over: a candidate that lost a term is in the race for the next. As a
    context manager it closes itself at the end. One that is dropped without being closed ends its term at once, and
    gives the seat back in the background. Every method may be called on any thread.
    """

    __slots__ = ()
    _term_type = Term

    def next_term(self, timeout: float | None = None) -> Term:
        """Waits for the present or the next term. The term is not held: ``with term`` does that.

        Raises :class:`ClosedError` when the campaign is over, :class:`TimedOutError` after ``timeout`` seconds.
        """
        return self._won(answer(self._native.next_term(None), timeout))

    def terms(self) -> Terms:
        """Every term of this candidate, each once, until the campaign is over::

            for term in candidate.terms():
                with term:
                    while term.is_current() and not term.is_draining:
                        work(term.token)

        The body of the loop is work of the term: a drain waits for it. When it ends before the term does, the term
        goes on, and the next turn begins with the next term.
        """
        return Terms(self._native)

    def lead(self, work: Callable[[Term], object]) -> None:
        """Calls ``work(term)`` in every term of this candidate, until the campaign is over::

            candidate.lead(relay_the_outbox)

        A thread cannot be interrupted: the work asks :meth:`Term.check` between its steps. When it returns before the term
        ends, the term goes on; call :meth:`resign` as the last thing to leave instead. When it raises, the term ends
        with :attr:`Reason.HANDLER_FAILED`, the error is reported by ``sys.unraisablehook``, and the candidate campaigns
        again after a while. What is no :class:`Exception`, as Ctrl-C, resigns and is raised.
        """
        terms = self.terms()
        try:
            for term in terms:
                self._lead(term, work)
        finally:
            terms.close()

    def _lead(self, term: Term, work: Callable[[Term], object]) -> None:
        try:
            with term:
                work(term)
        except TermEnded:
            # Of this term, or of what the work itself asked of it.
            if term.is_current():
                term.fail()
        except Exception as error:
            term.fail()
            _incumbent.report(error, work)
        except BaseException:
            if term.is_current():
                self._native.resign(inside=True)
            raise

    def events(self, timeout: float | None = None) -> Stream[_incumbent.EventTuple, Event]:
        """What happens from now on, beginning with what holds now, as an iterator of its own for every caller.

        Nothing waits for a reader: one that falls 1024 events behind loses the oldest that are neither ``Won`` nor
        ``Lost``, and ``missed`` counts them. With ``timeout``, waiting longer than so many seconds for the next one
        raises :class:`TimedOutError`; the iterator goes on after that.
        """
        return Stream(self._native.events(), self._event, timeout)

    def attach(
        self,
        *,
        on_won: Callable[[Term], object] | None = None,
        on_draining: Callable[[Term, float], object] | None = None,
        on_lost: Callable[[Term, Reason], object] | None = None,
        on_state_changed: Callable[[State], object] | None = None,
        on_warning: Callable[[Warning], object] | None = None,
        error_ends_term: bool = False,
    ) -> None:
        """Calls functions for what happens from now on, beginning with what holds now, until the campaign is over.

        They are called one at a time, in order, on a thread of their own: one that is slow delays those after it
        and nothing else. ``on_draining`` has the seconds it may take; the term is held until it has returned, also
        where the leader leaves before any of them has heard of the win. One that raises is reported by ``sys.unraisablehook``, and with ``error_ends_term`` it ends the term.
        """
        callbacks = Callbacks(on_won, on_draining, on_lost, on_state_changed, on_warning)
        callbacks.start(self._native, Term, error_ends_term=error_ends_term)

    def resign(self, timeout: float | None = None) -> None:
        """Leaves the seat, if this candidate holds it, and stays in the race behind the others.

        Returns once the work has drained and the seat is given back. Inside of that work, a ``with term`` say, it
        returns as soon as the term is draining, since it cannot end before that very code does.
        """
        answer(self._native.resign(self._is_inside()), timeout)

    def hand_over(self, to: str, timeout: float | None = None) -> None:
        """Leaves the seat to the candidate named ``to``; otherwise as :meth:`resign`.

        The others hold back for a moment; if the successor does not take the seat, one of them does. Raises
        :class:`NotLeaderError` where this candidate does not lead.
        """
        answer(self._native.hand_over(to, self._is_inside()), timeout)

    def close(self, timeout: float | None = None) -> None:
        """Leaves the seat and the race for good; otherwise as :meth:`resign`. Closing twice is no error."""
        answer(self._native.close(self._is_inside()), timeout)

    def __enter__(self) -> Candidate:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
