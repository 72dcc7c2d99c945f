"""FastAPI under uvicorn: the work of a term is a coroutine, in the lifespan of the service."""

import asyncio

import work
from fastapi import FastAPI
from incumbent.fastapi import lifespan

import incumbent


async def relay(term: incumbent.Term) -> None:
    while work.step(term):
        await asyncio.sleep(work.PAUSE)


app = FastAPI(lifespan=lifespan(work.STORE, work.ELECTION, relay, splay=0))
