"""A drain handler: the function that finishes the work of a term when its leader leaves of its own accord."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from incumbent import _incumbent, _refusals
from incumbent._aio import _tasks
from incumbent._aio._loop import running
from incumbent._aio._stream import Stream
from incumbent._aio._term import Term
from incumbent._base import is_end
from incumbent._failed import failed
from incumbent._types import Draining, Lost, event_of

DrainHandler = Callable[[Term, float], Awaitable[object]]
"""``async def drain(term, deadline)``: finishes the work of a term. The deadline is on the clock of the event loop, as
for ``asyncio.timeout_at``."""


def handler_of(drain: Any, drain_time: Any) -> tuple[Any, dict[str, object]]:
    """Returns the handler of a drain, and its time limit under the name of the setting that gave it."""
    if callable(drain):
        return drain, {"drain_time": drain_time}
    if drain is not None and drain_time is not None:
        raise TypeError(_refusals.two_drains())
    return None, {"drain": drain, "drain_time": drain_time}


def start(candidate: _incumbent.Candidate, handler: DrainHandler, *, ends_term: bool) -> None:
    """Calls the handler whenever a term of the candidate drains. Does not keep the candidate alive."""
    # Held from the moment it is won: the leader may leave before this loop has read the win.
    events = Stream(candidate.holding_events(), lambda pair: pair)
    _tasks.start(_run(events, handler, ends_term=ends_term), f"incumbent-drain-{candidate.name}")


async def _run(
    events: Stream[_incumbent.HeldEventTuple],
    handler: DrainHandler,
    *,
    ends_term: bool,
) -> None:
    held: _incumbent.Hold | None = None
    try:
        async for plain, hold in events:
            if hold is not None:
                _release(held)
                held = hold
                continue
            event = event_of(plain, Term)
            if isinstance(event, Draining):
                await _drain(event.term, handler, ends_term=ends_term)
                _release(held)
            elif isinstance(event, Lost):
                _release(held)
    finally:
        _release(held)


async def _drain(term: Term, handler: DrainHandler, *, ends_term: bool) -> None:
    try:
        async with term:
            await handler(term, running().time() + (term.drain_remaining or 0.0))
    except Exception as error:
        # If the term has ended, the time limit passed before the handler was done, or before it was called.
        if not is_end(error):
            failed(error, handler)
            if ends_term:
                term.fail()
    term.drained()


def _release(hold: _incumbent.Hold | None) -> None:
    if hold is not None:
        hold.release()
