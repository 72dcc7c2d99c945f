"""Many campaigns in one process, and no leak from those that are over."""

from __future__ import annotations

import asyncio
import gc
import os
from collections import Counter
from pathlib import Path

import pytest
from support import FAST, soon

import incumbent


def resident() -> int:
    """Bytes of memory in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.timeout(180)
async def test_a_thousand_campaigns_lead_in_one_process(store):
    candidates = await asyncio.gather(*(store.campaign(f"jobs-{n}", name="a", **FAST) for n in range(1000)))
    terms = await soon(asyncio.gather(*(candidate.next_term() for candidate in candidates)))
    assert all(candidate.is_leader for candidate in candidates)
    assert len({term.election for term in terms}) == 1000
    assert len(await store.list()) == 1000
    await soon(asyncio.gather(*(candidate.close() for candidate in candidates)))
    assert not any(candidate.is_leader for candidate in candidates)


@pytest.mark.timeout(300)
async def test_ten_thousand_campaigns_that_are_over_leave_nothing_behind(store):
    async def open_and_close(count):
        for n in range(count):
            async with store.campaign("jobs", name="a", **FAST) as candidate:
                events = candidate.events()
                await events.__anext__()
                if n % 10 == 0:
                    async with await candidate.next_term():
                        pass

    def alive():
        gc.collect()
        return [one for one in gc.get_objects() if isinstance(one, (incumbent.Candidate, incumbent.Term))]

    def objects():
        gc.collect()
        return Counter(type(one).__name__ for one in gc.get_objects())

    # What earlier tests of this process still hold, such as the term of a context.
    others = alive()
    await open_and_close(2000)
    before, memory = objects(), resident()
    await open_and_close(8000)
    after, more = objects(), resident()
    grown = {name: count - before[name] for name, count in after.items() if count - before[name] > 50}
    assert grown == {}
    assert not [one for one in alive() if not any(one is other for other in others)]
    # A leak of 1 kB for each campaign would be 8 MB.
    assert more - memory < 4_000_000
