"""The same API for threads: Celery, APScheduler, plain scripts.

::

    import incumbent.sync

    with incumbent.sync.connect("sqlite:elections.db") as store:
        with store.campaign("billing-cron", name="worker-7") as candidate:
            for term in candidate.terms():
                with term:
                    while term.is_current() and not term.is_draining:
                        work(term.token)

:func:`run` is that program in one call, and :func:`start` runs it on a thread of its own, which is stopped before the
interpreter exits. Under gevent and eventlet a call that waits lets other greenlets run.

Calls that wait release the interpreter's lock, and Ctrl-C interrupts them on the main thread. A thread cannot be
interrupted from outside, so the work checks whether its term still lasts: ``term.is_current()``, or ``term.check()``,
which raises :class:`incumbent.TermEnded`. :func:`leader_only` guards a function, and ``candidate.attach`` calls
functions on a separate thread. Everything else, errors and events included, is in :mod:`incumbent`.
"""

from incumbent._public import publish as _publish
from incumbent.sync._candidate import Candidate, Event, Terms
from incumbent.sync._health import HealthCheck
from incumbent.sync._leader_only import leader_only
from incumbent.sync._run import Run, run, start
from incumbent.sync._store import Store, connect, init
from incumbent.sync._term import Term, current_term
from incumbent.sync._wait import Stream

__all__ = [
    "Candidate",
    "Event",
    "HealthCheck",
    "Run",
    "Store",
    "Stream",
    "Term",
    "Terms",
    "connect",
    "current_term",
    "init",
    "leader_only",
    "run",
    "start",
]

_publish(globals())
