"""`run`, in this process and as a program that supervisors stop."""

from __future__ import annotations

import asyncio
import signal

import pytest
from support import FAST, soon

import incumbent
import incumbent.sync

NO_SERVER = "nats://127.0.0.1:1/JOBS"


async def test_leadership_is_given_back_when_the_work_returns_and_its_result_is_that_of_the_run(store):
    async def work(term: incumbent.Term) -> bool:
        return term.is_current()

    assert await soon(incumbent.run(store, "jobs", work, **FAST)) is True
    assert await store.leader("jobs") is None
    # A store that was open stays open.
    assert await soon(incumbent.run(store, "jobs", work, **FAST)) is True


async def test_leadership_is_kept_where_that_is_wanted_until_the_run_is_cancelled(store):
    done = asyncio.Event()

    async def work(term: incumbent.Term) -> None:
        done.set()

    running = asyncio.create_task(incumbent.run(store, "jobs", work, keep_leading=True, **FAST))
    await soon(done.wait())
    assert (await store.leader("jobs")) is not None
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(running)
    assert await store.leader("jobs") is None


async def test_work_that_raises_ends_the_term_and_the_run_with_its_error(store):
    terms: list[incumbent.Term] = []
    error = OSError("no disk")

    async def work(term: incumbent.Term) -> None:
        terms.append(term)
        raise error

    with pytest.raises(OSError, match="no disk") as raised:
        await soon(incumbent.run(store, "jobs", work, **FAST))
    assert raised.value is error
    assert terms[0].reason is incumbent.Reason.HANDLER_FAILED


async def test_a_term_that_ends_before_its_work_is_followed_by_another(store):
    tokens: list[incumbent.Token] = []

    async def work(term: incumbent.Term) -> int:
        tokens.append(term.token)
        if len(tokens) < 3:
            term.fail()
            # Cancelled by the end of the term.
            await asyncio.sleep(3600)
        return len(tokens)

    assert await soon(incumbent.run(store, "jobs", work, **FAST)) == 3
    assert tokens == sorted(set(tokens))


async def test_a_cancelled_run_cancels_its_work_and_holds_the_term_until_that_has_returned(store):
    seen: list[object] = []
    leading = asyncio.Event()

    async def work(term: incumbent.Term) -> None:
        leading.set()
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            seen.append(term.is_current())

    running = asyncio.create_task(incumbent.run(store, "jobs", work, **FAST))
    await soon(leading.wait())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(running)
    assert seen == [True]
    assert await store.leader("jobs") is None


async def test_the_errors_of_the_store_and_of_settings_are_raised(store):
    async def work(term: incumbent.Term) -> None:
        raise AssertionError

    with pytest.raises(incumbent.InvalidSettingError, match="leese"):
        await incumbent.run(store, "jobs", work, leese=1)
    with pytest.raises(incumbent.StoreUnavailableError):
        await incumbent.run(NO_SERVER, "jobs", work, store_settings={"fail_fast": True, "connect_timeout": 0.2})
    with pytest.raises(ValueError, match="4711"):
        await incumbent.run(store, "jobs", work, stop_on=[4711])
    with pytest.raises(incumbent.InvalidSettingError, match="leese"):
        incumbent.sync.run("memory:", "jobs", lambda term: None, leese=1)


def test_on_a_thread_the_work_returns_its_result_and_errors_are_raised():
    with incumbent.sync.connect("memory:") as store:
        tokens: list[incumbent.Token] = []

        def work(term: incumbent.sync.Term) -> int:
            tokens.append(term.token)
            if len(tokens) < 3:
                term.fail()
                term.ended(timeout=60)
                term.check()
            return len(tokens)

        assert incumbent.sync.run(store, "jobs", work, **FAST) == 3
        with pytest.raises(ZeroDivisionError):
            incumbent.sync.run(store, "jobs", lambda term: 1 / 0, **FAST)
        assert store.leader("jobs") is None


ASYNC = """
import asyncio, incumbent, sys
end = sys.argv[2]

async def work(term):
    print("leading", flush=True)
    try:
        if end == "drains":
            await term.draining()
        else:
            await asyncio.sleep(3600)
    finally:
        print("finishing", term.is_current(), term.is_draining, flush=True)
        if end == "hangs":
            await asyncio.sleep(1.1)
            print("a second later", flush=True)
            await asyncio.sleep(60)
        await asyncio.sleep(0.2)
    return "done"

settings = {"preset": "fast", "splay": 0, "drain": 60, "cancel_on_stop": end != "drains"}
print("result", asyncio.run(incumbent.run(sys.argv[1], "jobs", work, **settings)), flush=True)
"""

THREADS = """
import incumbent.sync, sys

def work(term):
    print("leading", flush=True)
    term.draining()
    print("finishing", term.is_current(), term.is_draining, flush=True)
    return "done"

print("result", incumbent.sync.run(sys.argv[1], "jobs", work, preset="fast", splay=0, drain=60), flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("program", "end", "result"),
    [(ASYNC, "cancels", "None"), (ASYNC, "drains", "done"), (THREADS, "drains", "done")],
)
def test_a_signal_lets_the_work_finish_and_gives_the_lease_back(python, bucket, number, program, end, result):
    process = python(program, bucket, end)
    process.expect("leading")
    process.popen.send_signal(number)
    assert process.expect("finishing").startswith("True")
    # The same request.
    process.popen.send_signal(number)
    assert process.expect("result") == result
    assert process.ended() == (0, "", "")
    with incumbent.sync.connect(bucket) as store:
        assert store.leader("jobs") is None


def test_the_same_signal_a_second_later_ends_the_process_at_once(python, bucket):
    process = python(ASYNC, bucket, "hangs")
    process.expect("leading")
    process.popen.send_signal(signal.SIGINT)
    process.expect("finishing")
    process.expect("a second later")
    process.popen.send_signal(signal.SIGINT)
    assert process.ended()[0] == -signal.SIGINT


WAITING = """
import asyncio, incumbent.sync, signal, sys, threading, time

async def work(term):
    raise AssertionError

def report():
    while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        time.sleep(0.001)
    print("waiting", flush=True)

threading.Thread(target=report).start()
if sys.argv[2] == "threads":
    print("result", incumbent.sync.run(sys.argv[1], "jobs", work), flush=True)
else:
    print("result", asyncio.run(incumbent.run(sys.argv[1], "jobs", work)), flush=True)
"""


@pytest.mark.parametrize("face", ["asyncio", "threads"])
def test_a_signal_ends_a_wait_for_a_store_that_is_not_there(python, face):
    process = python(WAITING, NO_SERVER, face)
    process.expect("waiting")
    process.popen.send_signal(signal.SIGTERM)
    assert process.expect("result") == "None"
    code, _, errors = process.ended()
    assert (code, "Traceback" in errors) == (0, False)
