"""A program that hangs does not keep leading: its event loop is watched while it leads."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest
from support import FAST, NATS_LEASE, TIMEOUT, soon, until

import incumbent
from incumbent import Reason, State, sync

DRAIN = 0.5
"""The time limit of a drain, in seconds."""
LATE = 10.0
"""The largest delay of a rival on a busy machine, in seconds. The hangs below are longer than all of it."""

WORKER = """
import asyncio, re, sys, threading, time, incumbent

url, hang, watched = sys.argv[1], sys.argv[2], eval(sys.argv[3])
candidate = None

def looks():
    # Runs next to the event loop, unless the code that hangs keeps the interpreter's lock.
    while not candidate.is_leader:
        time.sleep(0.001)
    last = None
    while True:
        # Before the answer: however late this thread resumes, it led at that time or later.
        asks = time.monotonic()
        if not candidate.is_leader:
            break
        last = asks
        time.sleep(0.001)
    print("led", last, flush=True)

def hangs():
    if hang == "sleep":
        time.sleep(float(sys.argv[4]))
    else:
        # Exponential, in C, with the interpreter's lock held all the while.
        re.match("(a+)+$", "a" * 60 + "b")

async def main():
    global candidate
    async with await incumbent.connect(url) as store:
        # Before the win: from then on the loop is asked.
        print("campaigns", time.monotonic(), flush=True)
        given = {} if watched is None else {"watch_loop": watched}
        async with store.campaign("jobs", name="hangs", preset="fast", splay=0, drain=0.5, **given) as candidate:
            threading.Thread(target=looks, daemon=True).start()
            has_hung = False
            async for term in candidate.terms():
                print("won", term.token, flush=True)
                try:
                    async with term:
                        if not has_hung:
                            has_hung = True
                            print("hangs", time.monotonic(), flush=True)
                            hangs()
                            print("turns", candidate.is_leader, flush=True)
                        await asyncio.sleep(3600)
                except incumbent.TermEnded as ended:
                    print("lost", ended.reason.name, flush=True)

asyncio.run(main())
"""


@pytest.fixture
def rival(bucket):
    with sync.connect(bucket) as store:
        yield lambda: store.campaign("jobs", name="rival", preset="fast", splay=0)


@pytest.mark.parametrize(("watched", "limit"), [(None, NATS_LEASE), (1.0, 1.0)])
def test_while_a_loop_is_blocked_another_leads_and_it_campaigns_again_when_it_turns(
    python, bucket, rival, watched, limit
):
    bound = 1.25 * limit + DRAIN + NATS_LEASE
    worker = python(WORKER, bucket, "sleep", repr(watched), str(bound + LATE))
    campaigns = float(worker.expect("campaigns"))
    before = incumbent.Token.parse(worker.expect("won"))
    hangs = float(worker.expect("hangs"))
    with rival() as candidate:
        term = candidate.next_term(TIMEOUT)
        led = time.monotonic()
        assert term.token > before
        assert limit < led - campaigns and led - hangs < bound + LATE
        # The hung process knew that its term was over before the other led, though its loop did not
        # run.
        assert float(worker.expect("led")) < led
        assert worker.expect("turns") == "False"
        assert worker.expect("lost") == "UNHEALTHY"
    assert incumbent.Token.parse(worker.expect("won")) > term.token


def test_while_c_code_holds_the_interpreters_lock_another_leads(python, bucket, rival):
    worker = python(WORKER, bucket, "regex", "None")
    before = incumbent.Token.parse(worker.expect("won"))
    worker.expect("hangs")
    with rival() as candidate:
        assert candidate.next_term(TIMEOUT).token > before
    assert worker.popen.poll() is None


def test_a_loop_that_is_not_watched_keeps_its_term_while_it_is_blocked(python, bucket, rival):
    worker = python(WORKER, bucket, "sleep", "False", str(2 * NATS_LEASE))
    worker.expect("won")
    worker.expect("hangs")
    with rival() as candidate:
        assert worker.expect("turns") == "True"
        assert not candidate.is_leader and candidate.state is State.WAITING


def test_a_process_that_is_stopped_for_longer_than_the_limit_and_not_the_lease_leads_on(python, cli, nats_url):
    import subprocess

    url = f"{nats_url}/STOPPED"
    subprocess.run([cli, "init", "--store", url, "--lease", "30s", "--new"], check=True, capture_output=True)
    code = WORKER.replace('hangs()\n', 'await asyncio.sleep(0)\n').replace(
        "await asyncio.sleep(3600)", "await asyncio.to_thread(answers)"
    )
    code = code.replace(
        "async def main():",
        "def answers():\n    for line in sys.stdin:\n        print('leads', candidate.is_leader, flush=True)\n\nasync def main():",
    )
    worker = python(code, url, "none", "4.0")
    worker.expect("turns")
    for _ in range(2):
        os.kill(worker.pid, signal.SIGSTOP)
        time.sleep(6)
        os.kill(worker.pid, signal.SIGCONT)
        # Longer than a quarter of the loop's limit: if the stop were counted, it would be noticed
        # by then.
        time.sleep(2)
        worker.say("?")
        assert worker.expect("leads") == "True"


async def test_a_loop_that_turns_keeps_its_term_for_many_limits(store):
    async with store.campaign("jobs", watch_loop=4, **FAST) as candidate:
        term = await soon(candidate.next_term())
        await asyncio.sleep(14)
        assert term.is_current()


async def test_a_health_check_that_is_content_does_not_make_up_for_a_loop_that_hangs(store):
    def check():
        return True

    async with store.campaign("jobs", watch_loop=0.2, health=check, health_interval=30, **FAST) as candidate:
        term = await soon(candidate.next_term())
        until(lambda: not term.is_current(), "a loop that hangs keeps its term")
        assert term.reason is Reason.UNHEALTHY
        candidate.set_healthy(True)
        # The loop runs from here on.
        await soon(candidate.next_term())


def test_a_loop_that_was_closed_is_watched_no_more():
    kept = []

    async def begins():
        store = await incumbent.connect("memory:")
        candidate = await store.campaign("jobs", watch_loop=4, **FAST)
        kept.extend([store, candidate, candidate.events()])
        kept.append(await soon(candidate.next_term()))
        # Read, so that a reader of the closed loop is left behind.
        await soon(kept[2].__anext__())

    asyncio.run(begins())
    store, candidate, _, term = kept
    time.sleep(7)
    assert term.is_current() and candidate.is_leader

    async def ends():
        await soon(store.close())

    asyncio.run(ends())


@pytest.mark.parametrize(
    ("limit", "says"),
    [(0.05, "at least 100 ms"), ("often", "true for the lease"), (-1, "at least 100 ms"), ([1], "watch_loop is a list")],
)
async def test_an_impossible_limit_is_refused_at_the_call(store, limit, says):
    with pytest.raises(incumbent.InvalidSettingError, match=says):
        store.campaign("jobs", watch_loop=limit)


def test_threads_have_no_loop_to_watch():
    with sync.connect("memory:") as store, pytest.raises(incumbent.InvalidSettingError, match="watch_loop"):
        store.campaign("jobs", watch_loop=1.0)
