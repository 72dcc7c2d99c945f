"""Forks repeatedly while the engine logs: python fork_storm.py COUNT

Prints the number of children, of those that hung, and of the records that were logged meanwhile.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
import warnings

import incumbent.sync

# A process with several threads forks here on purpose, and Python 3.12 warns of it.
warnings.simplefilter("ignore", DeprecationWarning)

TIMEOUT = 60.0
"""The time limit in seconds for a child, which only has to end."""

records = 0


class Counts(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        global records
        records += 1


def ends(pid: int) -> bool:
    """True if the child ends by itself and without an error."""
    end = time.monotonic() + TIMEOUT
    pause = 0.0002
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0, f"a child ended with {status}"
            return True
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.05)


def churn(candidate: incumbent.sync.Candidate) -> None:
    """Wins and resigns repeatedly: several records each time."""
    try:
        for _ in candidate.terms():
            candidate.resign()
    except incumbent.ClosedError:
        pass


def main(count: int) -> None:
    logger = logging.getLogger("incumbent")
    logger.addHandler(Counts())
    logger.setLevel(1)
    logger.propagate = False
    with incumbent.sync.connect("memory:") as store:
        candidates = [store.campaign(f"jobs-{one}", preset="test", lease=0.8, splay=0) for one in range(4)]
        threads = [threading.Thread(target=churn, args=[candidate]) for candidate in candidates]
        for thread in threads:
            thread.start()
        hung = 0
        for _ in range(count):
            before = records
            pid = os.fork()
            if pid == 0:
                os._exit(any(candidate.is_leader for candidate in candidates))
            hung += not ends(pid)
            while records == before:
                # The engine logs between two forks, and most likely during them.
                time.sleep(0.0002)
        for candidate in candidates:
            candidate.close()
        for thread in threads:
            thread.join()
    print(f"children {count} hung {hung} records {records}")


main(int(sys.argv[1]))
