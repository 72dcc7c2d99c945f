"""A group that takes the leader's partition away: only Kafka does that, so no scenario of every store has it."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from typing import TypeVar

import incumbent
import pytest
from incumbent import Draining, Event, Lost, Reason, Won

BROKER = os.environ.get("INCUMBENT_KAFKA")
LIMIT = 60.0
Kind = TypeVar("Kind")


@pytest.mark.skipif(BROKER is None, reason="INCUMBENT_KAFKA names no broker")
async def test_a_revocation_lets_the_work_drain() -> None:
    # goNELI's assignors revoke every partition when a member joins.
    url = f"kafka://{BROKER}/{uuid.uuid4()}?goneli=true"
    async with await incumbent.connect(url) as store, await incumbent.connect(url) as other:
        leader = await store.campaign("jobs", preset="fast", lease=5, drain=LIMIT)
        events = leader.events()
        term = (await _next(events, Won)).term
        async with term:
            newcomer = await other.campaign("jobs", preset="fast", lease=5)
            draining = await _next(events, Draining)
            assert (draining.term.token, draining.reason) == (term.token, Reason.REVOKED)
            assert term.is_draining and leader.is_leader and not newcomer.is_leader
        lost = await _next(events, Lost)
        assert (lost.term.token, lost.reason) == (term.token, Reason.REVOKED)
        assert not term.is_current()


async def _next(events: AsyncIterator[Event], kind: type[Kind]) -> Kind:
    async def find() -> Kind:
        async for event in events:
            if isinstance(event, kind):
                return event
        raise AssertionError(f"no {kind.__name__}")

    return await asyncio.wait_for(find(), LIMIT)
