"""Runs every program of `examples/python` as a process, as its first lines describe."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing

import pytest
from support import ROOT, until

EXAMPLES = ROOT / "examples/python"


@pytest.fixture
def example(python):
    """Starts an example by its name."""
    return lambda name, *arguments: python((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"), *arguments)


def test_the_cron_runner_works_until_it_is_terminated_and_its_successor_leads_at_once(example, sqlite):
    first = example("cron_runner", sqlite)
    first.expect("leading with token")
    first.expect("the job runs")
    second = example("cron_runner", sqlite)
    first.popen.send_signal(signal.SIGTERM)
    first.expect("the last job is done")
    code, _, errors = first.ended()
    assert (code, errors) == (0, "")
    second.expect("leading with token")
    second.expect("the job runs")


def test_the_outbox_relay_sends_in_order_and_is_refused_when_a_larger_token_has_written(
    example, sqlite, tmp_path
):
    path = tmp_path / "outbox.db"
    relay = example("outbox_relay", sqlite, str(path))
    token = relay.expect("leading with token").split()[-1]
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as database:
        database.execute("INSERT INTO outbox (body) VALUES ('first'), ('second')")
        relay.expect("message 1: first")
        relay.expect("message 2: second")
        sent = "SELECT count(*) FROM outbox WHERE sent_with = ?"
        until(lambda: database.execute(sent, (token,)).fetchone() == (2,), "both were sent with the token")
        database.execute("UPDATE fence SET token = ?", ("f" * 33,))
        code, _, errors = relay.ended()
    assert (code, errors) == (1, f"giving up: the database has seen a larger token than {token}\n")


def test_the_observer_prints_the_leader_and_the_vacancy_after_it(example, sqlite):
    runner = example("cron_runner", sqlite)
    runner.expect("leading with token")
    observer = example("observer", sqlite, "cron")
    observer.expect("leader: ")
    runner.popen.send_signal(signal.SIGTERM)
    observer.expect("no leader")


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"cron_runner", "outbox_relay", "observer"}
