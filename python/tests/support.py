"""Shared code of the tests: waiting, and processes that print a line at a time."""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAST: dict[str, Any] = {"preset": "test", "lease": 60, "splay": 0}
"""Settings on a store in this process, without a wait. The lease does not end just because the machine is busy."""
SHORT: dict[str, Any] = {**FAST, "lease": 0.8}
"""The settings of a campaign in a test that waits for the end of the lease."""
RENEWED: dict[str, Any] = {**FAST, "lease": 10}
"""The settings of a campaign in a test that waits for a renewal."""
NATS_LEASE = 8.0
"""The lease of a bucket, in seconds: tests wait for its end."""
TIMEOUT = 60.0


def tool(variable: str, *fallbacks: Path) -> Path:
    """Finds a program that `cargo xtask test python` names in the environment, or one of an earlier build."""
    named = os.environ.get(variable)
    for path in [Path(named)] if named else fallbacks:
        if path.is_file():
            return path
    looked = ", ".join(str(path) for path in fallbacks)
    pytest.fail(f"set {variable}, or run `cargo xtask test python`: none of {looked}")


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            return connection.recv(4) == b"INFO"
    except OSError:
        return False


def until(condition: Callable[[], Any], otherwise: str) -> Any:
    """Waits for a condition."""
    end = time.monotonic() + TIMEOUT
    while not (value := condition()):
        assert time.monotonic() < end, otherwise
        time.sleep(0.005)
    return value


async def soon(awaitable: Any) -> Any:
    """Waits for an awaitable that finishes, unless there is a bug."""
    return await asyncio.wait_for(awaitable, TIMEOUT)


async def event(events: Any, kind: type[Any]) -> Any:
    """Returns the next event of a kind."""

    async def read() -> Any:
        async for one in events:
            if isinstance(one, kind):
                return one
        pytest.fail(f"no {kind.__name__} comes any more")

    return await soon(read())


class Process:
    """A Python process that prints a line at a time."""

    def __init__(self, code: str, *arguments: str) -> None:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        # The test runner may have been started with Ctrl-C ignored, and processes inherit that.
        code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{code}"
        self.popen = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=tempfile.gettempdir(),
        )
        self.pid = self.popen.pid

    def line(self) -> str:
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline().strip()
        if not line:
            _, errors = self.popen.communicate(timeout=TIMEOUT)
            pytest.fail(f"the process ended with {self.popen.returncode}: {errors}")
        return line

    def expect(self, wanted: str) -> str:
        """Reads up to a line that begins with `wanted`; returns the rest of that line."""
        while True:
            line = self.line()
            if line.startswith(wanted):
                return line[len(wanted) :].strip()

    def say(self, line: str) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()

    def ended(self) -> tuple[int, str, str]:
        """Waits for its end; returns the exit code and its output."""
        output, errors = self.popen.communicate(timeout=TIMEOUT)
        return self.popen.returncode, output, without_short_lease(errors)


def without_short_lease(errors: str) -> str:
    """Leaves out the warning that the leases of the tests' buckets are short: they are short on purpose."""
    lines = errors.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("a leader loses its term when the store is silent"))


class Server:
    """A nats-server for the tests, which keeps its data in a folder."""

    def __init__(self, folder: str) -> None:
        self._program = tool("NATS_SERVER", ROOT / "target/tools/nats-server/2.15.1/nats-server")
        self._folder = folder
        self._port = free_port()
        self.url = f"nats://127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        """Starts it, on the same port and with its earlier data."""
        command = [str(self._program), "-a", "127.0.0.1", "-p", str(self._port), "-js", "-sd", self._folder]
        with open(os.path.join(self._folder, "log"), "ab") as log:
            self._popen = subprocess.Popen(command, stdout=log, stderr=log)
        until(lambda: self._popen.poll() is not None or answers(self._port), "the nats-server does not answer")
        assert self._popen.poll() is None, Path(self._folder, "log").read_text(encoding="utf-8")

    def kill(self) -> None:
        """Ends it with SIGKILL."""
        self._popen.kill()
        self._popen.wait()

    @property
    def pid(self) -> int:
        return self._popen.pid


_PORTS: list[IO[bytes]] = []
"""The locks of the ports that this process has."""


def free_port() -> int:
    """Returns a port on which no process listens, for this process alone until it ends.

    It is below the system's range for outgoing connections, and outside the range of the Rust
    tests: otherwise a client that dials a stopped server would sometimes get that very port.
    """
    folder = Path(tempfile.gettempdir()) / "incumbent-test-ports"
    folder.mkdir(exist_ok=True)
    for port in random.sample(range(24_000, 28_000), 1000):
        lock = open(folder / str(port), "wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as held:
                held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                held.bind(("127.0.0.1", port))
        except OSError:
            lock.close()
            continue
        _PORTS.append(lock)
        return port
    pytest.fail("there is no free port")


@contextmanager
def nats_server() -> Iterator[Server]:
    """A nats-server for the tests."""
    with tempfile.TemporaryDirectory(prefix="incumbent-python-") as folder:
        server = Server(folder)
        try:
            yield server
        finally:
            server.kill()
