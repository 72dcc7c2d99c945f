"""All participants of a scenario, by name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from conformance import rules
from conformance.actor import Actor
from conformance.clock import Clock
from conformance.face import Candidate, Reader
from conformance.failure import Missed
from conformance.scenario import Scenario
from conformance.leader_check import LeaderCheck
from incumbent import Leader

T = TypeVar("T")
LOOK = 0.002
"""The polling interval of conditions, in seconds."""


class Watcher:
    """An observer, and its observations."""

    def __init__(self) -> None:
        self.observations: list[Leader | None] = []
        self.read = 0
        """The number of observations that steps have read or passed over."""
        self.reader: Reader | None = None


class Participants:
    """All participants of a scenario."""

    def __init__(self, scenario: Scenario, timeout: float) -> None:
        self.clock = Clock(scenario.lease)
        self.timeout = timeout
        """The time limit of an expectation, in seconds."""
        self.actors = {who: Actor(who, part) for who, part in scenario.parts.items()}
        self.aliases = dict(self.actors)
        """By name, and by the names that steps gave to winners."""
        self.watchers: dict[str, Watcher] = {}
        self.leader_check = LeaderCheck()

    def actor(self, who: str) -> Actor:
        if who not in self.aliases:
            raise Missed(f"a candidate {who}", "there is none")
        return self.aliases[who]

    def candidate(self, who: str) -> Candidate:
        candidate = self.actor(who).candidate
        if candidate is None:
            raise Missed(f"{who} to campaign", "it does not")
        return candidate

    def watcher(self, who: str) -> Watcher:
        if who not in self.watchers:
            raise Missed(f"an observer {who}", "there is none")
        return self.watchers[who]

    def rules(self) -> None:
        """Raises if a rule is broken."""
        rules.check(self.actors.values(), self.leader_check.two_leaders)

    async def wait(self, expected: str, probe: Callable[[], T | None], seen: Callable[[], str]) -> T:
        """Waits until ``probe`` returns a value; ``seen`` describes the state for the error."""
        until = time.monotonic() + self.timeout
        while True:
            self.rules()
            is_last = time.monotonic() >= until
            found = probe()
            if found is not None:
                return found
            if is_last:
                raise Missed(expected, f"{seen()}, after {self.timeout:g} s")
            await asyncio.sleep(LOOK)

    async def throughout(self, leases: float, check: Callable[[], None]) -> None:
        """Calls ``check`` repeatedly, and at least once, for that time; ``check`` raises."""
        until = time.monotonic() + leases * self.clock.lease
        while True:
            self.rules()
            is_last = time.monotonic() >= until
            check()
            if is_last:
                return
            await asyncio.sleep(LOOK)

    def stand(self, *actors: Actor) -> str:
        """Describes the state of some candidates, for a report."""

        def one(actor: Actor) -> str:
            of = actor.candidate
            state = "not campaigning" if of is None else of.state.value
            leads = "leads" if of is not None and of.is_leader else "does not lead"
            received = "".join(f", received {next_}" for next_ in actor.log.unread()[:1])
            return f"{actor.who} is {state}, {leads}{received}"

        return "; ".join(one(actor) for actor in actors)

    def history(self) -> list[str]:
        """Returns the events of all candidates, in order."""
        received = sorted(line for actor in self.actors.values() for line in list(actor.log.history))
        return [f"{self.clock.shown(at)}  {line}" for at, line in received]
