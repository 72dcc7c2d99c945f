"""A store, for threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incumbent import _incumbent, _inside, _log
from incumbent._settings import interval_of
from incumbent._types import Leader, ElectionInfo, Observation, leader_of, election_of, observation_of
from incumbent.sync import _health
from incumbent.sync._candidate import Candidate
from incumbent.sync._wait import Stream, answer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from incumbent.sync._health import HealthCheck
    from incumbent._settings import CampaignSettings, Length, StoreSettings


class Store:
    """A store that is open for elections, made by :func:`incumbent.sync.connect`.

    One connection, one watch and one thread, however many elections run on it. As a context manager it closes itself
    at the end. Every method may be called on any thread.
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
        **settings: Unpack[CampaignSettings],
    ) -> Candidate:
        """Campaigns in the election of that key, from now until the candidate is closed.

        ``drain`` is how long a leader that leaves of its own will may take to finish its work, 10 s by default; to be
        called then, see :meth:`Candidate.attach`. ``health`` is asked every ``health_interval``, 5 s by default and on a
        thread of its own, whether this candidate is well: unwell, it does not campaign, and as the leader it drains and
        leaves; a check that raises, or takes longer than that, counts as a no. The other settings, and what is raised, are those of
        :meth:`incumbent.Store.campaign`.
        """
        _log.refresh()
        given: dict[str, object] = {**settings, "drain": drain}
        native = answer(self._native.campaign(election, given, interval_of(health, health_interval)))
        if health is not None:
            _health.start(native, health)
        return Candidate(native)

    def observe(
        self, election: str, timeout: float | None = None
    ) -> Stream[_incumbent.ObservedTuple, Observation]:
        """Watches the election of that key without taking part: an iterator of :class:`Observation`, beginning with
        who holds the seat now. It ends when the store is closed.

        With ``timeout``, waiting longer than so many seconds for the next one raises :class:`TimedOutError`.
        """
        return Stream(answer(self._native.observe(election)), observation_of, timeout)

    def leader(self, election: str) -> Leader | None:
        """Who holds the seat of that election now, read from whoever leads the store."""
        return leader_of(answer(self._native.leader(election)))

    def list(self) -> list[ElectionInfo]:
        """All elections of the store, by key."""
        return election_of(answer(self._native.list()))

    def close(self, timeout: float | None = None) -> None:
        """Closes every candidate in good order, and then the store. Closing twice is no error."""
        answer(self._native.close(_inside.is_inside(None)), timeout)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(url: str, **settings: Unpack[StoreSettings]) -> Store:
    """Opens the store that ``url`` names: ``with incumbent.sync.connect(url) as store``.

    As :func:`incumbent.connect`, which lists what a URL and the settings can say, but that it waits.
    """
    given: dict[str, object] = {**settings}
    _log.start()
    return Store(answer(_incumbent.open_store(url, given)))
