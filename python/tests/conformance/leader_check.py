"""Asks all candidates repeatedly whether they lead: no two of an election may say yes at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

EVERY = 0.001
"""The polling interval of each candidate, in seconds."""
CLOSE = 0.05
"""Two answers of one candidate that are further apart may be from two terms."""


class Asked(NamedTuple):
    """A possible leader, and the call that asks it."""

    election: str
    who: str
    leads: Callable[[], bool]


class LeaderCheck:
    """The possible leaders, and the outcome of asking them."""

    def __init__(self) -> None:
        self.two_leaders: str | None = None
        """The report of two that led at once."""
        # Replaced as a whole, never changed.
        self._asked: Sequence[Asked] = ()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leader-check", daemon=True)
        self._thread.start()

    def ask(self, election: str, who: str, leads: Callable[[], bool]) -> None:
        """Asks this candidate from now on, instead of an earlier one of the same name."""
        others = [asked for asked in self._asked if asked.who != who]
        self._asked = (*others, Asked(election, who, leads))

    def lead_until(self, election: str, who: str, until: float) -> None:
        """Treats a killed candidate as the leader until the deadline it had."""
        self.ask(election, who, lambda: time.monotonic() < until)

    def leaders(self, election: str) -> list[str]:
        """Returns the leaders of an election at this moment."""
        return [asked.who for asked in self._asked if asked.election == election and asked.leads()]

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._asked = ()

    def _run(self) -> None:
        while not self._stopped.wait(EVERY):
            two = two_lead(self._asked)
            if self.two_leaders is None:
                self.two_leaders = two


def two_lead(asked: Sequence[Asked], now: Callable[[], float] = time.monotonic) -> str | None:
    """Finds two that certainly led at once: the first said yes before and after the second did."""
    for one in asked:
        before = now()
        if not one.leads():
            continue
        for other in asked:
            if other is one or other.election != one.election:
                continue
            if other.leads() and one.leads() and now() - before < CLOSE:
                return f"{one.who} and {other.who} both lead {one.election!r}"
    return None
