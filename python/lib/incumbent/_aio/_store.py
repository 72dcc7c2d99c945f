"""A store, for asyncio."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

from incumbent import _exit, _incumbent, _inside
from incumbent._aio import _drain, _health
from incumbent._aio._candidate import Candidate
from incumbent._aio._drain import DrainHandler
from incumbent._aio._health import HealthCheck
from incumbent._aio._loop import answer, wakeups
from incumbent._aio._stream import Stream
from incumbent._open import OpenCandidate, OpenStore
from incumbent._settings import CampaignSettings, InitSettings, Length, StoreSettings, interval_of
from incumbent._types import (
    CandidateInfo,
    ElectionInfo,
    InitReport,
    Leader,
    Observation,
    candidates_of,
    election_of,
    init_of,
    leader_of,
    observation_of,
)
from incumbent._typing import Unpack

T = TypeVar("T")


class Opening(Generic[T]):
    """A resource that opens when it is awaited or entered with ``async with``, which closes it at the end."""

    __slots__ = ("_is_used", "_open", "_opened", "_what")

    def __init__(self, opens: Callable[[], Awaitable[T]], what: str) -> None:
        self._open = opens
        self._opened: Any = None
        self._what = what
        self._is_used = False

    def __await__(self) -> Generator[Any, Any, T]:
        self._is_used = True
        return self._open().__await__()

    async def __aenter__(self) -> T:
        self._is_used = True
        opened: T = await self._open()
        self._opened = opened
        return opened

    def __del__(self) -> None:
        # Warns like a coroutine, because the call had no effect.
        if not self._is_used:
            warnings.warn(f"{self._what} was never awaited", RuntimeWarning, stacklevel=2)

    async def __aexit__(self, *_: object) -> None:
        await self._opened.close()


class Store:
    """A store that is open for elections, made by :func:`incumbent.connect`.

    It has one connection, one watch and one thread for all its elections. As an asynchronous context manager it closes
    itself at the end. A store that is dropped without being closed causes a :class:`ResourceWarning`.
    """

    __slots__ = ("__weakref__", "_native")

    def __init__(self, native: _incumbent.Store) -> None:
        self._native = native

    def campaign(
        self,
        election: str,
        *,
        drain: Length | DrainHandler | None = None,
        drain_time: Length | None = None,
        error_ends_term: bool = False,
        health: HealthCheck | None = None,
        health_interval: Length | None = None,
        watch_loop: Length | bool = True,
        **settings: Unpack[CampaignSettings],
    ) -> Opening[Candidate]:
        """Campaigns in the election of that key: use ``async with store.campaign(…) as candidate``, or ``await`` it.

        ``drain`` is the time that a leader has to finish its work when it leaves of its own accord, 10 s by default; or
        an async function that finishes it, ``drain(term, deadline)``, with the limit ``drain_time``. When the function
        returns the term ends; when the deadline passes it is cancelled. ``sys.unraisablehook`` reports an error that it
        raises, and with ``error_ends_term`` the reason is ``HANDLER_FAILED``.

        ``health`` is a function, async or not, called every ``health_interval``, 5 s by default: it returns whether
        this candidate is healthy. An unhealthy candidate does not campaign, and an unhealthy leader drains and leaves.
        A check that raises, takes longer than the interval, or cannot run for that long because the event loop is
        blocked, counts as false.

        ``watch_loop`` is the time that the event loop may hang while this candidate leads: the lease by default, or a
        length of time of at least 100 ms; ``False`` switches it off. A loop that hangs for this time, or up to a
        quarter more, makes the candidate unhealthy until it runs again. The loop of this call is watched, until it is
        closed.

        The settings, all of them optional:

        - ``name``: the candidate's name, visible to other candidates; host and process by default
        - ``lease``: the time for which no other candidate leads after a leader crashed; the store's by default
        - ``preset``: ``"standard"``, ``"fast"`` (leases of 1 s and more) or ``"go_compatible"``
        - ``metadata``: a dict of texts that the leader publishes about itself
        - ``splay``: the longest wait before the first campaign
        - ``win_delay``: ``"automatic"``, ``"cautious"``, or a minimum length
        - ``skew``, ``drift_ppm``, ``slack``: the bounds on clock errors; ``drift_ppm`` is how much each clock may gain
          or lose, in parts per million, 5,000 (0.5 %) by default
        - ``interval``, ``backoff``: how often a candidate polls without an event from the watch, and how long it waits
          after a failure (one length, or one for each failure in a row)

        A length of time is a number of seconds, a timedelta, or a string such as ``"10s"``. If the store does not answer
        yet, the candidate is created anyway, and campaigns as soon as the store answers.

        Raises :class:`InvalidSettingError` or :class:`InvalidNameError`; when entered also :class:`PermissionDeniedError`,
        :class:`BrokenError`, :class:`ClosedError`, :class:`ForkedError`, and with ``fail_fast``
        :class:`StoreUnavailableError`.
        """
        handler, times = _drain.handler_of(drain, drain_time)
        given: dict[str, object] = {**settings, **times}
        interval = interval_of(health, health_interval)
        # Checked here, so that the traceback shows the call with the wrong setting.
        _incumbent.check_campaign(given, interval, watch_loop)

        async def campaign() -> Candidate:
            from incumbent import _log

            _log.refresh()
            probe = wakeups().probe
            watched = None if probe is None else (probe, watch_loop)
            native = await answer(self._native.campaign(election, given, interval, watched))
            if handler is not None:
                _drain.start(native, handler, ends_term=error_ends_term)
            if health is not None:
                _health.start(native, health)
            return Candidate(OpenCandidate(native, self._native))

        return Opening(campaign, "Store.campaign")

    def observe(self, election: str) -> Observer:
        """Watches the election of that key without taking part. Returns an asynchronous iterator of
        :class:`Observation`, beginning with the current leader. It ends when the store is closed."""
        return Observer(self._native, election)

    async def leader(self, election: str) -> Leader | None:
        """Returns the election's current leader, read from the leader of the store."""
        return leader_of(await answer(self._native.leader(election)))

    async def candidates(self, election: str) -> Sequence[CandidateInfo] | None:
        """Returns the candidates of that election on all connections to the store: the leader and the waiting
        candidates, oldest first; None if the store cannot find out, or does not permit the query.

        Waiting candidates write nothing to the store, so this asks the other connections: on NATS that takes a quarter of
        a second. Candidates of other software are not found."""
        return candidates_of(await answer(self._native.candidates(election)))

    async def list(self) -> list[ElectionInfo]:
        """Returns all elections of the store, by key."""
        return election_of(await answer(self._native.list()))

    async def close(self) -> None:
        """Closes every candidate cleanly, and then the store. Closing twice is not an error."""
        await answer(self._native.close(_inside.is_inside(None)))

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Observer:
    """The leaders of an election, as an asynchronous iterator; see :meth:`Store.observe`."""

    __slots__ = ("_election", "_store", "_stream")

    def __init__(self, store: _incumbent.Store, election: str) -> None:
        self._store = store
        self._election = election
        self._stream: Stream[Observation] | None = None

    def __aiter__(self) -> Observer:
        return self

    async def __anext__(self) -> Observation:
        if self._stream is None:
            feed = await answer(self._store.observe(self._election))
            self._stream = Stream(feed, observation_of)
        return await self._stream.__anext__()

    async def aclose(self) -> None:
        """Ends the iteration: nothing more is read, and waiters are notified."""
        if self._stream is not None:
            await self._stream.aclose()


def connect(url: str, *, timeout: float | None = None, **settings: Unpack[StoreSettings]) -> Opening[Store]:
    """Opens the store that ``url`` names: ``async with incumbent.connect(url) as store``, or ``await`` it.

    - ``nats://host:4222/BUCKET``: a NATS JetStream key-value bucket; also ``tls://``, ``ws://``, several hosts
    - ``sqlite:elections.db``: a file, for the processes of one machine
    - ``memory:`` and ``memory:NAME``: for one process, and for tests

    A parameter of the URL can also be a setting: ``creds="app.creds"``, ``context="prod"``, ``connect_timeout=5``. With
    ``fail_fast=True`` a store that does not answer is an error; otherwise the call waits for it, and a warning is
    logged. With ``timeout``, waiting longer than that many seconds raises :class:`TimedOutError`.

    Raises :class:`InvalidUrlError`, :class:`InvalidSettingError`; when awaited also
    :class:`AuthenticationError`, :class:`NotFoundError`, :class:`UnsafeStoreError`, :class:`UnsupportedError`,
    :class:`PermissionDeniedError`, :class:`BrokenError`, :class:`StoreUnavailableError`.
    """
    given: dict[str, object] = {**settings}
    _incumbent.check_opening(url, given)

    async def opened() -> Store:
        # Imported late: logging takes longer to import than this package.
        from incumbent import _log

        _exit.prepare()
        _log.start()
        return Store(OpenStore(await answer(_incumbent.open_store(url, given), timeout)))

    return Opening(opened, "connect")


async def init(url: str, *, timeout: float | None = None, **settings: Unpack[InitSettings]) -> InitReport:
    """Prepares the store that ``url`` names for elections, as ``incumbent init`` does on the command line: creates the
    bucket, file, prefix or topic, or checks an existing one. A second call changes nothing.

    - ``new=True`` states that no election was ever held there. Without it no candidate leads before the store is one
      lease old, because it may replace another in which a candidate still leads. Only by hand, or in a test: if a
      program recreates a store under a leader, there can be two. Refused for a store that has been written to.
    - ``lease`` and ``replicas`` (1, 3 or 5) of a NATS bucket: 30 s and 1 for a new bucket, unchanged for an existing
      one. ``markers`` and ``own_leases`` need server 2.11 or newer. ``max_bytes`` limits the bucket's size, if the
      account requires that.
    - ``update=True`` changes an existing bucket that differs; without it a difference is an :class:`UnsafeStoreError`,
      which lists all of them.
    - ``election`` is the election whose topic is created, on Kafka.

    A store that does not answer is an error. Other settings are the same as for :func:`connect`. Raises
    :class:`InvalidUrlError`, :class:`InvalidSettingError`, :class:`UnsafeStoreError`, :class:`UnsupportedError`,
    :class:`NotFoundError` (a folder), :class:`AuthenticationError`, :class:`PermissionDeniedError`,
    :class:`BrokenError`, :class:`StoreUnavailableError`.
    """
    from incumbent import _log

    _log.start()
    return init_of(await answer(_incumbent.init_store(url, {**settings}), timeout))
