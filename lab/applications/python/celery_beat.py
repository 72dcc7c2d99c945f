"""Celery's beat: a task that is sent is work."""

import time
from typing import Any

import work
from celery import Celery

import incumbent.celery


class Scheduler(incumbent.celery.Scheduler):
    def apply_async(self, entry: Any, *args: Any, **kwargs: Any) -> Any:
        at = time.monotonic()
        # `apply_async` asks whether the term is current, and raises if it is not.
        sent = super().apply_async(entry, *args, **kwargs)
        work.write(str(self._begun.token), at)
        return sent


app = Celery("celery_beat", broker="memory://")
app.conf.update(
    beat_schedule={"often": {"task": "bill", "schedule": work.PAUSE}},
    beat_max_loop_interval=0.5,
    beat_scheduler="celery_beat:Scheduler",
    incumbent_store=work.STORE,
    incumbent_election=work.ELECTION,
    incumbent_settings={"splay": 0},
)
