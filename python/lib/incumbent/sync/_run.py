"""One call for a program with work for the leader, for threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from incumbent._stop import STOP_ON, StopSignals
from incumbent.sync._candidate import Candidate
from incumbent.sync._store import Store, connect
from incumbent.sync._term import Term

if TYPE_CHECKING:
    from incumbent import _incumbent

T = TypeVar("T")


class _Stopped(BaseException):
    """The process was asked to stop before there was a campaign."""


def run(
    store: str | Store,
    election: str,
    work: Callable[[Term], T],
    *,
    keep_leading: bool = False,
    stop_on: Iterable[int] = STOP_ON,
    store_settings: Mapping[str, Any] | None = None,
    **settings: Any,
) -> T | None:
    """Campaigns in the election of that key, and calls ``work(term)`` when this process leads::

        incumbent.sync.run("nats://localhost:4222/ELECTIONS", "billing-cron", work)

    A thread cannot be interrupted, so the work finishes by itself when ``term.draining(timeout=…)`` returns or
    ``term.is_draining`` is true: the run was stopped, or the term ends. Otherwise like :func:`incumbent.run`: when the
    work returns before that, leadership is released and the result is returned; when it raises, so does this call; the
    signals ``stop_on`` end the run on the main thread.
    """
    natives: list[_incumbent.Candidate] = []

    def stop() -> None:
        if not natives:
            raise _Stopped
        for native in natives:
            # Sent at once; the run waits for it at its end.
            native.close(inside=True)

    with StopSignals(stop_on, stop), ExitStack() as stack:
        try:
            opened = store if isinstance(store, Store) else stack.enter_context(connect(store, **(store_settings or {})))
            candidate = stack.enter_context(opened.campaign(election, **settings))
            natives.append(candidate._native)
        except _Stopped:
            return None
        return _lead(candidate, work, keep_leading=keep_leading)


def _lead(candidate: Candidate, work: Callable[[Term], T], *, keep_leading: bool) -> T | None:
    result: T | None = None
    terms = candidate.terms()
    try:
        for term in terms:
            try:
                with term:
                    result = work(term)
            except Exception as error:
                if term._is_failed_by(error):
                    raise
                continue
            if term.is_current() and not term.is_draining and not keep_leading:
                break
    finally:
        terms.close()
    return result
