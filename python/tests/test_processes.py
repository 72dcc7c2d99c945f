"""Elections between processes, on a real nats-server: fail-over, signals, and the command line."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from contextlib import ExitStack

import pytest
from support import NATS_LEASE, TIMEOUT, nats_server

import incumbent
from incumbent import sync

WORKER = """
import asyncio, sys, incumbent
async def main():
    async with await incumbent.connect(sys.argv[1]) as store:
        async with store.campaign("jobs", name=sys.argv[2], preset="fast", splay=0) as candidate:
            print("ready")
            async for term in candidate.terms():
                print("won", term.token)
                try:
                    async with term:
                        await asyncio.sleep(3600)
                except incumbent.TermEnded as ended:
                    print("lost", ended.reason.name, candidate.is_leader)
asyncio.run(main())
"""

ASKED = """
import sys, incumbent.sync
with incumbent.sync.connect(sys.argv[1]) as store:
    candidate = store.campaign("jobs", name="asked", preset="fast", splay=0)
    term = candidate.next_term()
    print("won", term.token)
    for line in sys.stdin:
        print("leads", candidate.is_leader, term.is_current(), term.remaining)
"""


@pytest.fixture
def second(bucket):
    """A candidate of this process, behind the other candidates."""
    with sync.connect(bucket) as store, ExitStack() as stack:
        yield lambda: stack.enter_context(store.campaign("jobs", name="second", preset="fast", splay=0))


def token(text: str) -> incumbent.Token:
    return incumbent.Token.parse(text)


def test_a_worker_that_ends_hands_over_at_once_and_tokens_grow(python, bucket):
    first = python(WORKER, bucket, "first")
    tokens = [token(first.expect("won"))]
    other = python(WORKER, bucket, "other")
    other.expect("ready")
    first.popen.send_signal(signal.SIGINT)
    tokens.append(token(other.expect("won")))
    assert first.ended()[0] != 0
    assert tokens == sorted(set(tokens))


def test_a_worker_that_is_killed_is_followed_when_its_lease_is_over(python, bucket, second):
    first = python(WORKER, bucket, "first")
    before = token(first.expect("won"))
    candidate = second()
    first.popen.kill()
    assert candidate.next_term(TIMEOUT).token > before
    assert first.popen.wait() == -signal.SIGKILL


def test_a_worker_that_was_stopped_beyond_its_lease_knows_at_its_first_line(python, bucket, second):
    first = python(ASKED, bucket)
    before = token(first.expect("won"))
    os.kill(first.pid, signal.SIGSTOP)
    # Kept to the end: without it, the worker may lead again before it answers.
    other = second()
    try:
        # Asked before it continues, so that the answer is its first action.
        first.say("?")
        assert other.next_term(TIMEOUT).token > before
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert first.expect("leads") == "False False 0.0"


def test_a_worker_that_was_stopped_for_a_moment_leads_on(python, bucket):
    first = python(ASKED, bucket)
    first.expect("won")
    os.kill(first.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, first.pid, os.WSTOPPED | os.WNOWAIT)
    first.say("?")
    os.kill(first.pid, signal.SIGCONT)
    is_leader, is_current, remaining = first.expect("leads").split()
    assert (is_leader, is_current) == ("True", "True") and 0 < float(remaining) < NATS_LEASE


def test_python_follows_the_command_line_and_the_command_line_python(bucket, cli, second):
    run = [cli, "run", "--store", bucket, "--key", "jobs", "--name", "cli", "--preset", "fast", "--once", "--"]
    command = [*run, "sh", "-c", "echo $INCUMBENT_TOKEN; read line"]
    tokens = []

    def start():
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    with start() as supervisor:
        try:
            tokens.append(token(supervisor.stdout.readline().strip()))
            # The child has no standard input to wait for: it ends, and its campaign with it.
            candidate = second()
            tokens.append(candidate.next_term(TIMEOUT).token)
        finally:
            supervisor.kill()
    with start() as supervisor:
        try:
            candidate.close(TIMEOUT)
            tokens.append(token(supervisor.stdout.readline().strip()))
        finally:
            supervisor.kill()
    assert tokens == sorted(set(tokens)) and len(tokens) == 3


def test_the_command_line_sees_who_leads_in_python(bucket, cli, second):
    candidate = second()
    term = candidate.next_term(TIMEOUT)
    command = [cli, "status", "--store", bucket, "--json", "jobs"]
    status = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT)
    assert "second" in json.dumps(json.loads(status.stdout))
    assert term.is_current()


@pytest.fixture
def away(cli):
    """A server that can be stopped, and a bucket on it."""
    with nats_server() as server:
        bucket = f"{server.url}/ELECTIONS"
        subprocess.run([cli, "init", "--store", bucket, "--lease", "2s", "--new"], check=True, capture_output=True)
        yield server, bucket


def expires_and_leads_again(candidate, go, come):
    """Stops and restarts the server: the term ends unproven, the warning is emitted, and the next token is larger."""
    events = candidate.events(timeout=TIMEOUT)
    term = candidate.next_term(TIMEOUT)
    go()
    try:
        assert term.ended(TIMEOUT) is incumbent.Reason.EXPIRED
        assert not candidate.is_leader
        warnings = (event.code for event in events if isinstance(event, incumbent.Warning))
        assert "STORE_UNAVAILABLE" in warnings
    finally:
        come()
    assert candidate.next_term(TIMEOUT).token > term.token


def test_a_server_that_stalls_ends_the_term_and_is_found_when_it_resumes(away):
    server, bucket = away
    with sync.connect(bucket) as store, store.campaign("jobs", name="a", preset="fast", splay=0) as candidate:
        expires_and_leads_again(
            candidate,
            lambda: os.kill(server.pid, signal.SIGSTOP),
            lambda: os.kill(server.pid, signal.SIGCONT),
        )


def test_a_server_that_is_killed_ends_the_term_and_is_found_when_it_restarts(away):
    server, bucket = away
    with sync.connect(bucket) as store, store.campaign("jobs", name="a", preset="fast", splay=0) as candidate:
        expires_and_leads_again(candidate, server.kill, server.start)


async def test_a_body_is_cancelled_and_events_continue_when_the_server_is_killed_under_asyncio(away):
    server, bucket = away
    async with await incumbent.connect(bucket) as store:
        async with store.campaign("jobs", name="a", preset="fast", splay=0) as candidate:
            tokens = []
            async for term in candidate.terms():
                tokens.append(term.token)
                if len(tokens) == 2:
                    break
                with pytest.raises(incumbent.TermEnded) as ended:
                    async with term:
                        server.kill()
                        await asyncio.sleep(TIMEOUT)
                assert ended.value.reason is incumbent.Reason.EXPIRED
                server.start()
    assert tokens == sorted(set(tokens))
