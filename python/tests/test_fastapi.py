"""`incumbent.fastapi`: a lifespan, and dependencies of requests."""

from __future__ import annotations

import asyncio
from typing import Annotated

import httpx
import pytest
from fastapi import Depends, FastAPI
from support import FAST, soon

import incumbent
from incumbent.fastapi import candidate_of, leader_term, leading, lifespan

LeaderTerm = Annotated[incumbent.Term, Depends(leader_term)]


@pytest.fixture
def election(scripted_election):
    return scripted_election("jobs", "a")


@pytest.fixture
def app(election):
    app = FastAPI()
    app.state.incumbent = election.candidate
    return app


@pytest.fixture
async def client(app):
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
        yield client


async def test_only_the_leader_answers_and_others_name_it(app, client, election):
    @app.get("/")
    async def token(term: LeaderTerm) -> str:
        return str(term.token)

    answer = await client.get("/")
    assert (answer.status_code, answer.json()) == (503, {"detail": "no process leads"})
    assert answer.headers["retry-after"] == "1"
    election.leader("b")
    assert (await client.get("/")).json() == {"detail": "b leads"}
    won = election.acquire()
    answer = await client.get("/")
    assert (answer.status_code, answer.json()) == (200, str(won))


async def test_a_leader_that_leaves_answers_what_it_has_begun(app, client, election):
    entered, resume = asyncio.Event(), asyncio.Event()

    @app.get("/")
    async def slow(term: LeaderTerm) -> bool:
        entered.set()
        await resume.wait()
        return term.is_current()

    election.acquire()
    asking = asyncio.create_task(client.get("/"))
    await soon(entered.wait())
    election.drain()
    await asyncio.sleep(0)
    assert election.candidate.is_leader
    resume.set()
    assert (await soon(asking)).json() is True
    while election.candidate.is_leader:
        await asyncio.sleep(0)


async def test_the_end_of_the_term_ends_a_request_with_503(app, client, election):
    entered, ended = asyncio.Event(), []

    @app.get("/")
    async def slow(term: LeaderTerm) -> None:
        entered.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(term.reason)

    election.acquire()
    asking = asyncio.create_task(client.get("/"))
    await soon(entered.wait())
    election.revoke()
    assert (await soon(asking)).status_code == 503
    assert ended == [incumbent.Reason.USURPED]


async def test_an_error_of_a_request_is_its_own(app, client, election):
    @app.get("/")
    async def fails(term: LeaderTerm) -> None:
        raise KeyError("on purpose")

    election.acquire()
    with pytest.raises(KeyError, match="on purpose"):
        await client.get("/")
    assert election.candidate.is_leader


async def test_a_lifespan_campaigns_and_runs_the_work_again_when_it_has_failed(monkeypatch):
    reported = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: reported.append(str(context["exception"])))
    tokens, working = [], asyncio.Event()

    async def work(term):
        tokens.append(term.token)
        if len(tokens) == 1:
            raise OSError("no disk")
        working.set()
        await asyncio.sleep(3600)

    app = FastAPI()
    async with incumbent.connect("memory:fastapi") as store:
        async with lifespan("memory:fastapi", "jobs", work, **FAST)(app):
            await soon(working.wait())
            assert app.state.incumbent.is_leader and reported == ["no disk"]
        assert await store.leader("jobs") is None
    assert tokens == sorted(set(tokens)) and len(tokens) == 2


async def test_a_lifespan_without_work_and_one_that_has_more_to_do():
    app = FastAPI()
    async with leading(app, "memory:", "jobs", **FAST) as candidate:
        assert app.state.incumbent is candidate
        assert (await soon(candidate.next_term())).is_current()

    class Connection:
        pass

    connection = Connection()
    connection.app = app
    assert candidate_of(connection) is candidate
