"""`incumbent.celery`: a beat on many machines, and one that sends."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from celery import Celery
from celery.beat import SchedulingError
from celery.exceptions import ImproperlyConfigured
from support import FAST, TIMEOUT

import incumbent.celery
from incumbent import sync

BEAT = """
import sys
from celery import Celery
import incumbent.celery

class Broken(incumbent.celery.Scheduler):
    def begin_term(self):
        raise OSError("the schedule is broken")

app = Celery("beat", broker=sys.argv[2])
app.conf.update(
    beat_schedule={"often": {"task": "bill", "schedule": 0.1}},
    beat_scheduler=f"{__name__}:Broken" if sys.argv[3] == "broken" else "incumbent.celery:Scheduler",
    incumbent_store=sys.argv[1],
    incumbent_settings={"lease": 60, "splay": 0},
)
app.Beat(loglevel="ERROR", redirect_stdouts=False, quiet=True).run()
"""


@pytest.fixture
def beat(sqlite):
    """Starts a beat, which writes what it reports to a pipe."""
    started = []

    def start(broker, kind="sound"):
        command = [sys.executable, "-u", "-c", BEAT, sqlite, broker, kind]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def leads_at_once(url):
    """Another candidate need not wait for the lease of a minute."""
    with sync.connect(url) as store, store.campaign("celery-beat", lease=60, splay=0) as candidate:
        candidate.next_term(TIMEOUT / 2)
        return True


def test_a_broker_that_is_away_does_not_keep_a_beat_that_is_stopped(beat, sqlite):
    process = beat("amqp://127.0.0.1:1//")
    while "Connection error" not in (line := process.stdout.readline()):
        assert line, "the beat has ended"
    process.send_signal(signal.SIGTERM)
    assert process.wait(TIMEOUT) == 0
    assert leads_at_once(sqlite)


def test_a_beat_that_dies_ends_its_process_and_leads_no_more(beat, sqlite):
    process = beat("memory://", "broken")
    output, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1 and "OSError: the schedule is broken" in output
    assert leads_at_once(sqlite)


@pytest.fixture
def app():
    app = Celery("beat", broker="memory://")
    app.conf.beat_schedule = {"often": {"task": "bill", "schedule": 0.1}}
    return app


def test_without_a_store_a_beat_is_refused(app):
    with pytest.raises(ImproperlyConfigured, match="needs the setting incumbent_store"):
        incumbent.celery.Scheduler(app)
    # A scheduler that is only created to be inspected needs no store.
    assert incumbent.celery.Scheduler(app, lazy=True).info == ""


def test_a_task_is_not_sent_where_the_term_has_ended_meanwhile(app, scripted_election_sync):
    election = scripted_election_sync()
    election.acquire()
    scheduler = incumbent.celery.Scheduler(app, lazy=True)
    scheduler.setup_schedule()
    entry = scheduler.schedule["often"]
    scheduler._begun = election.candidate.term
    assert scheduler.apply_async(entry).id
    election.revoke()
    with pytest.raises(SchedulingError, match="often is not sent: this process no longer leads"):
        scheduler.apply_async(entry)
    # The entry is as it was.
    assert "headers" not in entry.options


def test_a_beat_that_does_not_lead_sends_nothing_and_begins_its_schedule_with_its_term(app):
    sent = []
    app.conf.update(incumbent_store="memory:celery", incumbent_settings=FAST)
    with sync.connect("memory:celery") as store, store.campaign("celery-beat", **FAST) as leader:
        leader.next_term(TIMEOUT)
        scheduler = incumbent.celery.Scheduler(app)
        scheduler.apply_entry = lambda entry, producer=None: sent.append(entry.name)
        try:
            for _ in range(3):
                assert scheduler.tick() == incumbent.celery.POLL
            [entry] = scheduler.schedule.values()
            made = entry.last_run_at
            leader.close()
            while not sent:
                scheduler.tick()
            assert sent == ["often"] and scheduler._begun.is_current()
            assert scheduler.schedule["often"].last_run_at > made
        finally:
            scheduler.close()
            scheduler._run.wait(TIMEOUT)
        assert store.leader("celery-beat") is None
