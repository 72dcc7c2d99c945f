"""An interpreter that exits resigns first, prints nothing and never hangs."""

from __future__ import annotations

import time

import pytest
from support import TIMEOUT

from incumbent import sync

LEADS = """
import asyncio, sys, threading, incumbent, incumbent.sync
LONG = {"lease": 60, "splay": 0}

def leading():
    store = incumbent.sync.connect(sys.argv[1])
    candidate = store.campaign("jobs", name="first", **LONG)
    return candidate, candidate.next_term(30)
"""

CASES = {
    "the_end_of_the_program": ("candidate, term = leading()", 0),
    "with_a_term_held": ("candidate, term = leading(); term.__enter__()", 0),
    "sys_exit": ("candidate, term = leading(); sys.exit(3)", 3),
    "an_exception": ("candidate, term = leading(); raise SystemExit(4)", 4),
    "a_callback_thread": ("candidate, term = leading(); candidate.attach(on_lost=lambda *_: None)", 0),
    "a_daemon_thread_that_waits": (
        "candidate, term = leading(); threading.Thread(target=term.ended, daemon=True).start()",
        0,
    ),
    "a_loop_that_was_left_open_handed": (
        """
async def main():
    global store, candidate, term, task
    store = await incumbent.connect(sys.argv[1])
    candidate = await store.campaign("jobs", name="first", **LONG)
    term = await candidate.next_term()
    task = asyncio.ensure_future(term.ended())
    await asyncio.sleep(0)
asyncio.run(main())
""",
        0,
    ),
    "while_a_drain_would_take_long": (
        """
candidate, term = leading()
term.__enter__()
threading.Thread(target=candidate.resign, daemon=True).start()
term.draining(30)
""",
        0,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_process_that_exits_releases_its_lease(python, sqlite, case):
    code, expected = CASES[case]
    began = time.monotonic()
    assert python(LEADS + code, sqlite).ended() == (expected, "", "")
    with sync.connect(sqlite) as store, store.campaign("jobs", name="second", lease=60, splay=0) as candidate:
        # The lease of a leader that did not resign would last for a minute.
        candidate.next_term(TIMEOUT)
    assert time.monotonic() - began < 2 * TIMEOUT


def test_callbacks_are_told_of_the_end(python, sqlite):
    code = "candidate, term = leading()\ncandidate.attach(on_lost=lambda term, reason: print(reason.name))"
    assert python(LEADS + code, sqlite).ended() == (0, "CLOSED\n", "")


def test_importing_starts_nothing_and_exiting_then_neither(python):
    code = """
import threading, os, incumbent, incumbent.sync, incumbent.testing
from incumbent import _incumbent
assert not _incumbent.is_running() and threading.active_count() == 1
assert os.listdir("/proc/self/task") == [str(os.getpid())]
"""
    assert python(code).ended() == (0, "", "")


def test_a_closed_loop_is_not_touched(python):
    code = """
import asyncio, incumbent.testing
election = incumbent.testing.scripted_election()
async def main():
    global events, term
    election.acquire()
    term = election.candidate.term
    events = election.candidate.events()
    waits = [asyncio.ensure_future(term.ended()), asyncio.ensure_future(term.draining())]
    while True:
        try:
            await asyncio.wait_for(events.__anext__(), 0.05)
        except (asyncio.TimeoutError, TimeoutError):
            break
    for wait in waits:
        wait.cancel()
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
loop.close()
election.revoke()
print(term.is_current())
"""
    assert python(code).ended() == (0, "False\n", "")
