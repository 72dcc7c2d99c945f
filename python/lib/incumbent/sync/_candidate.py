"""A candidate, for threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Union

from incumbent import _incumbent
from incumbent._base import BaseCandidate, BaseTerms, is_end
from incumbent._failed import failed
from incumbent._types import (
    Draining,
    LeaderChanged,
    Lost,
    Reason,
    State,
    StateChanged,
    Warning,
    Won,
    event_of,
)
from incumbent.sync._callbacks import Callbacks
from incumbent.sync._term import Term
from incumbent.sync._wait import Stream, answer

Event = Union[Won[Term], Draining[Term], Lost[Term], LeaderChanged, StateChanged, Warning]
"""An event of a candidate."""


class Terms(BaseTerms):
    """The terms of a candidate, as an iterator; see :meth:`Candidate.terms`."""

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
        return self._begin(hold, threading.get_ident(), Term)

    def close(self) -> None:
        """Ends the iteration."""
        self._finish()


class Candidate(BaseCandidate[Term]):
    """A participant of an election, made by :meth:`Store.campaign`.

    It campaigns until it is closed: after a lost term it campaigns for the next. As a context manager it closes itself
    at the end. Dropping it without closing it ends its term at once, releases the key in the background, and causes a
    :class:`ResourceWarning`. Every method may be called on any thread.
    """

    __slots__ = ()
    _term_type = Term

    def next_term(self, timeout: float | None = None) -> Term:
        """Waits for the current or the next term. Does not hold the term: ``with term`` does that.

        Raises :class:`ClosedError` when the campaign is over, :class:`TimedOutError` after ``timeout`` seconds.
        """
        return self._won(answer(self._native.next_term(None), timeout))

    def terms(self) -> Terms:
        """Yields every term of this candidate once, until the campaign is over::

            for term in candidate.terms():
                with term:
                    while term.is_current() and not term.is_draining:
                        work(term.token)

        The body of the loop is work of the term: a drain waits for it. When the body ends before the term does, the
        term continues, and the loop proceeds to the next term.
        """
        return Terms(self._native)

    def lead(self, work: Callable[[Term], object]) -> None:
        """Calls ``work(term)`` in every term of this candidate, until the campaign is over::

            candidate.lead(relay_the_outbox)

        A thread cannot be interrupted: the work calls :meth:`Term.check` between its steps. When it returns before the
        term ends, the term continues; call :meth:`resign` as the last step to leave instead. When it raises, the term
        ends with :attr:`Reason.HANDLER_FAILED`, ``sys.unraisablehook`` reports the error, and the candidate campaigns
        again after a delay. Exceptions that are not an :class:`Exception`, such as Ctrl-C, resign and propagate.
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
        except Exception as error:
            if term._is_failed_by(error) and not is_end(error):
                failed(error, work)
        except BaseException:
            if term.is_current():
                self._native.resign(inside=True)
            raise

    def events(self, timeout: float | None = None) -> Stream[Event]:
        """Returns the events from now on, beginning with the current state. Each call returns a separate iterator.

        Slow readers delay nothing: a reader that falls 1024 events behind loses the oldest events other than ``Won``
        and ``Lost``, and ``missed`` counts them. With ``timeout``, waiting longer than that many seconds for the next
        event raises :class:`TimedOutError`; the iterator can be used after that.
        """
        return Stream(self._native.events(), partial(event_of, term_of=Term), timeout)

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
        """Calls functions for the events from now on, beginning with the current state, until the campaign is over.

        They are called one at a time, in order, on a separate thread: a slow callback only delays those after it.
        Callbacks that fall 1024 events behind miss some: ``on_missed`` gets their number, before the next event.
        ``on_draining`` gets the seconds it may take. The term is held until it has returned, even if the leader leaves
        before any callback has learned of the win. ``sys.unraisablehook`` reports an error that a callback raises, and
        with ``error_ends_term`` the error ends the term.
        """
        callbacks = Callbacks(on_won, on_draining, on_lost, on_state_changed, on_warning, on_missed)
        callbacks.start(self._native, Term, error_ends_term=error_ends_term)

    def resign(self, timeout: float | None = None) -> None:
        """Gives up leadership, if this candidate leads, and keeps campaigning behind the other candidates.

        Returns once the work has drained and the key is released. Called inside that work, for example in a ``with
        term``, it returns as soon as the term is draining, since the drain waits for that work.
        """
        answer(self._native.resign(self._is_inside()), timeout)

    def hand_over(self, to: str, timeout: float | None = None) -> None:
        """Hands leadership over to the candidate named ``to``; otherwise like :meth:`resign`.

        Other candidates hold back for a moment; if the successor does not acquire the key, one of them does. Raises
        :class:`NotLeaderError` if this candidate does not lead.
        """
        answer(self._native.hand_over(to, self._is_inside()), timeout)

    def close(self, timeout: float | None = None) -> None:
        """Gives up leadership and ends the campaign; otherwise like :meth:`resign`. Closing twice is not an error."""
        answer(self._native.close(self._is_inside()), timeout)

    def __enter__(self) -> Candidate:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
