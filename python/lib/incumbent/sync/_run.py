"""One call for a program that has work for the leader, for threads: on this thread, or on another."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Generic, TypeVar

from incumbent import _exit, _incumbent, _thread
from incumbent._failed import failed
from incumbent._stop import STOP_ON, StopSignals
from incumbent.errors import ForkedError, IncumbentError, TimedOutError
from incumbent.sync._candidate import Candidate
from incumbent.sync._store import Store, campaign_of, opened
from incumbent.sync._term import Term
from incumbent.sync._wait import Stopped, answer

T = TypeVar("T")


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
    ``term.is_draining`` is true: the run was stopped, or the term ends. Otherwise like :func:`incumbent.run`: when the work
    returns before that, leadership is given back and the result is returned; when it raises, so does this call; the signals
    ``stop_on`` end the run on the main thread. :func:`start` does the same on another thread.
    """
    leading = _Leading(store, election, work, keep_leading, store_settings, settings)
    with StopSignals(stop_on, leading.stop):
        return leading.lead()


def start(
    store: str | Store,
    election: str,
    work: Callable[[Term], T],
    *,
    keep_leading: bool = False,
    store_settings: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Run[T]:
    """Does what :func:`run` does on a thread of its own, for a program that has something else to do on its main thread::

        leading = incumbent.sync.start("nats://localhost:4222/ELECTIONS", "billing-cron", work)
        try:
            server.serve_forever()
        finally:
            leading.stop()

    Returns at once, and waits for no store. An error that ends the run is reported to ``sys.unraisablehook``, and to the
    logger ``incumbent`` where logging is configured; :meth:`Run.wait` and :meth:`Run.stop` raise it. At the exit of the
    interpreter the run is stopped, as by :meth:`Run.stop`, before Python waits for other threads. Signals are left to the
    program. Raises the errors of wrong settings.
    """
    given, interval = campaign_of(**settings)
    _incumbent.check_campaign(given, interval, True)
    if isinstance(store, str):
        _incumbent.check_opening(store, dict(store_settings or {}))
    _exit.prepare()
    return Run(_Leading(store, election, work, keep_leading, store_settings, settings))


class Run(Generic[T]):
    """A run on a thread of its own, made by :func:`start`. As a context manager it is stopped at the end.

    It is stopped at the exit of the interpreter, too, and not when it is dropped.
    """

    __slots__ = ("__weakref__", "_error", "_is_over", "_leading", "_process", "_result", "_thread")

    def __init__(self, leading: _Leading[T]) -> None:
        self._leading = leading
        self._is_over = threading.Event()
        self._error: BaseException | None = None
        self._result: T | None = None
        self._process = os.getpid()
        self._thread: int | None = None
        _exit.endings.append(self._end)
        _thread.start(self._run, f"incumbent-run-{leading.election}")

    @property
    def is_over(self) -> bool:
        """Whether the run has ended: it was stopped, or its work returned or raised. For health checks."""
        return self._is_over.is_set()

    @property
    def is_leader(self) -> bool:
        """Whether this run leads *now*; see :attr:`Candidate.is_leader`."""
        candidate = self._leading.candidate
        return candidate is not None and candidate.is_leader

    @property
    def candidate(self) -> Candidate | None:
        """The candidate, to look at, or to resign; None before the store is open."""
        return self._leading.candidate

    def stop(self, timeout: float | None = None) -> T | None:
        """Ends the run: its term drains, and the lease is released when the work has returned, or the drain time is over.

        Returns the last result once the work has returned, or None; raises the error of the run, :class:`TimedOutError`
        after ``timeout`` seconds. Called inside of the work, it does not wait. Stopping twice is no error.
        """
        self._leading.stop()
        return None if threading.get_ident() == self._thread else self.wait(timeout)

    def wait(self, timeout: float | None = None) -> T | None:
        """Waits until the run has ended. Returns the last result, or None; raises the error of the run,
        :class:`TimedOutError` after ``timeout`` seconds."""
        if os.getpid() != self._process:
            raise ForkedError("the run was started before a fork; start one in this process")
        if not self._is_over.wait(timeout):
            raise TimedOutError(f"the run did not end within {timeout} s")
        if self._error is not None:
            raise self._error
        return self._result

    def _run(self) -> None:
        self._thread = threading.get_ident()
        try:
            self._result = self._leading.lead()
        except BaseException as error:
            self._error = error
            failed(error, self._leading.work)
        finally:
            _exit.endings.remove(self._end)
            self._is_over.set()

    def _end(self) -> None:
        """Stops it at exit, and waits for work that drains; not for work that ignores that."""
        if os.getpid() != self._process:
            return
        self._leading.stop()
        candidate = self._leading.candidate
        term = None if candidate is None else candidate._native.term
        left = 0.0
        with suppress(IncumbentError):
            if term is not None:
                answer(term.draining(), _exit.LIMIT)
                left = term.drain_remaining or 0.0
        self._is_over.wait(left + _exit.GRACE)

    def __enter__(self) -> Run[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Leading(Generic[T]):
    """A campaign and its work, until they are stopped by a signal or another thread."""

    __slots__ = ("_is_stopped", "_keep", "_settings", "_store", "_store_settings", "candidate", "election", "work")

    def __init__(
        self,
        store: str | Store,
        election: str,
        work: Callable[[Term], T],
        keep_leading: bool,
        store_settings: Mapping[str, Any] | None,
        settings: Mapping[str, Any],
    ) -> None:
        self.election = election
        self.work = work
        self.candidate: Candidate | None = None
        self._store = store
        self._store_settings = dict(store_settings or {})
        self._settings = settings
        self._keep = keep_leading
        self._is_stopped = False

    def stop(self) -> None:
        """Asks it to stop, once or more; does not wait."""
        self._is_stopped = True
        candidate = self.candidate
        if candidate is not None:
            # Sent at once; the run waits for it at its end.
            candidate._native.close(inside=True)

    def lead(self) -> T | None:
        """Campaigns, and calls the work in each term until it is done or stopped. Returns the last result."""
        try:
            with ExitStack() as stack:
                store = self._store
                if isinstance(store, str):
                    store = stack.enter_context(opened(store, self._store_settings, None, lambda: self._is_stopped))
                self.candidate = stack.enter_context(store.campaign(self.election, **self._settings))
                if self._is_stopped:
                    return None
                return self._work(self.candidate)
        except Stopped:
            return None

    def _work(self, candidate: Candidate) -> T | None:
        result: T | None = None
        terms = candidate.terms()
        try:
            for term in terms:
                try:
                    with term:
                        result = self.work(term)
                        # Done before the body is left, which may end a draining term.
                        is_done = term._is_done(result, told=False)
                except Exception as error:
                    if term._is_failed_by(error):
                        raise
                    continue
                if is_done and not self._keep:
                    break
        finally:
            terms.close()
        return result
