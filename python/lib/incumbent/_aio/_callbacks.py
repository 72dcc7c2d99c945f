"""Callbacks of the program, called one after another on the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from incumbent import _incumbent, _inside
from incumbent._aio import _tasks
from incumbent._aio._stream import Stream
from incumbent._aio._term import Term
from incumbent._failed import failed
from incumbent._types import Draining, Lost, Reason, State, StateChanged, Warning, Won, event_of


class Callbacks(NamedTuple):
    """The callbacks of a candidate, by event; each may be async."""

    on_won: Callable[[Term], object] | None
    on_draining: Callable[[Term, float], object] | None
    on_lost: Callable[[Term, Reason], object] | None
    on_state_changed: Callable[[State], object] | None
    on_warning: Callable[[Warning], object] | None
    on_missed: Callable[[int], object] | None

    def start(self, candidate: _incumbent.Candidate, *, error_ends_term: bool) -> None:
        """Calls them for the events of a candidate, until its campaign is over. Does not keep the candidate alive."""
        if self.on_draining is not None:
            # Held from the moment it is won: the leader may leave before this loop has read the win.
            events: Stream[_incumbent.HeldEventTuple] = Stream(candidate.holding_events(), lambda pair: pair)
        else:
            events = Stream(candidate.events(), lambda plain: (plain, None))
        work = self._run(events, error_ends_term=error_ends_term)
        _tasks.start(work, f"incumbent-callbacks-{candidate.name}")

    async def _run(self, events: Stream[_incumbent.HeldEventTuple], *, error_ends_term: bool) -> None:
        # A drain waits until `on_draining` has returned.
        held: _inside.Work | None = None
        reported = 0
        async for plain, hold in events:
            if (missed := events.missed) > reported:
                await _call(self.on_missed, None, missed - reported)
                reported = missed
            event = event_of(plain, Term)
            if isinstance(event, Won):
                if hold is not None:
                    _finish(held)
                    held = _inside.Work(hold.term, event.term, hold)
                await _call(self.on_won, event.term if error_ends_term else None, event.term)
            elif isinstance(event, Draining):
                left: float = event.term.drain_remaining or 0.0
                ends: Any = event.term if error_ends_term else None
                await _call(self.on_draining, ends, event.term, left)
                _finish(held)
            elif isinstance(event, Lost):
                _finish(held)
                await _call(self.on_lost, None, event.term, event.reason)
            elif isinstance(event, StateChanged):
                await _call(self.on_state_changed, None, event.state)
            elif isinstance(event, Warning):
                await _call(self.on_warning, None, event)
        _finish(held)


def _finish(work: _inside.Work | None) -> None:
    if work is not None:
        work.finish()


async def _call(callback: Callable[..., object] | None, ends: Term | None, *arguments: object) -> None:
    if callback is None:
        return
    try:
        result = callback(*arguments)
        if isinstance(result, Awaitable):
            await result
    except Exception as error:
        failed(error, callback)
        if ends is not None:
            ends.fail()
