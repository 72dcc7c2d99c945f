"""Celery's beat on one of however many processes are started.

::

    app.conf.beat_scheduler = "incumbent.celery:Scheduler"
    app.conf.incumbent_store = "nats://localhost:4222/ELECTIONS"

``celery beat`` then runs on every machine, and one of them sends the tasks; when it is stopped another sends them at once,
when it dies or is cut off, after the lease. Further settings of the application, each with a default:

- ``incumbent_election``: the key of the election, ``celery-beat``
- ``incumbent_settings``: a dict, keywords of :meth:`incumbent.sync.Store.campaign`
- ``incumbent_store_settings``: a dict, keywords of :func:`incumbent.sync.connect`

The schedule begins with the term: an interval counts from then on, and a time of a crontab that passed while no process led is
left out. So no task is sent twice. For a schedule in a database, which remembers what was sent, combine the two::

    class Scheduler(incumbent.celery.LeaderOnly, django_celery_beat.schedulers.DatabaseScheduler):
        pass

Each message carries the token of the term in its header ``incumbent-token``.
"""

from __future__ import annotations

import copy
import threading
from contextlib import suppress
from typing import Any

from celery import beat  # type: ignore[import-untyped, import-not-found, unused-ignore]
from celery.exceptions import ImproperlyConfigured  # type: ignore[import-untyped, import-not-found, unused-ignore]

import incumbent.sync
from incumbent._log import logger

__all__ = ["LeaderOnly", "Scheduler"]

POLL = 0.5
"""The seconds after which a beat that does not lead looks again: the delay of its first task."""


class LeaderOnly:
    """A scheduler of Celery that sends only while this process leads; a class to inherit from, before the scheduler's."""

    # Of the scheduler.
    app: Any
    max_interval: float
    _run: incumbent.sync.Run[None] | None = None

    def __init__(self, app: Any, *args: Any, lazy: bool = False, **kwargs: Any) -> None:
        # Held while something is sent: the lease is not released before that.
        self._sending = threading.RLock()
        self._term: incumbent.sync.Term | None = None
        self._begun: incumbent.sync.Term | None = None
        super().__init__(app, *args, lazy=lazy, **kwargs)  # type: ignore[call-arg]
        # Celery creates a lazy scheduler only to inspect it.
        if not lazy:
            conf = app.conf
            store = conf.get("incumbent_store")
            if not store:
                message = "incumbent.celery needs the setting incumbent_store: the URL of the elections"
                raise ImproperlyConfigured(message)
            # On a separate thread, because beat handles signals on this one, even while the store is away.
            self._run = incumbent.sync.start(
                store,
                conf.get("incumbent_election") or "celery-beat",
                self._lead,
                store_settings=conf.get("incumbent_store_settings"),
                **(conf.get("incumbent_settings") or {}),
            )

    def _lead(self, term: incumbent.sync.Term) -> None:
        self._term = term
        logger.info("beat leads with token %s", term.token)
        term.draining()
        self._term = None
        with self._sending:
            logger.info("beat no longer leads")

    def begin_term(self) -> None:
        """Called once in each term, before anything is sent."""

    def tick(self, *args: Any, **kwargs: Any) -> Any:
        """Sends what is due, if this process leads; returns the seconds to the next call."""
        if self._run is not None and self._run.is_over:
            # The run was stopped or failed, and beat ends with it.
            self._run.wait(0)
            raise SystemExit
        with self._sending:
            term = self._term
            if term is None or not term.is_current():
                return min(self.max_interval, POLL)
            if term is not self._begun:
                self._begun = term
                self.begin_term()
            return super().tick(*args, **kwargs)  # type: ignore[misc]

    def apply_async(self, entry: Any, producer: Any = None, advance: bool = True, **kwargs: Any) -> Any:  # noqa: FBT001
        """Sends a task, unless the term ended while the broker was connected to."""
        term = self._begun
        if term is None or not term.is_current():
            message = f"{entry.name} is not sent: this process no longer leads"
            raise beat.SchedulingError(message)
        entry = copy.copy(entry)
        entry.options = {**entry.options, "headers": {**entry.options.get("headers", {}), "incumbent-token": str(term.token)}}
        return super().apply_async(entry, producer=producer, advance=advance, **kwargs)  # type: ignore[misc]

    def close(self) -> None:
        """Releases the lease. Called at the end, by a signal's handler too, in the middle of a tick."""
        super().close()  # type: ignore[misc]
        if self._run is not None:
            # The handler may have interrupted a tick, so this does not wait for that tick; the
            # interpreter's exit does. An error of the run has already been reported.
            with suppress(Exception):
                self._run.stop(timeout=0)


class Scheduler(LeaderOnly, beat.Scheduler):  # type: ignore[misc, unused-ignore]
    """Celery's scheduler without a file, for a beat that sends while its process leads."""

    def begin_term(self) -> None:
        """Has every entry count from now: others have sent what was due before."""
        for entry in self.schedule.values():
            entry.last_run_at = entry.default_now()
        self._heap = None
