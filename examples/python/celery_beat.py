"""Runs Celery's beat in one of any number of processes, so that each task is sent once.

    python celery_beat.py sqlite:elections.db

In a project that is `celery -A celery_beat beat`, on every machine. Workers run as always (`celery -A celery_beat worker`):
only the process that sends the tasks must be alone.
"""

import os
import sys

from celery import Celery
from celery.signals import after_task_publish

app = Celery("celery_beat", broker=os.environ.get("BROKER", "memory://"))
app.conf.beat_schedule = {"every-second": {"task": "celery_beat.bill", "schedule": 1.0}}
app.conf.beat_max_loop_interval = 1
# Sends only while this process leads. The loop runs on the main thread, so if it dies, the process ends and no longer
# leads.
app.conf.beat_scheduler = "incumbent.celery:Scheduler"
app.conf.incumbent_store = sys.argv[1] if __name__ == "__main__" and len(sys.argv) > 1 else "memory:"


@app.task
def bill() -> None:
    print("a worker sends the bills")


@after_task_publish.connect
def sent(sender: str, headers: dict[str, object], **_: object) -> None:
    print("sent", sender, "with token", headers["incumbent-token"], flush=True)


if __name__ == "__main__":
    app.Beat(loglevel="WARNING", redirect_stdouts=False, quiet=True).run()
