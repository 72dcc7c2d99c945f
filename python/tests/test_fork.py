"""A forked child never leads, and its parent is unaffected."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


LEADS = """
import os, sys, time, warnings, incumbent, incumbent.sync
warnings.simplefilter("ignore", DeprecationWarning)
store = incumbent.sync.connect(sys.argv[1])
candidate = store.campaign("jobs", name="parent", preset="test", lease=10, splay=0)
term = candidate.next_term(60)
events = candidate.events()

def refused(call, *arguments):
    try:
        call(*arguments)
    except incumbent.ForkedError as error:
        assert error.code == "FORKED"
        return True
    return False

def child():
    assert not candidate.is_leader and not term.is_current() and term.remaining == 0
    assert candidate.term is None and candidate.state is incumbent.State.CLOSED
    calls = [candidate.next_term, candidate.resign, candidate.close, candidate.events, store.list, store.close,
             lambda: next(events), lambda: store.campaign("jobs"), lambda: candidate.hand_over("b")]
    for call in calls:
        assert refused(call), call
    # SQLite cannot use a file in a child that its parent has open.
    assert refused(incumbent.sync.connect, sys.argv[1])
    # A store of its own is another matter.
    with incumbent.sync.connect("memory:") as own, own.campaign("mine", preset="test", lease=60, splay=0) as mine:
        with mine.next_term(60):
            assert mine.is_leader

def parent_leads_on():
    for _ in range(2):
        # A renewal later than the fork: the proof moves on.
        before = time.monotonic() + term.remaining
        while time.monotonic() + term.remaining <= before + 0.05:
            assert term.is_current()
            time.sleep(0.01)
    assert candidate.is_leader
    candidate.close()
    store.close()
    print("well")
"""

CASES = {
    "os_fork": """
pid = os.fork()
if pid == 0:
    code = 1
    try:
        child()
        code = 0
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
parent_leads_on()
""",
    "os_fork_and_an_orderly_exit": """
pid = os.fork()
if pid == 0:
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
parent_leads_on()
""",
    "multiprocessing_fork": """
import multiprocessing
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
assert process.exitcode == 0
parent_leads_on()
""",
    "a_child_of_a_child": """
pid = os.fork()
if pid == 0:
    inner = os.fork()
    if inner == 0:
        os._exit(int(candidate.is_leader or term.is_current()))
    os._exit(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]))
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
parent_leads_on()
""",
}


@pytest.mark.parametrize("case", CASES)
def test_a_child_does_not_lead_and_its_parent_does(python, sqlite, case):
    code, output, errors = python(LEADS + CASES[case], sqlite).ended()
    assert (code, output, errors) == (0, "well\n", "")


def test_a_spawned_child_campaigns_for_itself(python, sqlite, tmp_path):
    program = tmp_path / "spawns.py"
    program.write_text("""
import multiprocessing, sys, incumbent.sync

def child(url):
    with incumbent.sync.connect(url) as store, store.campaign("others", preset="test", lease=60, splay=0) as mine:
        with mine.next_term(60):
            assert mine.is_leader

if __name__ == "__main__":
    with incumbent.sync.connect(sys.argv[1]) as store:
        with store.campaign("jobs", preset="test", lease=60, splay=0) as candidate:
            candidate.next_term(60)
            process = multiprocessing.get_context("spawn").Process(target=child, args=(sys.argv[1],))
            process.start()
            process.join()
            assert process.exitcode == 0 and candidate.is_leader
            print("well")
""")
    code, output, errors = python(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')", sqlite).ended()
    assert (code, output, errors) == (0, "well\n", "")


PREFORK = """
import os, signal, sys, time, incumbent.sync
# Like a pre-fork server, this imports everything before it makes its workers.
workers = {}
for number in range(3):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        with incumbent.sync.connect(sys.argv[1]) as store:
            with store.campaign("jobs", name=f"w{number}", preset="test", lease=8, splay=0) as candidate:
                for term in candidate.terms():
                    with term:
                        os.write(writer, f"{os.getpid()} {term.token}\\n".encode())
                        term.ended()
        os._exit(0)
    os.close(writer)
    workers[pid] = reader

def leader():
    import select
    ready, _, _ = select.select(list(workers.values()), [], [], 60)
    assert len(ready) == 1, "not one leader"
    pid, token = os.read(ready[0], 100).decode().split()
    return int(pid), token

tokens = []
while workers:
    pid, token = leader()
    tokens.append(token)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(workers.pop(pid))
assert len(tokens) == 3 and tokens == sorted(tokens)
print("well")
"""


def test_pre_forked_workers_elect_one_of_them_and_follow_each_other(python, sqlite):
    code, output, errors = python(PREFORK, sqlite).ended()
    # Each is killed before it reports its win to the rest, so one that waits may have seen no leader at all.
    unseen = "no leader has been seen for "
    said = [line for line in errors.splitlines() if not line.startswith(unseen)]
    assert (code, output, said) == (0, "well\n", [])


def test_children_that_are_forked_while_the_engine_logs_do_not_hang():
    # A hang takes thousands of forks to show; the same program makes them for a larger COUNT.
    program = Path(__file__).parent / "programs/fork_storm.py"
    ended = subprocess.run([sys.executable, program, "300"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    said = ended.stdout.split()
    assert said[:4] == ["children", "300", "hung", "0"] and int(said[-1]) > 300
