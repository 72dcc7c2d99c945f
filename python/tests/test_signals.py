"""Signals of a program while there are runs: the program's own handlers, several runs, forked children."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from support import TIMEOUT, free_port, until

BEGIN = """
import asyncio, incumbent, incumbent.sync, os, signal, sys, threading
FAST = {"preset": "test", "lease": 60, "splay": 0, "drain": 60}
TERM, INT = signal.SIGTERM, signal.SIGINT
called = []

def host(number, frame):
    called.append(signal.Signals(number).name)

def send(number=TERM):
    os.kill(os.getpid(), number)

async def waits(term):
    try:
        await asyncio.sleep(3600)
    finally:
        print("finished", term.is_current(), flush=True)

def leading(what):
    return asyncio.create_task(what)
"""

OUTCOMES = {
    "one_signal_ends_every_run_of_a_loop_once": (
        """
ready = []

async def work(term):
    ready.append(term)
    if len(ready) == 2:
        send()
    await waits(term)

async def main():
    async with incumbent.connect("memory:") as store:
        print(await asyncio.gather(*(incumbent.run(store, name, work, **FAST) for name in "ab")))

asyncio.run(main())
""",
        "finished True\nfinished True\n[None, None]\n",
        0,
    ),
    "a_run_that_began_first_may_end_first": (
        """
async def main():
    async with incumbent.connect("memory:") as store:
        ended = asyncio.Event()

        async def work(term):
            await ended.wait()
            send()
            await waits(term)

        async def first(term):
            return "first"

        one = leading(incumbent.run(store, "a", first, **FAST))
        await asyncio.sleep(0)
        two = leading(incumbent.run(store, "b", work, **FAST))
        print(await one)
        ended.set()
        print(await two)

asyncio.run(main())
""",
        "first\nfinished True\nNone\n",
        0,
    ),
    "runs_that_overlap_leave_the_handlers_before_them": (
        """
async def main():
    async with incumbent.connect("memory:") as store:
        ended, present = asyncio.Event(), signal.getsignal(INT)

        async def later(term):
            await ended.wait()

        async def first(term):
            pass

        one = leading(incumbent.run(store, "a", first, **FAST))
        await asyncio.sleep(0)
        two = leading(incumbent.run(store, "b", later, **FAST))
        await one
        ended.set()
        await two
        print(signal.getsignal(TERM) is signal.SIG_DFL, signal.getsignal(INT) is present)

asyncio.run(main())
""",
        "True True\n",
        0,
    ),
    "the_programs_handler_is_called_and_stays": (
        """
signal.signal(TERM, host)

def work(term):
    send()
    term.draining()
    return "drained"

print(incumbent.sync.run("memory:", "jobs", work, **FAST), called, signal.getsignal(TERM) is host)
""",
        "drained ['SIGTERM'] True\n",
        0,
    ),
    "the_programs_handler_is_called_once_for_all_runs_of_a_loop": (
        """
signal.signal(TERM, host)
ready = []

async def work(term):
    ready.append(term)
    if len(ready) == 2:
        send()
    await asyncio.sleep(3600)

async def main():
    async with incumbent.connect("memory:") as store:
        await asyncio.gather(*(incumbent.run(store, name, work, **FAST) for name in "ab"))
    print(called, signal.getsignal(TERM) is host)

asyncio.run(main())
""",
        "['SIGTERM'] True\n",
        0,
    ),
    "what_the_programs_handler_raises_is_raised_once_the_work_has_drained": (
        """
def leave(number, frame):
    raise SystemExit(5)

signal.signal(TERM, leave)

async def work(term):
    send()
    await waits(term)

asyncio.run(incumbent.run("memory:", "jobs", work, **FAST))
print("not reached")
""",
        "finished True\n",
        5,
    ),
    "on_a_thread_too_what_the_programs_handler_raises_is_raised_in_the_end": (
        """
def leave(number, frame):
    raise SystemExit(5)

signal.signal(TERM, leave)

def work(term):
    send()
    term.draining()
    print("finished", term.is_current(), flush=True)

incumbent.sync.run("memory:", "jobs", work, **FAST)
print("not reached")
""",
        "finished True\n",
        5,
    ),
    "a_second_signal_is_the_matter_of_the_programs_handler": (
        """
import incumbent._stop
incumbent._stop.SAME_REQUEST = 0.0

def twice(number, frame):
    host(number, frame)
    if len(called) == 2:
        raise SystemExit(6)

signal.signal(TERM, twice)

def work(term):
    send()
    term.draining()
    send()
    print("not reached")

incumbent.sync.run("memory:", "jobs", work, **FAST)
""",
        "",
        6,
    ),
    "a_handler_that_was_installed_meanwhile_stays_and_may_call_the_one_of_the_run": (
        """
def over(number, frame):
    host(number, frame)
    before(number, frame)

def work(term):
    global before
    before = signal.signal(TERM, over)
    send()
    term.draining()
    return "drained"

print(incumbent.sync.run("memory:", "jobs", work, **FAST), called, signal.getsignal(TERM) is over)
send()
print(called)
""",
        "drained ['SIGTERM'] True\n['SIGTERM', 'SIGTERM']\n",
        0,
    ),
    "a_handler_of_the_event_loop_is_called_too": (
        """
async def work(term):
    send()
    await waits(term)

async def main():
    seen = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(TERM, seen.set)
    print(await incumbent.run("memory:", "jobs", work, **FAST))
    await asyncio.wait_for(seen.wait(), 60)

asyncio.run(main())
""",
        "finished True\nNone\n",
        0,
    ),
    "signals_are_left_to_the_program_where_the_program_asks_for_that": (
        """
signal.signal(TERM, host)

def work(term):
    send()
    return called, term.is_draining, signal.getsignal(INT) is signal.default_int_handler

print(incumbent.sync.run("memory:", "jobs", work, stop_on=(), **FAST))
""",
        "(['SIGTERM'], False, True)\n",
        0,
    ),
    "a_child_that_is_forked_while_there_is_a_run_ends_by_the_signal": (
        """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)

def work(term):
    child = os.fork()
    if child == 0:
        send()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), term.is_current()

print(incumbent.sync.run("memory:", "jobs", work, **FAST))
""",
        "(-15, True)\n",
        0,
    ),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_signals_while_there_are_runs(python, case):
    code, output, expected = OUTCOMES[case]
    assert python(BEGIN + code).ended() == (expected, output, "")


UVLOOP = """
import uvloop

async def work(term):
    send()
    await waits(term)

async def main():
    seen = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(TERM, seen.set)
    print(await incumbent.run("memory:", "jobs", work, **FAST))
    await asyncio.wait_for(seen.wait(), 60)

uvloop.run(main())
"""


def test_a_handler_of_uvloop_is_called_too(python):
    assert python(BEGIN + UVLOOP).ended() == (0, "finished True\nNone\n", "")


LIFESPAN = """
import asyncio, incumbent
from contextlib import asynccontextmanager, suppress
from fastapi import FastAPI

async def work(term):
    try:
        await asyncio.sleep(3600)
    finally:
        print("finished", term.is_current(), flush=True)

@asynccontextmanager
async def lifespan(app):
    app.leading = asyncio.create_task(incumbent.run("memory:", "jobs", work, preset="test", lease=60, splay=0))
    yield
    app.leading.cancel()
    with suppress(asyncio.CancelledError):
        await app.leading
    print("the lifespan ends", flush=True)

app = FastAPI(lifespan=lifespan)

@app.get("/")
async def root():
    return {}
"""


def test_a_server_whose_lifespan_has_a_run_ends_by_one_signal(tmp_path):
    (tmp_path / "service.py").write_text(LIFESPAN)
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port), "--log-level", "warning"]
    server = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def answers():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            assert server.poll() is None, server.communicate()[1]
            return False

    try:
        until(answers, "the server does not answer")
        server.send_signal(signal.SIGTERM)
        output, errors = server.communicate(timeout=TIMEOUT)
    finally:
        server.kill()
        server.wait()
    # uvicorn ends by the signal that stopped it.
    assert (output.splitlines()[-1], errors, server.returncode) == ("the lifespan ends", "", -signal.SIGTERM)
