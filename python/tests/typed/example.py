"""A program as users write it, for the type checkers: everything it uses has a type."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import incumbent
import incumbent.sync
from incumbent import testing
from typing_extensions import Unpack


async def drain(term: incumbent.Term, deadline: float) -> None:
    print(term.token.sequence + 1, deadline + 1.0)


async def prepared(url: str, **settings: Unpack[incumbent.InitSettings]) -> incumbent.Store:
    report: incumbent.InitReport = await incumbent.init(url, **settings)
    print(report.created, report.lease or 0.0, [name.lower() for name, _, _ in report.differences])
    opening: incumbent.Opening[incumbent.Store] = incumbent.connect(url, timeout=3)
    return await opening


async def guarded(candidate: incumbent.Candidate, length: incumbent.Length, well: incumbent.HealthCheck) -> int:
    @incumbent.leader_only(candidate, otherwise="skip")
    async def double(number: int) -> int:
        return number * 2

    candidate.attach(on_won=lambda term: print(term.token), on_lost=lambda term, reason: print(reason.name))
    candidate.attach(on_draining=lambda term, left: print(term.token, left + 1.0))
    current: incumbent.Term | None = incumbent.current_term()
    print(current and current.token)
    events: incumbent.Stream[incumbent.Event] = candidate.events()
    print(events.missed, length, well)
    return await double(3) or 0


class Worker:
    def __init__(self, candidate: incumbent.sync.Candidate) -> None:
        self.candidate = candidate

    @incumbent.sync.leader_only(lambda self: self.candidate)
    def double(self, number: int) -> int:
        term: incumbent.sync.Term | None = incumbent.sync.current_term()
        return number * 2 if term else 0


def apart(work: int) -> int:
    run: incumbent.sync.Run[int] = incumbent.sync.start("memory:", "jobs", lambda term: work, lease="10s")
    with run:
        candidate = run.candidate
        print(run.is_over, run.is_leader, candidate and Worker(candidate).double(3) + 1)
    ended: int | None = run.wait(timeout=3)
    return run.stop() or ended or 0


async def aio() -> incumbent.Reason | None:
    async with await incumbent.connect("memory:", fail_fast=True, markers=True) as store:
        async with store.campaign(
            "jobs", name="a", lease=timedelta(seconds=20), drain=drain, drain_time="5s", metadata={"k": "v"}
        ) as candidate:
            async for term in candidate.terms():
                try:
                    async with term as same:
                        token: incumbent.Token = same.token
                        print(str(token), same.remaining > 1.0, same.is_current())
                except incumbent.TermEnded as ended:
                    return ended.reason
            async for event in candidate.events():
                match event:
                    case incumbent.Won(term) | incumbent.Draining(term, _):
                        print(term.drain_remaining)
                    case incumbent.Lost(term, reason):
                        print(term.token, reason.may_drain)
                    case incumbent.LeaderChanged(leader):
                        print(leader.name if leader else None)
                    case incumbent.StateChanged(state):
                        print(state.name)
                    case incumbent.Warning(code, message):
                        print(code.lower(), message.lower())
            leader = await store.leader("jobs")
            print([one.election for one in await store.list()], leader and leader.metadata["k"])
            await candidate.hand_over(to="b")
            await asyncio.wait_for(candidate.resign(), 3)
    return None


async def whole() -> None:
    async def work(term: incumbent.Term) -> int:
        return len(str(term.token))

    done: int | None = await incumbent.run("memory:", "jobs", work, name="a", keep_leading=False, drain=5)
    print(done)


def threads() -> None:
    length: int | None = incumbent.sync.run("memory:", "jobs", lambda term: len(str(term.token)), lease="10s")
    print(length)
    with incumbent.sync.connect("sqlite:e.db", poll=0.01) as store:
        with store.campaign("jobs", preset="fast", backoff=[0.1, 1]) as candidate:

            @incumbent.sync.leader_only(candidate, otherwise="skip")
            def double(number: int) -> int:
                return number * 2

            maybe: int | None = double(3)
            print(maybe)
            candidate.attach(on_won=lambda term: print(term.token), error_ends_term=True)
            for term in candidate.terms():
                with term:
                    term.check()
            for event in candidate.events(timeout=3):
                print(event)


async def tested() -> None:
    election = testing.scripted_election()
    token: incumbent.Token = election.acquire(lease=3)
    candidate: incumbent.Candidate = election.candidate
    other: incumbent.sync.Candidate = testing.scripted_election_sync().candidate
    print(token, candidate.is_leader, other.is_leader)
    _, faults = await testing.faulty_store()
    faults.partition()
