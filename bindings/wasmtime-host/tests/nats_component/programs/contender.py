"""A candidate that records its own view, a line of JSON each time that it leads: contender.py URL KEY NAME."""

import json
import signal
import sys
import time

import incumbent.sync


def leave(*_: object) -> None:
    raise SystemExit


signal.signal(signal.SIGTERM, leave)
url, key, name = sys.argv[1:]
with incumbent.sync.connect(url) as store, store.campaign(key, name=name, preset="fast") as candidate:
    print(json.dumps({"event": "ready"}), flush=True)
    while True:
        before = time.monotonic_ns()
        term = candidate.term
        if term is not None and candidate.is_leader and term.is_current():
            view = {"event": "leads", "token": str(term.token), "before": before, "after": time.monotonic_ns()}
            print(json.dumps(view), flush=True)
        del term
        time.sleep(0.005)
