"""Marks, and instants a number of leases after them. All instants are those of ``time.monotonic``."""

from __future__ import annotations

import time

from conformance.failure import Missed
from conformance.scenario import Moment


class Clock:
    """The time of a scenario."""

    def __init__(self, lease: float) -> None:
        self.lease = lease
        self._begun = time.monotonic()
        self._marks: dict[str, float] = {}

    def mark(self, name: str) -> None:
        self._marks[name] = time.monotonic()

    def shown(self, at: float) -> str:
        """Formats an instant for a history."""
        return f"{(at - self._begun) * 1000:6.0f} ms"

    def check(self, what: str, at: float, not_before: Moment | None, before: Moment | None) -> None:
        """Raises if the event at that instant was too early or too late."""
        for moment, is_lower in ((not_before, True), (before, False)):
            if moment is None:
                continue
            if moment.mark not in self._marks:
                raise Missed(f"a mark {moment.mark!r}", "there is none")
            mark = self._marks[moment.mark]
            length = moment.leases * self.lease
            if (at >= mark + length) != is_lower:
                word = "not before" if is_lower else "before"
                raise Missed(
                    f"{what} {word} {moment.leases:g} leases ({length:g} s) after {moment.mark!r}",
                    f"it was {at - mark:.3f} s after {moment.mark!r}",
                )
