"""`incumbent.sync.start`: a run on a thread of its own."""

from __future__ import annotations

import gc
import queue
import sys
import threading

import pytest
from support import FAST, TIMEOUT, until

import incumbent
from incumbent import Reason, sync

NO_SERVER = "nats://127.0.0.1:1/JOBS"


@pytest.fixture
def threads_store():
    with sync.connect("memory:") as store:
        yield store


def test_the_work_runs_on_another_thread_until_it_is_stopped_and_its_result_is_returned(threads_store):
    threads = queue.Queue()

    def work(term):
        threads.put(threading.current_thread())
        term.draining()
        return term.is_current()

    run = sync.start(threads_store, "jobs", work, **FAST)
    thread = threads.get(timeout=TIMEOUT)
    assert thread is not threading.current_thread() and thread.name == "incumbent-run-jobs"
    assert run.is_leader and not run.is_over and run.candidate.is_leader
    assert run.stop(TIMEOUT) is True
    assert run.is_over and not run.is_leader
    # The lease is released, and a second stop is none.
    assert threads_store.leader("jobs") is None and run.stop() is True


def test_work_that_returns_ends_the_run(threads_store):
    run = sync.start(threads_store, "jobs", lambda term: "done", **FAST)
    assert run.wait(TIMEOUT) == "done" and run.is_over
    assert threads_store.leader("jobs") is None


def test_an_error_of_the_work_is_reported_and_raised_where_its_end_is_waited_for(threads_store, monkeypatch):
    reported = queue.Queue()
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: reported.put(unraisable.exc_value))
    terms = []

    def work(term):
        terms.append(term)
        raise OSError("no disk")

    run = sync.start(threads_store, "jobs", work, **FAST)
    assert str(reported.get(timeout=TIMEOUT)) == "no disk"
    for end in (run.wait, run.stop):
        with pytest.raises(OSError, match="no disk"):
            end(TIMEOUT)
    assert terms[0].reason is Reason.HANDLER_FAILED


def test_wrong_settings_are_raised_at_once(threads_store):
    with pytest.raises(incumbent.InvalidSettingError, match="leese"):
        sync.start(threads_store, "jobs", print, leese=1)
    with pytest.raises(incumbent.InvalidUrlError):
        sync.start("nats:/JOBS", "jobs", print)
    with pytest.raises(incumbent.InvalidSettingError, match="markerz"):
        sync.start(NO_SERVER, "jobs", print, store_settings={"markerz": True})
    with pytest.raises(TypeError, match="drain"):
        sync.start(threads_store, "jobs", print, drain=lambda: None)


def test_a_run_stops_while_it_waits_for_a_store_that_is_not_there():
    run = sync.start(NO_SERVER, "jobs", print)
    assert not run.is_leader and run.candidate is None
    assert run.stop(TIMEOUT) is None and run.is_over


def test_a_run_stops_while_another_candidate_leads(threads_store):
    with threads_store.campaign("jobs", **FAST) as candidate:
        candidate.next_term(TIMEOUT)
        run = sync.start(threads_store, "jobs", print, name="waits", **FAST)
        until(lambda: run.candidate, "there is no candidate")
        assert run.stop(TIMEOUT) is None


def test_work_may_stop_its_own_run(threads_store):
    started = queue.Queue()

    def work(term):
        started.get(timeout=TIMEOUT).stop()
        term.draining(TIMEOUT)
        return "stopped"

    run = sync.start(threads_store, "jobs", work, **FAST)
    started.put(run)
    assert run.wait(TIMEOUT) == "stopped"


def test_a_wait_for_the_end_may_time_out(threads_store):
    with sync.start(threads_store, "jobs", lambda term: term.draining(), **FAST) as run:
        with pytest.raises(incumbent.TimedOutError, match="did not end within 0.01 s"):
            run.wait(0.01)
    assert run.is_over


def test_a_run_that_is_dropped_goes_on(threads_store):
    work = lambda term: term.draining()
    sync.start(threads_store, "jobs", work, **FAST)
    until(lambda: threads_store.leader("jobs"), "it does not lead")
    gc.collect()
    assert threads_store.leader("jobs") is not None


def test_in_a_forked_child_a_run_is_its_parents(python):
    code = """
import os, threading, warnings, incumbent.sync
warnings.simplefilter("ignore", DeprecationWarning)
led = threading.Event()

def work(term):
    led.set()
    term.draining()
    return "drained"

run = incumbent.sync.start("memory:", "jobs", work, preset="test", lease=60, splay=0)
led.wait(60)
child = os.fork()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    print(run.is_leader, run.stop())
else:
    # An orderly exit, which ends no run of the parent.
    try:
        run.wait()
    except incumbent.ForkedError as error:
        assert not run.is_leader and "start one in this process" in str(error)
"""
    assert python(code).ended() == (0, "True drained\n", "")
