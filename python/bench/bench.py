"""Measures the cost of the package. Prints progress on standard error, and on standard output one JSON array of figures."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import incumbent
from incumbent.testing import scripted_election

RUNS = 500
FIGURES: list[dict[str, Any]] = []


def figure(name: str, value: float, unit: str, samples: int, goal: float | None = None) -> None:
    most = None if goal is None else {"most": goal}
    FIGURES.append({"figure": name, "value": value, "unit": unit, "goal": most, "samples": samples})


def progress(what: str) -> None:
    print(f"    {what}", file=sys.stderr)


def nanoseconds(statement: str, **names: object) -> float:
    """The least of many short runs: its time when nothing disturbs it."""
    number, repeat = 2_000, RUNS
    return min(timeit.repeat(statement, globals=names, number=number, repeat=repeat)) / number * 1e9


class Plain:
    def __init__(self) -> None:
        self.is_leader = True


def is_leader() -> None:
    progress("is_leader")
    election = scripted_election()
    election.acquire()
    assert election.candidate.is_leader
    plain = nanoseconds("x.is_leader", x=Plain())
    ours = nanoseconds("x.is_leader", x=election.candidate)
    figure("attribute of a plain object", plain, "ns", RUNS)
    figure("candidate.is_leader", ours, "ns", RUNS)
    figure("candidate.is_leader, less an attribute of a plain object", ours - plain, "ns", RUNS, 150)


def percentile(values: list[float], share: float) -> float:
    return statistics.quantiles(values, n=1000)[round(share * 1000) - 1]


async def latency(count: int, begin: Callable[[], None], receive: Any) -> list[float]:
    """Has another thread cause something `count` times, and measures until the loop has it."""
    received: list[float] = []
    ready = threading.Semaphore(0)

    def cause() -> None:
        for _ in range(count):
            ready.acquire()
            # The loop is idle by then, like a worker's.
            time.sleep(0.001)
            begin()

    thread = threading.Thread(target=cause, daemon=True)
    thread.start()
    for _ in range(count):
        ready.release()
        begun = await receive()
        received.append((time.perf_counter_ns() - begun) / 1000)
    thread.join()
    return received


async def events() -> None:
    progress("an event")
    count = 3000
    election = scripted_election()
    stream = election.candidate.events()
    began = [0]

    def tell() -> None:
        name = f"n{time.perf_counter_ns()}"
        began[0] = time.perf_counter_ns()
        election.leader(name)

    async def told() -> int:
        async for event in stream:
            if isinstance(event, incumbent.LeaderChanged):
                return began[0]
        raise AssertionError

    ours = await latency(count, tell, told)

    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[int] = asyncio.Queue()

    def call() -> None:
        loop.call_soon_threadsafe(waiting.put_nowait, time.perf_counter_ns())

    bare = await latency(count, call, waiting.get)
    figure("call_soon_threadsafe from a thread, p50", percentile(bare, 0.50), "µs", count)
    figure("call_soon_threadsafe from a thread, p99", percentile(bare, 0.99), "µs", count)
    figure("event, core to async for, p50", percentile(ours, 0.50), "µs", count)
    figure("event, core to async for, p99", percentile(ours, 0.99), "µs", count, 200)
    ratio = "event, core to async for / call_soon_threadsafe from a thread"
    figure(f"{ratio}, p50", percentile(ours, 0.50) / percentile(bare, 0.50), "ratio", count)
    figure(f"{ratio}, p99", percentile(ours, 0.99) / percentile(bare, 0.99), "ratio", count)


def imports() -> None:
    progress("import")
    took = []
    for _ in range(15):
        command = [sys.executable, "-X", "importtime", "-c", "import incumbent"]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tempfile.gettempdir())
        took.append(int(ran.stderr.strip().splitlines()[-1].split("|")[1]) / 1000)
    figure("import incumbent, median", statistics.median(took), "ms", len(took), 30)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def idle() -> None:
    progress("a thousand campaigns")
    settings: Any = {"name": "a", "lease": 3600, "splay": 0}
    async with await incumbent.connect("memory:") as store:
        # Runs one of each kind first, so that one-time loading is not counted.
        async with store.campaign("first", **settings) as first:
            await first.next_term()

        async def cpu() -> float:
            await asyncio.sleep(0.5)
            before, began = time.process_time(), time.perf_counter()
            await asyncio.sleep(4)
            return (time.process_time() - before) / (time.perf_counter() - began) * 100

        gc.collect()
        alone, before = await cpu(), resident()
        campaigns = [await store.campaign(f"jobs-{n}", **settings) for n in range(1000)]
        await asyncio.gather(*(candidate.next_term() for candidate in campaigns))
        gc.collect()
        figure("memory of a thousand idle campaigns", (resident() - before) / 1e6, "MB", 1, 10)
        figure("processor time of a thousand idle campaigns, less that of none", await cpu() - alone, "%", 1, 0.2)
        for candidate in campaigns:
            await candidate.close()


def main() -> None:
    is_leader()
    asyncio.run(events())
    imports()
    asyncio.run(idle())
    print(json.dumps(FIGURES))


main()
