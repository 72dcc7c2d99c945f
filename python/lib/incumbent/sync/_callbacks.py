"""Functions of the user's, called one after another on a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from incumbent import _exit, _incumbent, _inside
from incumbent._types import Campaigned, Draining, Lost, Reason, State, Trouble, Won

if TYPE_CHECKING:
    from incumbent.sync._term import Term


class Callbacks(NamedTuple):
    """What to call, when."""

    on_won: Callable[[Term], object] | None
    on_draining: Callable[[Term, float], object] | None
    on_lost: Callable[[Term, Reason], object] | None
    on_campaigned: Callable[[State], object] | None
    on_trouble: Callable[[Trouble], object] | None

    def start(self, events: Iterator[Any], name: str, *, error_ends_term: bool) -> None:
        """Calls them until the events are over."""

        def run() -> None:
            try:
                self._run(events, error_ends_term=error_ends_term)
            finally:
                _exit.threads.discard(thread)

        # A daemon: at exit the campaigns are closed, which ends it; it must not keep the process from getting there.
        thread = threading.Thread(target=run, name=f"incumbent-callbacks-{name}", daemon=True)
        _exit.threads.add(thread)
        thread.start()

    def _run(self, events: Iterator[Any], *, error_ends_term: bool) -> None:
        # With a callback for it, a drain waits until that has been called and has returned.
        held: _inside.Work | None = None
        for event in events:
            if isinstance(event, Won):
                if self.on_draining is not None:
                    _finish(held)
                    held = _inside.Work(event.term._native)
                _call(self.on_won, event.term if error_ends_term else None, event.term)
            elif isinstance(event, Draining):
                left: float = event.term.drain_remaining or 0.0
                ends: Any = event.term if error_ends_term else None
                _call(self.on_draining, ends, event.term, left)
                _finish(held)
            elif isinstance(event, Lost):
                _finish(held)
                _call(self.on_lost, None, event.term, event.reason)
            elif isinstance(event, Campaigned):
                _call(self.on_campaigned, None, event.state)
            elif isinstance(event, Trouble):
                _call(self.on_trouble, None, event)
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
        _incumbent.report(error, callback)
        if ends is not None:
            ends.fail()
