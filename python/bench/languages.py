"""Measures what a Python program waits for, for `cargo xtask bench languages`: the same as `runtime/benches/languages.rs`.

The argument is `async` or `sync`. Prints one JSON array of figures.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import threading
import time
import timeit
from collections.abc import Iterator
from typing import Any

import incumbent
from incumbent.testing import scripted_election, scripted_election_sync

CALLS = 10_000
RUNS = 100
EVENTS = 2_000
WARM = 500
IDLE = 0.001


def nanoseconds(statement: str, **names: object) -> float:
    """The time of one call, in the quickest of many short runs."""
    return min(timeit.repeat(statement, globals=names, number=CALLS, repeat=RUNS)) / CALLS * 1e9


class Cause:
    """Another thread, which reports a leader when it is asked to."""

    def __init__(self, election: Any) -> None:
        self.election = election
        self.ready = threading.Semaphore(0)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            self.ready.acquire()
            time.sleep(IDLE)
            self.election.leader(str(time.perf_counter_ns()))


def sent(event: object) -> int | None:
    """The reading of the clock that an event carries."""
    if isinstance(event, incumbent.LeaderChanged) and event.leader is not None:
        return int(event.leader.name)
    return None


def in_threads(election: Any) -> Iterator[float]:
    cause = Cause(election)
    stream = election.candidate.events()
    for _ in range(EVENTS):
        cause.ready.release()
        for event in stream:
            began = sent(event)
            if began is not None:
                yield (time.perf_counter_ns() - began) / 1000
                break


async def in_a_loop(election: Any) -> list[float]:
    cause = Cause(election)
    stream = election.candidate.events()
    took = []
    for _ in range(EVENTS):
        cause.ready.release()
        async for event in stream:
            began = sent(event)
            if began is not None:
                took.append((time.perf_counter_ns() - began) / 1000)
                break
    return took


def main() -> None:
    is_async = {"async": True, "sync": False}[sys.argv[1]]
    election: Any = scripted_election() if is_async else scripted_election_sync()
    election.acquire()
    candidate = election.candidate
    term = candidate.term
    assert candidate.is_leader and term.is_current()
    is_leader = nanoseconds("x.is_leader", x=candidate)
    is_current = nanoseconds("x.is_current()", x=term)
    took = asyncio.run(in_a_loop(election)) if is_async else list(in_threads(election))
    percentiles = statistics.quantiles(took[WARM:], n=100)
    figures = [
        ("is_leader()", is_leader, "ns", RUNS),
        ("term.is_current()", is_current, "ns", RUNS),
        ("an event, p50", percentiles[49], "µs", EVENTS - WARM),
        ("an event, p99", percentiles[98], "µs", EVENTS - WARM),
    ]
    rows = [
        {"figure": name, "value": value, "unit": unit, "samples": samples}
        for name, value, unit, samples in figures
    ]
    print(json.dumps(rows))


main()
