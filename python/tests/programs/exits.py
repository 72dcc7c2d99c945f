"""Ends interpreters whose threads lead or wait: python exits.py COUNT [KIND…]

Starts COUNT interpreters of each kind, four at a time, and prints how they ended. Its exit code is 0 if all ended by
themselves, without an error and with nothing to say. `python exits.py KIND` is one of these interpreters.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter

import incumbent.sync

# A process with several threads forks here on purpose, and Python 3.12 warns of it.
warnings.simplefilter("ignore", DeprecationWarning)

TIMEOUT = 300.0
"""The time limit in seconds for an interpreter. It ends within a second, and on a very busy machine within minutes."""

AT_A_TIME = 4

led = threading.Event()
"""Set once the present process leads."""

kept: list[incumbent.sync.Store] = []
"""The open stores: one that is dropped warns, and closes what its threads wait for."""


def campaign() -> incumbent.sync.Candidate:
    store = incumbent.sync.connect("memory:")
    kept.append(store)
    return store.campaign("jobs", preset="test", lease=60, splay=0)


def lead() -> None:
    """Leads until the term drains. Its waits end often, so some exits find it taking the interpreter's lock."""
    for term in campaign().terms():
        with term:
            led.set()
            while True:
                try:
                    term.draining(timeout=0.002)
                    break
                except incumbent.TimedOutError:
                    continue


def poll(candidate: incumbent.sync.Candidate) -> None:
    """Waits to lead, again and again, also when the store is closed: every exit finds it taking the lock."""
    while True:
        try:
            candidate.next_term(timeout=0.002)
        except incumbent.IncumbentError:
            continue


def daemon_leads() -> None:
    threading.Thread(target=lead, daemon=True).start()
    assert led.wait(30)


def daemons_wait() -> None:
    campaign().next_term(30)
    waiting = kept[0].campaign("jobs", name="waits", preset="test", lease=60, splay=0)
    for _ in range(3):
        threading.Thread(target=poll, args=[waiting], daemon=True).start()
    threading.Thread(target=lambda: list(waiting.events()), daemon=True).start()


def thread_leads() -> None:
    threading.Thread(target=lead).start()
    assert led.wait(30)


def executor_leads() -> None:
    concurrent.futures.ThreadPoolExecutor().submit(lead)
    assert led.wait(30)


def forked() -> None:
    daemon_leads()
    child = os.fork()
    if child == 0:
        led.clear()
        kept.clear()
        daemon_leads()
    elif os.waitpid(child, 0)[1]:
        sys.exit("the forked child ended badly")


def spawned() -> None:
    child = multiprocessing.get_context("spawn").Process(target=daemon_leads)
    child.start()
    daemon_leads()
    child.join()
    if child.exitcode:
        sys.exit("the spawned child ended badly")


KINDS = {kind.__name__: kind for kind in (daemon_leads, daemons_wait, thread_leads, executor_leads, forked, spawned)}


def end_of(kind: str) -> str:
    """Describes the end of an interpreter of a kind."""
    command = [sys.executable, __file__, kind]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return "hung"
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    if done.returncode or done.stdout or done.stderr:
        return f"ended with {done.returncode}: {(done.stdout + done.stderr).strip()!r}"
    return "ended well"


def main(count: int, kinds: list[str]) -> bool:
    """Returns true if all interpreters ended well."""
    unwell = 0
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for kind in kinds:
            ends = Counter(pool.map(end_of, [kind] * count))
            unwell += count - ends["ended well"]
            print(f"{kind}: {', '.join(f'{number} {end}' for end, number in ends.most_common())}", flush=True)
    return unwell == 0


if __name__ == "__main__":
    if sys.argv[1] in KINDS:
        KINDS[sys.argv[1]]()
        # Long enough for the threads to take the interpreter's lock some times.
        time.sleep(0.05)
    else:
        sys.exit(not main(int(sys.argv[1]), sys.argv[2:] or list(KINDS)))
