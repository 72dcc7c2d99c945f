"""`run`, in this process and as a program that supervisors stop."""

from __future__ import annotations

import asyncio
import signal
import sys

import pytest
from support import FAST, TIMEOUT, soon, until

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


def lost(term: incumbent.Term) -> None:
    """Ends the term, and waits until its work can see that."""
    term.fail()
    until(lambda: not term.is_current(), "the term does not end")


if sys.version_info >= (3, 11):

    def group(*errors: Exception) -> ExceptionGroup[Exception]:
        return ExceptionGroup("unhandled errors in a TaskGroup", errors)

    ENDS = [incumbent.TermEnded(incumbent.Reason.EXPIRED), incumbent.TermEnded(incumbent.Reason.USURPED)]

    @pytest.mark.parametrize("error", [group(*ENDS), group(ENDS[0], group(ENDS[1]))], ids=["group", "nested"])
    async def test_ends_of_terms_from_a_task_group_are_followed_by_another_term(store, error):
        terms: list[incumbent.Term] = []

        async def work(term: incumbent.Term) -> str:
            terms.append(term)
            if len(terms) == 1:
                lost(term)
                raise error
            return "done"

        assert await soon(incumbent.run(store, "jobs", work, **FAST)) == "done"
        terms.clear()
        with incumbent.sync.connect("memory:") as other:

            def threaded(term: incumbent.sync.Term) -> str:
                terms.append(term)
                if len(terms) == 1:
                    lost(term)
                    raise error
                return "done"

            assert incumbent.sync.run(other, "jobs", threaded, **FAST) == "done"

    async def test_another_error_in_the_group_is_one_of_the_work(store):
        async def work(term: incumbent.Term) -> None:
            lost(term)
            raise group(ENDS[0], OSError("no disk"))

        with pytest.raises(ExceptionGroup) as raised:
            await soon(incumbent.run(store, "jobs", work, **FAST))
        assert [type(one) for one in raised.value.exceptions] == [incumbent.TermEnded, OSError]

    async def test_a_body_whose_task_group_finds_the_end_of_the_term_raises_it(candidate):
        term = await soon(candidate.next_term())
        with pytest.raises(incumbent.TermEnded) as ended:
            async with term, asyncio.TaskGroup() as tasks:

                async def check() -> None:
                    lost(term)
                    term.check()

                tasks.create_task(check())
        assert ended.value.reason is incumbent.Reason.HANDLER_FAILED
        assert isinstance(ended.value.__cause__, ExceptionGroup)


def unhealthy_while(asked: list[bool]) -> dict[str, object]:
    """Settings of a campaign that is unhealthy, and so drains, while there is something in that list."""
    return {"health": lambda: not asked, "health_interval": 0.05, **FAST, "drain": 60}


async def drains(term: incumbent.Term) -> None:
    """Waits until the term drains, without the work's notice."""
    while term._native.drain_remaining is None:
        assert term._native.is_current()
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("result", ["done", None])
async def test_a_job_that_ends_while_its_term_drains_is_done(store, result):
    asked: list[bool] = []
    calls = []

    async def job(term: incumbent.Term) -> str | None:
        calls.append(term)
        asked.append(True)
        await drains(term)
        # A second call would never end.
        assert len(calls) == 1
        return result

    assert await soon(incumbent.run(store, "jobs", job, **unhealthy_while(asked))) is result
    assert len(calls) == 1 and await store.leader("jobs") is None


@pytest.mark.parametrize("notices", ["is_draining", "drain_remaining", "draining", "a drain handler"])
async def test_work_that_stops_because_its_term_drains_is_called_in_the_next_one(store, notices):
    asked: list[bool] = []
    tokens = []
    told, returns = asyncio.Event(), asyncio.Event()

    async def work(term: incumbent.Term) -> str | None:
        tokens.append(term.token)
        if len(tokens) == 2:
            return "in the next term"
        asked.append(True)
        await drains(term)
        if notices == "is_draining":
            assert term.is_draining
        elif notices == "drain_remaining":
            assert term.drain_remaining
        elif notices == "draining":
            await term.draining()
        else:
            await told.wait()
            returns.set()
        asked.clear()
        return None

    async def finish(term: incumbent.Term, deadline: float) -> None:
        told.set()
        await returns.wait()

    settings = unhealthy_while(asked)
    if notices == "a drain handler":
        settings.update(drain=finish, drain_time=60)
    assert await soon(incumbent.run(store, "jobs", work, **settings)) == "in the next term"
    assert tokens == sorted(set(tokens)) and len(tokens) == 2


@pytest.mark.parametrize("result", ["done", None])
def test_on_a_thread_a_job_that_ends_while_its_term_drains_is_done(result):
    asked: list[bool] = []
    calls = []

    def job(term: incumbent.sync.Term) -> str | None:
        calls.append(term)
        asked.append(True)
        until(lambda: term._native.drain_remaining is not None, "the term does not drain")
        assert len(calls) == 1
        return result

    with incumbent.sync.connect("memory:") as store:
        assert incumbent.sync.run(store, "jobs", job, **unhealthy_while(asked)) is result
        assert len(calls) == 1 and store.leader("jobs") is None


def test_on_a_thread_work_that_stops_because_its_term_drains_is_called_in_the_next_one():
    asked: list[bool] = []
    tokens = []

    def work(term: incumbent.sync.Term) -> str | None:
        tokens.append(term.token)
        if len(tokens) == 2:
            return "in the next term"
        asked.append(True)
        term.draining(TIMEOUT)
        asked.clear()
        return None

    with incumbent.sync.connect("memory:") as store:
        assert incumbent.sync.run(store, "jobs", work, **unhealthy_while(asked)) == "in the next term"
    assert len(tokens) == 2


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
