"""Fixtures: a real nats-server with a bucket, the command line, and processes that never outlive a test."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from support import FAST, NATS_LEASE, ROOT, Process, nats_server, tool

import incumbent

@pytest.fixture(scope="session")
def cli() -> Path:
    """The command line."""
    return tool("INCUMBENT_CLI", ROOT / "target/debug/incumbent")


@pytest.fixture(scope="session")
def nats_url() -> Iterator[str]:
    """A nats-server for the tests."""
    with nats_server() as server:
        yield server.url


BUCKETS = iter(range(1_000_000))


@pytest.fixture
def bucket(nats_url: str, cli: Path) -> str:
    """A bucket for one test on that server, as a store's URL."""
    url = f"{nats_url}/B{next(BUCKETS)}"
    lease = f"{NATS_LEASE:g}s"
    subprocess.run([cli, "init", "--store", url, "--lease", lease, "--new"], check=True, capture_output=True)
    return url


@pytest.fixture
async def store() -> AsyncIterator[incumbent.Store]:
    async with await incumbent.connect("memory:") as store:
        yield store


@pytest.fixture
async def candidate(store: incumbent.Store) -> AsyncIterator[incumbent.Candidate]:
    # A drain that lasts longer than any step of a test.
    async with store.campaign("jobs", name="a", drain=60, **FAST) as candidate:
        yield candidate


@pytest.fixture
def python() -> Iterator[Callable[..., Process]]:
    """Starts Python processes, and kills those that are left."""
    started: list[Process] = []

    def start(code: str, *arguments: str) -> Process:
        process = Process(code, *arguments)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.popen.poll() is None:
            process.popen.kill()
        process.popen.wait()
        for pipe in (process.popen.stdin, process.popen.stdout, process.popen.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def sqlite(cli: Path) -> Iterator[str]:
    """A file for one test, as a store's URL; declared new, so that its first leader need not wait.

    It is in memory if the system has a folder for that: a busy disk would hold up a process that
    ends.
    """
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        url = f"sqlite:{folder}/elections.db"
        subprocess.run([cli, "init", "--store", url, "--new"], check=True, capture_output=True)
        yield url

