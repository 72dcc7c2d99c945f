"""Other event loops: uvloop, and anyio on asyncio."""

from __future__ import annotations

import asyncio

import pytest
from support import FAST

import incumbent
from incumbent import Reason, TermEnded


async def elect() -> list[object]:
    """Runs a whole election, as a program would."""
    seen: list[object] = []
    async with await incumbent.connect("memory:") as store:
        async with store.campaign("jobs", **FAST) as candidate:
            events = candidate.events()
            async for term in candidate.terms():
                try:
                    async with term:
                        loop = asyncio.get_running_loop()
                        loop.call_later(0.01, term.fail)
                        await asyncio.sleep(30)
                except TermEnded as ended:
                    seen.append(ended.reason)
                if len(seen) == 2:
                    break
            await candidate.close()
            seen.append([type(event).__name__ async for event in events].count("Lost"))
    return seen


EXPECTED = [Reason.HANDLER_FAILED, Reason.HANDLER_FAILED, 2]


def test_on_asyncio():
    assert asyncio.run(elect()) == EXPECTED


def test_on_uvloop():
    uvloop = pytest.importorskip("uvloop")
    assert uvloop.run(elect()) == EXPECTED


@pytest.mark.parametrize("use_uvloop", [False, True])
def test_with_anyio(use_uvloop):
    anyio = pytest.importorskip("anyio")
    if use_uvloop:
        pytest.importorskip("uvloop")
    assert anyio.run(elect, backend_options={"use_uvloop": use_uvloop}) == EXPECTED


def test_a_cancel_scope_of_anyio_around_the_body_and_inside(scripted_election):
    anyio = pytest.importorskip("anyio")

    async def main():
        election = scripted_election()
        election.acquire()
        # The scope ends first: the term continues.
        with anyio.move_on_after(0.01) as scope:
            async with election.candidate.term:
                await anyio.sleep(30)
        assert scope.cancelled_caught and election.candidate.is_leader
        # The term ends first: the scope was not cancelled.
        with anyio.move_on_after(30) as scope:
            with pytest.raises(TermEnded):
                async with election.candidate.term:
                    async with anyio.create_task_group() as group:
                        group.start_soon(anyio.sleep, 30)
                        election.revoke()
        assert not scope.cancelled_caught
        await anyio.sleep(0.01)

    anyio.run(main)


def test_two_loops_one_after_another_in_one_process():
    assert [asyncio.run(elect()), asyncio.run(elect())] == [EXPECTED] * 2


def test_loops_on_several_threads_at_once():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: asyncio.run(elect()), range(4))) == [EXPECTED] * 4
