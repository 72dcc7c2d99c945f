"""A store, for threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from incumbent import _exit, _incumbent, _inside, _log, _refusals
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
from incumbent.sync import _health
from incumbent.sync._candidate import Candidate
from incumbent.sync._health import HealthCheck
from incumbent.sync._wait import Stream, answer


class Store:
    """A store that is open for elections, made by :func:`incumbent.sync.connect`.

    It has one connection, one watch and one thread for all its elections. As a context manager it closes itself at the
    end. A store that is dropped without being closed causes a :class:`ResourceWarning`. Every method may be called on
    any thread.
    """

    __slots__ = ("__weakref__", "_native")

    def __init__(self, native: _incumbent.Store) -> None:
        self._native = native

    def campaign(
        self,
        election: str,
        *,
        drain: Length | None = None,
        health: HealthCheck | None = None,
        health_interval: Length | None = None,
        timeout: float | None = None,
        **settings: Unpack[CampaignSettings],
    ) -> Candidate:
        """Campaigns in the election of that key, from now until the candidate is closed.

        ``drain`` is the time that a leader has to finish its work when it leaves of its own accord, 10 s by default;
        for a callback at that time, see :meth:`Candidate.attach`. ``health`` returns whether this candidate is healthy;
        it is called every ``health_interval``, 5 s by default, on a separate thread. An unhealthy candidate does not
        campaign, and an unhealthy leader drains and leaves; a check that raises, or takes longer than the interval,
        counts as false. With ``timeout``, waiting longer than that many seconds for the candidate raises
        :class:`TimedOutError`. The other settings, and the errors, are the same as for
        :meth:`incumbent.Store.campaign`.
        """
        given, interval = campaign_of(drain, health, health_interval, **settings)
        _log.refresh()
        native = answer(self._native.campaign(election, given, interval), timeout)
        if health is not None:
            _health.start(native, health)
        return Candidate(OpenCandidate(native, self._native))

    def observe(self, election: str, timeout: float | None = None) -> Stream[Observation]:
        """Watches the election of that key without taking part. Returns an iterator of :class:`Observation`, beginning
        with the current leader. It ends when the store is closed.

        With ``timeout``, waiting longer than that many seconds for the next observation raises :class:`TimedOutError`.
        """
        return Stream(answer(self._native.observe(election), timeout), observation_of, timeout)

    def leader(self, election: str, timeout: float | None = None) -> Leader | None:
        """Returns the election's current leader, read from the leader of the store."""
        return leader_of(answer(self._native.leader(election), timeout))

    def candidates(self, election: str, timeout: float | None = None) -> Sequence[CandidateInfo] | None:
        """Returns the candidates of that election, as :meth:`incumbent.Store.candidates` does."""
        return candidates_of(answer(self._native.candidates(election), timeout))

    def list(self, timeout: float | None = None) -> list[ElectionInfo]:
        """Returns all elections of the store, by key."""
        return election_of(answer(self._native.list(), timeout))

    def close(self, timeout: float | None = None) -> None:
        """Closes every candidate cleanly, and then the store. Closing twice is not an error."""
        answer(self._native.close(_inside.is_inside(None)), timeout)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(url: str, *, timeout: float | None = None, **settings: Unpack[StoreSettings]) -> Store:
    """Opens the store that ``url`` names: ``with incumbent.sync.connect(url) as store``.

    It waits until the store is open, for at most ``timeout`` seconds; otherwise like :func:`incumbent.connect`, which
    lists the URLs and the settings.
    """
    return opened(url, {**settings}, timeout)


def opened(
    url: str, given: dict[str, object], timeout: float | None = None, is_stopped: Callable[[], bool] | None = None
) -> Store:
    """Opens a store with settings that may be wrong; raises :class:`Stopped` once ``is_stopped`` returns true."""
    _exit.prepare()
    _log.start()
    return Store(OpenStore(answer(_incumbent.open_store(url, given), timeout, is_stopped)))


def campaign_of(
    drain: Any = None, health: Any = None, health_interval: Any = None, timeout: float | None = None, **settings: Any
) -> tuple[dict[str, object], Any]:
    """Returns the settings of a campaign, and the interval of its health check, as the compiled part takes them."""
    if callable(drain):
        raise TypeError(_refusals.drain_function(repr(drain)))
    return {**settings, "drain": drain}, interval_of(health, health_interval)


def init(url: str, *, timeout: float | None = None, **settings: Unpack[InitSettings]) -> InitReport:
    """Prepares the store that ``url`` names for elections; see :func:`incumbent.init`."""
    _log.start()
    return init_of(answer(_incumbent.init_store(url, {**settings}), timeout))
