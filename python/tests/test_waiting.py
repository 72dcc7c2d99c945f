"""A wait that a person cannot see is reported by default, and can be limited."""

from __future__ import annotations

import re
import socket
import time

import pytest
from support import FAST, event, soon

import incumbent
import incumbent.sync
import incumbent.testing


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def test_a_candidate_in_a_new_store_reports_how_long_it_waits_and_what_would_shorten_that(tmp_path):
    async with await incumbent.connect(f"sqlite:{tmp_path}/e.db") as store:
        async with store.campaign("jobs", lease=60, splay=0) as candidate:
            warning = await event(candidate.events(), incumbent.Warning)
    assert warning.code == "YOUNG_STORE"
    assert re.match(r"the store is new: waiting (5\d|60)s before leading; ", warning.message)
    assert "`incumbent.init(url, new=True)` skips the wait" in warning.message


async def test_a_candidate_in_a_store_that_was_never_used_reports_no_wait(sqlite):
    async with await incumbent.connect(sqlite) as store:
        async with store.campaign("jobs", **FAST) as candidate:
            events = candidate.events()
            seen = []
            while not any(isinstance(one, incumbent.Won) for one in seen):
                seen.append(await soon(events.__anext__()))
    assert [one for one in seen if isinstance(one, incumbent.Warning)] == []


def test_a_program_without_a_configuration_of_logging_sees_why_it_waits(python):
    code = f"""
import incumbent.sync
import incumbent.testing
try:
    incumbent.sync.connect("nats://127.0.0.1:{closed_port()}/B", timeout=5)
except incumbent.TimedOutError as error:
    print(error)
"""
    code_, output, errors = python("import incumbent\n" + code).ended()
    assert (code_, output) == (0, "nothing arrived within 5 s\n")
    assert "the store cannot be reached, trying again: " in errors
    assert "waiting for the store, which does not answer yet; the setting fail_fast makes that" in errors


async def test_opening_a_store_that_is_not_there_takes_no_longer_than_its_timeout():
    url = f"nats://127.0.0.1:{closed_port()}/B"
    begun = time.monotonic()
    with pytest.raises(incumbent.TimedOutError, match=r"nothing arrived within 0\.2 s"):
        await soon(incumbent.connect(url, timeout=0.2))
    with pytest.raises(incumbent.TimedOutError):
        async with incumbent.connect(url, timeout=0.2):
            pass
    assert time.monotonic() - begun < 10


def test_every_call_for_threads_that_waits_for_the_store_can_be_limited():
    store, faults = incumbent.testing.faulty_store_sync()
    with store:
        faults.partition()
        for call in (
            lambda: store.leader("jobs", timeout=0.05),
            lambda: store.list(timeout=0.05),
            lambda: store.candidates("jobs", timeout=0.05),
        ):
            with pytest.raises((incumbent.TimedOutError, incumbent.StoreUnavailableError)):
                call()
        faults.heal()
        with store.campaign("jobs", timeout=30, **FAST) as candidate:
            candidate.next_term(timeout=30)
