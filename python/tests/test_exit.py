"""An interpreter that exits resigns first, prints nothing and never hangs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import TIMEOUT

from incumbent import sync

LEADS = """
import asyncio, sys, threading, incumbent, incumbent.sync
LONG = {"lease": 60, "splay": 0}

def leading():
    global store
    store = incumbent.sync.connect(sys.argv[1])
    candidate = store.campaign("jobs", name="first", **LONG)
    return candidate, candidate.next_term(30)

led = threading.Event()

def works(candidate):
    for term in candidate.terms():
        with term:
            led.set()
            term.draining()
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
    "a_thread_that_leads": (
        "candidate, term = leading(); threading.Thread(target=works, args=[candidate]).start(); led.wait(30)",
        0,
    ),
    "a_daemon_thread_that_leads": (
        "candidate, term = leading(); threading.Thread(target=works, args=[candidate], daemon=True).start(); led.wait(30)",
        0,
    ),
    "an_executor_that_leads": (
        """
candidate, term = leading()
import concurrent.futures
concurrent.futures.ThreadPoolExecutor().submit(works, candidate)
led.wait(30)
""",
        0,
    ),
    "an_event_loop_on_a_thread_that_leads": (
        """
async def work(term):
    led.set()
    await term.draining()

def run():
    asyncio.run(incumbent.run(sys.argv[1], "jobs", work, stop_on=(), **LONG))

threading.Thread(target=run).start()
led.wait(30)
""",
        0,
    ),
    "a_thread_that_waits_to_lead": (
        """
candidate, term = leading()
second = store.campaign("jobs", name="waits", **LONG)
threading.Thread(target=works, args=[second]).start()
""",
        0,
    ),
    "a_thread_that_observes": (
        """
candidate, term = leading()
threading.Thread(target=lambda: [led.set() for _ in store.observe("jobs")]).start()
led.wait(30)
""",
        0,
    ),
    "a_run_on_a_thread_of_its_own": (
        """
def work(term):
    led.set()
    term.draining()

incumbent.sync.start(sys.argv[1], "jobs", work, **LONG)
led.wait(30)
""",
        0,
    ),
    "a_thread_that_led_in_a_forked_child": (
        """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
candidate, term = leading()
threading.Thread(target=works, args=[candidate]).start()
led.wait(30)
child = os.fork()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
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
def test_a_process_that_exits_gives_its_lease_back(python, sqlite, case):
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


def test_a_run_on_a_thread_of_its_own_drains_before_the_interpreter_exits(python):
    code = """
import incumbent.sync, threading
led = threading.Event()

def work(term):
    led.set()
    term.draining()
    print("finishing", term.is_current(), flush=True)

leading = incumbent.sync.start("memory:", "jobs", work, preset="test", lease=60, splay=0)
led.wait(30)
"""
    assert python(code).ended() == (0, "finishing True\n", "")


def test_a_thread_opens_no_store_once_the_main_thread_has_ended(python):
    code = """
import incumbent.sync, threading

def work():
    threading.main_thread().join()
    while True:
        try:
            incumbent.sync.connect("memory:").close()
        except incumbent.ClosedError as error:
            print(error)
            return

threading.Thread(target=work).start()
"""
    remedy = "let the main thread wait, as with thread.join()"
    ended = "no store is opened any more, because the main thread has ended and the interpreter exits"
    assert python(code).ended() == (0, f"{ended}: {remedy}\n", "")


def test_interpreters_whose_threads_lead_or_wait_end_well():
    # The wheel that is released has another linker: `cargo xtask package python` runs the same program with that.
    program = Path(__file__).parent / "programs/exits.py"
    ended = subprocess.run([sys.executable, program, "2"], capture_output=True, text=True, check=False)
    kinds = ["daemon_leads", "daemons_wait", "thread_leads", "executor_leads", "forked", "spawned"]
    said = "".join(f"{kind}: 2 ended well\n" for kind in kinds)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, said, "")
