"""A service of FastAPI on many machines: one process relays, and answers what only the leader may.

    python fastapi_service.py sqlite:elections.db 8000

`GET /leader` shows who leads, `POST /invoices` is answered by the leader alone. SIGTERM and Ctrl-C stop it.
"""

import asyncio
import sys
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI

import incumbent
from incumbent.fastapi import candidate_of, leader_term, lifespan


async def relay(term: incumbent.Term) -> None:
    """The work of one term, cancelled the moment it ends."""
    print("relaying with token", term.token, flush=True)
    try:
        await asyncio.sleep(float("inf"))
    finally:
        print("relaying no more", flush=True)


def service(url: str) -> FastAPI:
    app = FastAPI(lifespan=lifespan(url, "relay", relay))

    @app.get("/leader")
    async def leader(candidate: Annotated[incumbent.Candidate, Depends(candidate_of)]) -> dict[str, object]:
        seen = candidate.leader  # read once: it may be gone the next time
        return {"me": candidate.is_leader, "leader": seen.name if seen else None}

    @app.post("/invoices")
    async def send(term: Annotated[incumbent.Term, Depends(leader_term)]) -> dict[str, str]:
        # Held by the term: a leader that leaves answers this first.
        return {"sent_with": str(term.token)}

    return app


if __name__ == "__main__":
    url, port = sys.argv[1:] or ["memory:", "8000"]
    uvicorn.run(service(url), port=int(port), log_level="warning")
