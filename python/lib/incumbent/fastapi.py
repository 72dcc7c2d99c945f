"""A lifespan and dependencies for FastAPI, and for Starlette.

::

    from typing import Annotated

    import incumbent
    from fastapi import Depends, FastAPI
    from incumbent.fastapi import leader_term, lifespan

    async def work(term: incumbent.Term) -> None: ...   # of the leader, cancelled the moment its term ends

    app = FastAPI(lifespan=lifespan("nats://localhost:4222/ELECTIONS", "relay", work))

    @app.post("/invoices")
    async def send(term: Annotated[incumbent.Term, Depends(leader_term)]) -> None:
        await send_invoices(term.token)                 # on the leader; 503 elsewhere
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

import incumbent

__all__ = ["candidate_of", "leader_term", "leading", "lifespan"]


def lifespan(
    store: str,
    election: str,
    work: Callable[[incumbent.Term], Awaitable[object]] | None = None,
    *,
    store_settings: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """Returns a lifespan for ``FastAPI(lifespan=…)``: the service campaigns while it runs. See :func:`leading`."""

    @asynccontextmanager
    async def whole(app: Any) -> AsyncIterator[None]:
        async with leading(app, store, election, work, store_settings=store_settings, **settings):
            yield

    return whole


@asynccontextmanager
async def leading(
    app: Any,
    store: str,
    election: str,
    work: Callable[[incumbent.Term], Awaitable[object]] | None = None,
    *,
    store_settings: Mapping[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[incumbent.Candidate]:
    """Campaigns while the body runs, for a lifespan that has more to do::

        @asynccontextmanager
        async def lifespan(app):
            async with leading(app, "nats://localhost:4222/ELECTIONS", "relay", work), database():
                yield

    ``work(term)`` runs in every term, as in :meth:`incumbent.Candidate.lead`. At the end it is cancelled, and the lease is
    released when it has returned. Other keywords are those of :meth:`incumbent.Store.campaign`, and ``store_settings`` are
    those of :func:`incumbent.connect`. The store is waited for: with ``store_settings={"fail_fast": True}`` a service whose
    store does not answer does not start.
    """
    async with incumbent.connect(store, **(store_settings or {})) as opened:
        async with opened.campaign(election, **settings) as candidate:
            app.state.incumbent = candidate
            if work is None:
                yield candidate
                return
            task = asyncio.create_task(candidate.lead(work), name=f"incumbent-lead-{election}")
            try:
                yield candidate
            finally:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


def candidate_of(connection: HTTPConnection) -> incumbent.Candidate:
    """Returns the candidate of the service, as a dependency: ``candidate_of(request).is_leader``."""
    candidate: incumbent.Candidate = connection.app.state.incumbent
    return candidate


async def leader_term(connection: HTTPConnection) -> AsyncIterator[incumbent.Term]:
    """Holds the term while a request is handled, as a dependency. Where another process leads, the answer is 503 with the
    leader's name; the term's end cancels the request, with the same answer."""
    candidate = candidate_of(connection)
    term = candidate.term
    try:
        if term is not None:
            async with term:
                yield term
            return
    except incumbent.TermEnded as ended:
        raise _unavailable(candidate) from ended
    raise _unavailable(candidate)


def _unavailable(candidate: incumbent.Candidate) -> HTTPException:
    leader = candidate.leader
    detail = f"{leader.name} leads" if leader is not None else "no process leads"
    return HTTPException(503, detail, headers={"Retry-After": "1"})
