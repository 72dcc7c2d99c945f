"""Runs Celery's beat in one of any number of processes, so that each task is sent once.

    python celery_beat.py sqlite:elections.db

Run workers as usual (`celery -A celery_beat worker`): only one process may send tasks.
"""

import os
import sys
import threading

from celery import Celery
from celery.beat import Service
from celery.signals import after_task_publish

import incumbent.sync

app = Celery("celery_beat", broker=os.environ.get("BROKER", "memory://"))
app.conf.beat_schedule = {"every-second": {"task": "celery_beat.bill", "schedule": 1.0}}
app.conf.beat_max_loop_interval = 1


@app.task
def bill() -> None:
    print("a worker sends the bills")


@after_task_publish.connect
def sent(sender: str, **_: object) -> None:
    print("sent", sender, flush=True)


def lead(term: incumbent.sync.Term) -> None:
    """The work of one term: a new beat, which sends no task that was due earlier."""
    print("leading with token", term.token, flush=True)
    # Keeps no schedule on disk, because it would be out of date in a process that has waited.
    beat = Service(app, scheduler_cls="celery.beat:Scheduler")
    beating = threading.Thread(target=beat.start, name="beat")
    beating.start()
    # Returns when this process is stopped, resigns, or no longer leads.
    term.draining()
    beat.stop()
    beating.join()
    print("beat has stopped", flush=True)


if __name__ == "__main__":
    incumbent.sync.run(sys.argv[1] if len(sys.argv) > 1 else "memory:", "beat", lead)
