"""The harness: a child process that takes requests, one line of JSON each."""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from conformance.failure import Missed
from conformance.scenario import Fields

PROTOCOL = 1
TIMEOUT = 90.0
"""Longer than any request takes: it may start a server on a busy machine."""
ENVIRONMENT = dict(os.environ)
"""A copy: pytest writes the name of each test into the real environment. Starting a program from another thread then
fails now and then with EFAULT, since C code reads the environment meanwhile."""


class Harness:
    """A running harness."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._requests = process.stdin
        self._replies = process.stdout

    @classmethod
    async def start(cls, program: Path) -> Harness:
        process = await asyncio.create_subprocess_exec(program, stdin=PIPE, stdout=PIPE, env=ENVIRONMENT)
        harness = cls(process)
        try:
            hello = await harness._hear()
            protocol = hello.number("protocol")
            if protocol != PROTOCOL:
                raise Missed(f"a harness of protocol {PROTOCOL}", f"it speaks {protocol:g}")
        except BaseException:
            await harness.kill()
            raise
        return harness

    async def ask(self, do: str, **what: object) -> Fields:
        """Sends a request, and waits until it is done."""
        self._requests.write(json.dumps({"do": do, **what}).encode() + b"\n")
        await self._requests.drain()
        reply = await self._hear()
        if not reply.flag("ok"):
            raise Missed(f"the harness to {do}", reply.text("error"))
        return reply

    async def end(self) -> None:
        """Ends the harness, and waits until it and its child processes have ended."""
        self._requests.close()
        try:
            code = await asyncio.wait_for(self._process.wait(), TIMEOUT)
        except asyncio.TimeoutError:
            await self.kill()
            raise Missed("the harness to end", f"it has not, after {TIMEOUT:g} s") from None
        if code != 0:
            raise Missed("the harness to end well", f"it ended with {code}")

    async def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def _hear(self) -> Fields:
        try:
            line = await asyncio.wait_for(self._replies.readline(), TIMEOUT)
        except asyncio.TimeoutError:
            raise Missed("an answer of the harness", f"none, after {TIMEOUT:g} s") from None
        if not line:
            raise Missed("an answer of the harness", "it has ended")
        return Fields(json.loads(line), "what the harness said")
