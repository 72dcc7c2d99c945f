"""gevent and eventlet, where they have replaced Python's threads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from support import TIMEOUT, free_port, until

GEVENT = """
from gevent import monkey
monkey.patch_all()
from gevent import sleep, spawn
"""
EVENTLET = """
import warnings
warnings.simplefilter("ignore")
import eventlet
eventlet.monkey_patch()
from eventlet import sleep, spawn
"""
BEGIN = """
import incumbent, incumbent.sync, logging, os, signal, sys, threading
FAST = {"preset": "test", "lease": 60, "splay": 0}
turns = []

def turn():
    while True:
        turns.append(None)
        sleep(0.001)

def turned(wait, *arguments, **named):
    '''Calls a function that waits, and checks that other greenlets run meanwhile.'''
    before = len(turns)
    try:
        return wait(*arguments, **named)
    finally:
        assert len(turns) > before, "nothing else runs"

spawn(turn)
"""

OUTCOMES = {
    "waits_let_other_greenlets_run_and_callbacks_are_called": (
        """
with incumbent.sync.connect("memory:") as store:
    well, asked, won, lost = [True], threading.Event(), threading.Event(), threading.Event()
    check = lambda: asked.set() or well[0]
    with store.campaign("jobs", name="a", health=check, health_interval=2, **FAST) as leader:
        leader.attach(on_won=lambda term: won.set(), on_draining=lambda term, left: sleep(0.05), on_lost=lambda *_: lost.set())
        assert won.wait(60) and asked.wait(60)
        term = leader.next_term(60)
        with store.campaign("jobs", name="b", **FAST) as second:
            for wait in (second.next_term, term.draining, term.ended):
                try:
                    turned(wait, timeout=0.1)
                except incumbent.TimedOutError:
                    print("timed out")
            events = second.events(timeout=0.05)
            for _ in range(3):
                try:
                    turned(lambda: [None for _ in events])
                except incumbent.TimedOutError:
                    print("nothing yet")
            with term:
                spawn(leader.resign)
                term.draining()
            assert lost.wait(60) and second.next_term(60).is_current()
            assert any(isinstance(event, incumbent.Won) for event in events)
print("well")
""",
        "timed out\ntimed out\ntimed out\nnothing yet\nnothing yet\nnothing yet\nwell\n",
    ),
    "log_records_come": (
        """
logging.basicConfig(stream=sys.stdout, level="INFO", format="%(levelname)s %(message)s")
with incumbent.sync.connect("memory:") as store, store.campaign("jobs", name="a", **FAST) as candidate:
    term = candidate.next_term(60)
    candidate.resign()
    while candidate.next_term(60) == term:
        sleep(0.001)
""",
        None,
    ),
    "a_signal_stops_a_run_whose_work_drains": (
        """
def work(term):
    spawn(lambda: sleep(0.05) or os.kill(os.getpid(), signal.SIGTERM))
    turned(term.draining)
    return "drained"

print(incumbent.sync.run("memory:", "jobs", work, **FAST))
""",
        "drained\n",
    ),
    "a_run_of_its_own_is_stopped_and_another_one_at_exit": (
        """
def work(term):
    led.set()
    term.draining()
    print("drained", flush=True)
    return "result"

led = threading.Event()
run = incumbent.sync.start("memory:a", "jobs", work, **FAST)
assert led.wait(60)
print(run.stop())
led.clear()
incumbent.sync.start("memory:b", "jobs", work, **FAST)
assert led.wait(60)
""",
        "drained\nresult\ndrained\n",
    ),
    "greenlets_that_lead_are_no_hindrance_to_the_exit": (
        """
store = incumbent.sync.connect("memory:")
led = threading.Event()

def works(candidate):
    for term in candidate.terms():
        with term:
            led.set()
            term.draining()

spawn(works, store.campaign("jobs", **FAST))
assert led.wait(60)
print("ends")
""",
        "ends\n",
    ),
}


def check(ended, output):
    """Checks how a program has ended; None as its output are the records of a term that is resigned."""
    if output is None:
        assert (ended[0], ended[2]) == (0, "")
        assert [line.split()[1] for line in ended[1].splitlines()][:3] == ["won", "lost:", "won"]
    else:
        assert ended == (0, output, "")


@pytest.mark.parametrize("case", OUTCOMES)
@pytest.mark.parametrize("patched", [GEVENT, EVENTLET], ids=["gevent", "eventlet"])
def test_under(python, patched, case):
    code, output = OUTCOMES[case]
    check(python(patched + BEGIN + code).ended(), output)


REAL_THREADS = """
from gevent import monkey
monkey.patch_all(thread=False)
from gevent import sleep, spawn
"""
ON_REAL_THREADS = {
    "a_thread_that_leads_or_waits_stops_no_greenlet_of_another": (
        """
def work(term):
    assert threading.current_thread() is not threading.main_thread()
    led.set()
    term.draining()
    print("drained", flush=True)
    return "result"

led, won = threading.Event(), threading.Event()
run = incumbent.sync.start("memory:", "jobs", work, **FAST)
assert led.wait(60)
run.candidate.attach(on_won=lambda term: won.set())
assert won.wait(60)
turned(sleep, 0.05)
print(run.stop())
""",
        "drained\nresult\n",
    ),
    "a_signal_stops_a_run_of_the_main_thread": (
        """
def work(term):
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM)).start()
    term.draining()
    return "drained"

print(incumbent.sync.run("memory:", "jobs", work, **FAST))
""",
        "drained\n",
    ),
    "log_records_come": OUTCOMES["log_records_come"],
    "a_run_of_its_own_is_stopped_and_another_one_at_exit": OUTCOMES["a_run_of_its_own_is_stopped_and_another_one_at_exit"],
}


@pytest.mark.parametrize("case", ON_REAL_THREADS)
def test_under_gevent_that_leaves_threads_as_they_are(python, case):
    code, output = ON_REAL_THREADS[case]
    check(python(REAL_THREADS + BEGIN + code).ended(), output)


SERVICE = """
import json, os, threading
import incumbent.sync

def work(term):
    led.set()
    term.draining()

def campaign():
    global run, led
    led = threading.Event()
    run = incumbent.sync.start(os.environ["STORE"], "jobs", work, lease=60, splay=0)

def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"pid": os.getpid(), "me": run.is_leader and led.is_set()}).encode()]
"""
CONF = """
worker_class = "gevent"
workers = 2

def post_worker_init(worker):
    import service
    service.campaign()
"""


def test_a_worker_of_gunicorn_with_gevent_answers_while_it_leads_and_ends_well(sqlite, tmp_path):
    (tmp_path / "gunicorn.conf.py").write_text(CONF)
    (tmp_path / "service.py").write_text(SERVICE)
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "service:app"]
    environment = {**os.environ, "STORE": sqlite}
    with open(tmp_path / "log", "wb") as log:
        master = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log, env=environment)

    def leader():
        assert master.poll() is None, (tmp_path / "log").read_text()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
                said = json.load(answer)
        except (urllib.error.URLError, OSError):
            return None
        return said["pid"] if said["me"] else None

    try:
        first = until(leader, "no worker leads")
        # The worker holds a lease of a minute, and releases it when it is terminated.
        os.kill(first, signal.SIGTERM)
        until(lambda: leader() not in (None, first), "no worker leads after one ended")
        master.send_signal(signal.SIGTERM)
        assert master.wait(TIMEOUT) == 0
        said = (tmp_path / "log").read_text()
        assert "Traceback" not in said and "SIGKILL" not in said, said
    finally:
        if master.poll() is None:
            master.terminate()
            master.wait(TIMEOUT)


WORKER = """
import os, threading
from celery import Celery
from celery.signals import worker_ready, worker_shutdown
import incumbent.sync

app = Celery("worker", broker="memory://")
app.conf.worker_redirect_stdouts = False

def work(term):
    print("leading", flush=True)
    term.draining()
    print("drained", flush=True)

@worker_ready.connect
def ready(**_):
    global run
    run = incumbent.sync.start("memory:", "jobs", work, preset="test", lease=60, splay=0)

@worker_shutdown.connect
def shut_down(**_):
    run.stop()
    print("stopped", flush=True)
"""


@pytest.mark.parametrize("pool", ["gevent", "eventlet"])
def test_a_worker_of_celery_leads_and_ends_well(pool, tmp_path):
    (tmp_path / "worker.py").write_text(WORKER)
    command = [sys.executable, "-m", "celery", "-A", "worker", "worker", "-P", pool, "-l", "warning"]
    with open(tmp_path / "log", "wb") as log:
        worker = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert worker.stdout is not None
        while (line := worker.stdout.readline()) != "leading\n":
            assert line, (tmp_path / "log").read_text()
        worker.send_signal(signal.SIGTERM)
        output, _ = worker.communicate(timeout=TIMEOUT)
        said = [line for line in output.splitlines() if line in ("drained", "stopped")]
        assert (worker.returncode, said) == (0, ["drained", "stopped"]), (tmp_path / "log").read_text()
    finally:
        worker.kill()
        worker.wait()
