"""`incumbent.cron`: the times of an expression, and those that were missed when the leader changed."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import datetime, timedelta, timezone

import pytest
from support import TIMEOUT, soon

import incumbent.cron
from incumbent.cron import Cron, Tick
from incumbent.testing import scripted_election, scripted_election_sync


class Clock:
    """A wall clock that does not move until the test sets it."""

    def __init__(self) -> None:
        self.now = self.at(12)

    @staticmethod
    def at(hour: int, minute: int = 0, second: int = 0) -> datetime:
        return datetime(2026, 3, 2, hour, minute, second, tzinfo=timezone.utc)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(incumbent.cron, "_now", lambda: clock.now)
    # The clock is read again as soon as it is set.
    monkeypatch.setattr(incumbent.cron, "SLICE", 0.005)
    return clock


@pytest.fixture
def term():
    """A term, for threads."""
    election = scripted_election_sync()
    election.acquire()
    yield election.candidate.term
    election.revoke()


def test_the_times_of_an_expression_come_when_they_are_due(clock, term):
    ticks = iter(Cron("*/5 * * * *").ticks(term))
    for minute in (5, 10):
        timer = threading.Timer(0.02, setattr, [clock, "now", clock.at(12, minute)])
        timer.start()
        assert next(ticks) == Tick(clock.at(12, minute), is_late=False, skipped=())
        timer.join()


def test_a_time_that_was_missed_when_the_leader_changed_is_caught_up_once(clock, term):
    cron = Cron("*/5 * * * *")
    clock.now = clock.at(12, 5, 20)
    ticks = iter(cron.ticks(term))
    assert next(ticks) == Tick(clock.at(12, 5), is_late=True, skipped=())
    clock.now = clock.at(12, 10)
    assert next(ticks) == Tick(clock.at(12, 10), is_late=False, skipped=())
    # In a later term of the same process neither comes again.
    clock.now = clock.at(12, 10, 30)
    timer = threading.Timer(0.02, setattr, [clock, "now", clock.at(12, 15)])
    timer.start()
    assert next(iter(cron.ticks(term))).at == clock.at(12, 15)
    timer.join()


def test_of_several_missed_times_the_latest_is_caught_up_and_the_rest_are_named(clock, term, caplog):
    cron = Cron("*/10 * * * * *")
    clock.now = clock.at(12, 0, 35)
    with caplog.at_level(logging.WARNING, logger="incumbent"):
        tick = next(iter(cron.ticks(term)))
    assert tick == Tick(clock.at(12, 0, 30), is_late=True, skipped=(clock.at(12, 0, 10), clock.at(12, 0, 20)))
    [record] = caplog.records
    assert record.getMessage() == (
        "'*/10 * * * * *' skips 2 of its times, from 2026-03-02T12:00:10+00:00 on, and runs 2026-03-02T12:00:30+00:00"
    )


def test_a_job_that_takes_longer_than_its_interval_skips_times_too(clock, term):
    ticks = iter(Cron("* * * * *").ticks(term))
    clock.now = clock.at(12, 1)
    assert next(ticks).at == clock.at(12, 1)
    clock.now = clock.at(12, 4, 30)
    assert next(ticks) == Tick(clock.at(12, 4), is_late=False, skipped=(clock.at(12, 2), clock.at(12, 3)))


@pytest.mark.parametrize(("look_back", "caught_up"), [(60.0, 5), (600.0, 5), (0.0, 10), (10.0, 10)])
def test_a_new_leader_looks_back_for_as_long_as_it_says_and_not_to_before_its_process(clock, term, look_back, caught_up):
    cron = Cron("*/5 * * * *", look_back=look_back)
    clock.now = clock.at(12, 5, 20)
    ticks = iter(cron.ticks(term))
    timer = threading.Timer(0.02, setattr, [clock, "now", clock.at(12, 10)])
    if caught_up == 10:
        timer.start()
    assert next(ticks).at == clock.at(12, caught_up)
    if caught_up == 10:
        timer.join()


def test_a_time_before_the_process_began_is_not_caught_up_unless_the_program_remembers_the_one_before(clock, term):
    clock.now = clock.at(12, 0, 10)
    cron = Cron("*/5 * * * *", look_back=600)
    timer = threading.Timer(0.02, setattr, [clock, "now", clock.at(12, 5)])
    timer.start()
    assert next(iter(cron.ticks(term))).at == clock.at(12, 5)
    timer.join()
    tick = next(iter(cron.ticks(term, last=clock.at(11, 45))))
    assert tick == Tick(clock.at(12, 5), is_late=False, skipped=(clock.at(11, 50), clock.at(11, 55), clock.at(12)))


def test_a_time_that_the_program_remembers_is_not_run_again(clock, term):
    cron = Cron("*/5 * * * *")
    clock.now = clock.at(12, 5, 20)
    ticks = iter(cron.ticks(term, last=clock.at(12, 5)))
    timer = threading.Timer(0.02, setattr, [clock, "now", clock.at(12, 10)])
    timer.start()
    assert next(ticks).at == clock.at(12, 10)
    timer.join()


def test_after_a_long_rest_the_latest_thousand_are_named(clock, term):
    tick = next(iter(Cron("* * * * * *").ticks(term, last=clock.now - timedelta(days=3650))))
    assert tick.at == clock.now and len(tick.skipped) == 1000
    assert tick.skipped[-1] == clock.now - timedelta(seconds=1)


def test_times_are_those_of_a_time_zone_at_its_changes_too(clock, term):
    cron = Cron("30 2 * * *", tz="Europe/Berlin", look_back=86_400 * 60)
    # On 29 March 2026 there is no 2:30, and the job runs at 3:00.
    clock.now = datetime(2026, 3, 29, 1, 0, tzinfo=timezone.utc)
    tick = next(iter(cron.ticks(term)))
    assert tick.at.isoformat() == "2026-03-29T03:00:00+02:00" and len(tick.skipped) == 26
    assert tick.skipped[-1].isoformat() == "2026-03-28T02:30:00+01:00"


def test_the_times_end_with_the_term_and_when_it_drains(clock):
    for end in ("revoke", "drain"):
        election = scripted_election_sync()
        election.acquire()
        with election.candidate.term as term:
            timer = threading.Timer(0.02, getattr(election, end))
            timer.start()
            assert list(Cron("*/5 * * * *").ticks(term)) == []
            timer.join()


def test_what_cannot_be_read_is_refused(clock, term):
    with pytest.raises(ValueError, match="'nightly' is no cron expression: Wrong number of fields"):
        Cron("nightly")
    with pytest.raises(ValueError, match="give it a time zone"):
        Cron("* * * * *").ticks(term, last=datetime(2026, 3, 2))
    with pytest.raises(TypeError, match="write `for`"):
        Cron("* * * * *").ticks(term).__aiter__()
    with pytest.raises(TypeError, match="write `async for`"):
        next(iter(Cron("* * * * *").ticks(scripted(scripted_election))))


def scripted(of):
    election = of()
    election.acquire()
    return election.candidate.term


async def test_with_asyncio_times_come_when_they_are_due_and_end_with_the_term(clock):
    election = scripted_election()
    election.acquire()
    seen = []

    async def run():
        async for tick in Cron("*/5 * * * *").ticks(election.candidate.term):
            seen.append(tick)

    clock.now = clock.at(12, 0, 1)
    running = asyncio.create_task(run())
    await asyncio.sleep(0)
    clock.now = clock.at(12, 5)
    while not seen:
        await asyncio.sleep(0.001)
    election.drain()
    await soon(running)
    assert seen == [Tick(clock.at(12, 5), is_late=False, skipped=())]


FAILS_OVER = """
import incumbent.cron, incumbent.sync, sys
from datetime import datetime, timezone

# Each process has its own time of day, so that the test need not wait for an hour.
begins, began = datetime.fromisoformat(sys.argv[2]), datetime.now(timezone.utc)
incumbent.cron._now = lambda: begins + (datetime.now(timezone.utc) - began)
cron = incumbent.cron.Cron("0 * * * *")
print("began", flush=True)

def work(term):
    print("leads", flush=True)
    for tick in cron.ticks(term):
        print("ran", tick.at.isoformat(), tick.is_late, len(tick.skipped), flush=True)

incumbent.sync.run(sys.argv[1], "jobs", work, lease=1, preset="test", splay=0)
"""


def test_a_leader_that_is_killed_is_followed_by_one_that_runs_the_time_between_them_once(python, sqlite):
    # The first process's next full hour is far away.
    first = python(FAILS_OVER, sqlite, "2026-03-02T10:10:00+00:00")
    first.expect("leads")
    # The hour strikes after a fifth of a second, and the lease is over after more than half of one.
    second = python(FAILS_OVER, sqlite, "2026-03-02T10:59:59.800000+00:00")
    second.expect("began")
    first.popen.kill()
    second.expect("leads")
    assert second.expect("ran") == "2026-03-02T11:00:00+00:00 True 0"
