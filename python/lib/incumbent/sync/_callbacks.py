"""Callbacks of the program, called one after another on a separate thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from incumbent import _incumbent, _inside, _thread
from incumbent._failed import failed
from incumbent._types import StateChanged, Draining, Lost, Reason, State, Warning, Won, event_of
from incumbent.sync._wait import Stream

if TYPE_CHECKING:
    from incumbent.sync._term import Term


class Callbacks(NamedTuple):
    """The callbacks of a candidate, by event."""

    on_won: Callable[[Term], object] | None
    on_draining: Callable[[Term, float], object] | None
    on_lost: Callable[[Term, Reason], object] | None
    on_state_changed: Callable[[State], object] | None
    on_warning: Callable[[Warning], object] | None
    on_missed: Callable[[int], object] | None

    def start(
        self,
        candidate: _incumbent.Candidate,
        term_of: Callable[[_incumbent.Term], Term],
        *,
        error_ends_term: bool,
    ) -> None:
        """Calls them for the events of a candidate, until its campaign is over. Does not keep the candidate alive."""
        # Imported late: it takes longer to import than this package.
        from inspect import iscoroutinefunction

        for name, callback in self._asdict().items():
            if iscoroutinefunction(callback):
                message = f"{name} is {callback!r}, and must not be async: it is called on a thread, without an event loop"
                raise TypeError(message)
        if self.on_draining is not None:
            # Held from the moment it is won: the leader may leave before this thread has read the win.
            events: Stream[_incumbent.HeldEventTuple] = Stream(candidate.holding_events(), lambda pair: pair)
        else:
            events = Stream(candidate.events(), lambda plain: (plain, None))
        work = partial(self._run, events, term_of, error_ends_term=error_ends_term)
        _thread.start(work, f"incumbent-callbacks-{candidate.name}")

    def _run(
        self,
        events: Stream[_incumbent.HeldEventTuple],
        term_of: Callable[[_incumbent.Term], Term],
        *,
        error_ends_term: bool,
    ) -> None:
        # A drain waits until this callback, if any, has returned.
        held: _inside.Work | None = None
        reported = 0
        for plain, hold in events:
            if (missed := events.missed) > reported:
                _call(self.on_missed, None, missed - reported)
                reported = missed
            event = event_of(plain, term_of)
            if isinstance(event, Won):
                if hold is not None:
                    _finish(held)
                    held = _inside.Work(hold.term, event.term, hold)
                _call(self.on_won, event.term if error_ends_term else None, event.term)
            elif isinstance(event, Draining):
                left: float = event.term.drain_remaining or 0.0
                ends: Any = event.term if error_ends_term else None
                _call(self.on_draining, ends, event.term, left)
                _finish(held)
            elif isinstance(event, Lost):
                _finish(held)
                _call(self.on_lost, None, event.term, event.reason)
            elif isinstance(event, StateChanged):
                _call(self.on_state_changed, None, event.state)
            elif isinstance(event, Warning):
                _call(self.on_warning, None, event)
        _finish(held)


def _finish(work: _inside.Work | None) -> None:
    if work is not None:
        work.finish()


def _call(callback: Callable[..., object] | None, ends: Term | None, *arguments: object) -> None:
    if callback is None:
        return
    try:
        callback(*arguments)
    except Exception as error:
        failed(error, callback)
        if ends is not None:
            ends.fail()
