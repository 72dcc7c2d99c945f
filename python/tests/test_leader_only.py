"""Functions that only the leader runs, and callbacks, for asyncio; and what the API for threads refuses."""

from __future__ import annotations

import asyncio
import threading

import pytest
from support import FAST, TIMEOUT, soon

import incumbent
from incumbent import NotLeaderError, Reason, TermEnded, sync


async def test_only_the_leader_runs_an_async_function_and_the_term_is_held_meanwhile(scripted_election):
    election = scripted_election()
    entered, resume = asyncio.Event(), asyncio.Event()

    @incumbent.leader_only(lambda: election.candidate)
    async def work(number: int) -> int:
        entered.set()
        await resume.wait()
        return number

    assert work.__name__ == "work"
    with pytest.raises(NotLeaderError, match="only the leader may call this"):
        await work(1)
    skipped = incumbent.leader_only(election.candidate, otherwise="skip")(work)
    assert await skipped(1) is None
    election.acquire()
    working = asyncio.create_task(work(2))
    await soon(entered.wait())
    election.drain()
    await asyncio.sleep(0)
    assert election.candidate.is_leader
    resume.set()
    assert await soon(working) == 2


async def test_the_end_of_the_term_cancels_an_async_function(scripted_election):
    election = scripted_election()
    entered = asyncio.Event()

    @incumbent.leader_only(election.candidate)
    async def work() -> None:
        entered.set()
        await asyncio.sleep(3600)

    election.acquire()
    working = asyncio.create_task(work())
    await soon(entered.wait())
    election.revoke(Reason.USURPED)
    with pytest.raises(TermEnded) as ended:
        await soon(working)
    assert ended.value.reason is Reason.USURPED


async def test_methods_take_the_candidate_of_their_object(scripted_election, scripted_election_sync):
    election, threaded = scripted_election(), scripted_election_sync()
    election.acquire(), threaded.acquire()

    class Worker:
        def __init__(self, candidate):
            self.candidate = candidate

        @incumbent.leader_only(lambda self: self.candidate)
        async def later(self, number):
            return self, number

        @sync.leader_only(lambda self: self.candidate, otherwise="skip")
        def now(self, number):
            return self, number

    worker = Worker(election.candidate)
    assert await worker.later(3) == (worker, 3)
    election.revoke()
    with pytest.raises(NotLeaderError):
        await worker.later(3)
    worker = Worker(threaded.candidate)
    assert worker.now(4) == (worker, 4)
    threaded.revoke()
    assert worker.now(4) is None


def test_a_function_that_runs_after_its_call_is_refused(scripted_election, scripted_election_sync):
    async def later(*_: object) -> None: ...

    def items():
        yield 1

    candidate = scripted_election_sync().candidate
    with pytest.raises(TypeError, match=r"is an async function, which runs after the call; use incumbent\.leader_only"):
        sync.leader_only(candidate)(later)
    with pytest.raises(TypeError, match="is a generator, which runs after the call"):
        sync.leader_only(candidate)(items)
    with pytest.raises(TypeError, match=r"on_won is .*later.*must not be async"):
        candidate.attach(on_won=later)
    with pytest.raises(TypeError, match=r"is not an async function; for others use incumbent\.sync\.leader_only"):
        incumbent.leader_only(lambda: candidate)(lambda: None)
    with pytest.raises(ValueError, match="'raise' or 'skip'"):
        incumbent.leader_only(lambda: candidate, otherwise="maybe")


async def test_callbacks_are_called_in_order_whether_async_or_not(scripted_election):
    election, seen = scripted_election(), asyncio.Queue()

    async def won(term: incumbent.Term) -> None:
        await asyncio.sleep(0)
        seen.put_nowait(("won", term.token))

    election.candidate.attach(
        on_won=won,
        on_lost=lambda term, reason: seen.put_nowait((reason.name, term.token)),
        on_warning=lambda warning: seen.put_nowait((warning.code, None)),
    )
    token = election.acquire()
    election.revoke()
    election.warning()
    assert [await soon(seen.get()) for _ in range(3)] == [
        ("won", token),
        ("USURPED", token),
        ("MARKERS_MISLEAD", None),
    ]


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_drain_waits_for_its_callback_which_has_the_time_that_is_left(store, is_async):
    drained, resume, leads = asyncio.Queue(), asyncio.Event(), []

    async def later(term, seconds):
        drained.put_nowait(seconds)
        await resume.wait()
        leads.append(term.is_current())

    def now(term, seconds):
        drained.put_nowait(seconds)
        leads.append(term.is_current())

    async with store.campaign("jobs", **{**FAST, "drain": 60}) as candidate:
        won, lost = asyncio.Event(), asyncio.Event()
        candidate.attach(
            on_won=lambda term: won.set(), on_draining=later if is_async else now, on_lost=lambda *_: lost.set()
        )
        await soon(won.wait())
        resigning = asyncio.create_task(candidate.resign())
        assert 30 < await soon(drained.get()) <= 60
        assert not lost.is_set() or not is_async
        resume.set()
        await soon(resigning)
        await soon(lost.wait())
    assert leads == [True]


async def test_a_drain_waits_for_its_callback_though_the_leader_leaves_before_the_loop_heard_of_the_win(scripted_election):
    election, drained = scripted_election(), asyncio.Queue()
    election.candidate.attach(on_draining=lambda term, left: drained.put_nowait(term.is_current()))
    election.acquire()
    election.drain()
    assert election.candidate.is_leader
    assert await soon(drained.get()) is True
    while election.candidate.is_leader:
        await asyncio.sleep(0)


async def test_an_error_of_a_drains_callback_ends_the_term_where_asked(scripted_election, monkeypatch):
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: None)
    election = scripted_election()
    lost = asyncio.Queue()

    async def fail(term, left):
        raise KeyError("on purpose")

    on_lost = lambda term, reason: lost.put_nowait(reason)
    election.candidate.attach(on_draining=fail, on_lost=on_lost, error_ends_term=True)
    election.acquire()
    election.drain()
    assert await soon(lost.get()) is Reason.HANDLER_FAILED
    assert election.asked == [("fail", None)]


def kept(tokens):
    """The wins and losses that are kept for callbacks which are not called meanwhile: 1024 events."""
    return [one for token in tokens[-512:] for one in (("won", token), ("USURPED", token))]


async def test_callbacks_that_fall_behind_learn_how_many_events_they_miss_before_the_next_one(scripted_election):
    election, seen = scripted_election(), []
    election.candidate.attach(
        on_won=lambda term: seen.append(("won", term.token)),
        on_lost=lambda term, reason: seen.append((reason.name, term.token)),
        on_missed=lambda count: seen.append(("missed", count)),
    )
    # The event loop does not turn meanwhile: the first state, and four events in each round.
    tokens = []
    for _ in range(600):
        tokens.append(election.acquire())
        election.revoke()
    while seen[-1:] != [("USURPED", tokens[-1])]:
        await soon(asyncio.sleep(0.001))
    assert seen == [("missed", 1 + 4 * 600 - 1024), *kept(tokens)]


def test_for_threads_callbacks_that_fall_behind_learn_how_many_events_they_miss(scripted_election_sync):
    election, seen = scripted_election_sync(), []
    is_called, resume, is_done = threading.Event(), threading.Event(), threading.Event()

    def state_changed(state):
        is_called.set()
        resume.wait(TIMEOUT)

    def lost(term, reason):
        seen.append((reason.name, term.token))
        if len(seen) == 1025:
            is_done.set()

    election.candidate.attach(
        on_won=lambda term: seen.append(("won", term.token)),
        on_lost=lost,
        on_state_changed=state_changed,
        on_missed=lambda count: seen.append(("missed", count)),
    )
    assert is_called.wait(TIMEOUT)
    tokens = []
    for _ in range(600):
        tokens.append(election.acquire())
        election.revoke()
    resume.set()
    assert is_done.wait(TIMEOUT)
    assert seen == [("missed", 4 * 600 - 1024), *kept(tokens)]


async def test_an_error_of_a_callback_ends_the_term_where_asked(scripted_election, monkeypatch):
    reported: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: reported.append(unraisable.exc_value))
    election = scripted_election()

    def fail(term: incumbent.Term) -> None:
        raise KeyError("on purpose")

    lost: asyncio.Future[Reason] = asyncio.get_running_loop().create_future()
    election.candidate.attach(on_won=fail, on_lost=lambda term, reason: lost.set_result(reason), error_ends_term=True)
    election.acquire()
    assert await soon(lost) is Reason.HANDLER_FAILED
    assert [type(error) for error in reported] == [KeyError]


def test_another_event_loop_than_asyncios_is_refused_by_name():
    with pytest.raises(RuntimeError, match=r"no asyncio event loop runs here: .*trio is not supported"):
        incumbent.init("memory:").send(None)
