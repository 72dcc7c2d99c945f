"""Celery's workers: the process that is asked to end campaigns, not those that it forks for tasks."""

import side_thread
from celery import Celery
from celery.signals import worker_ready, worker_shutdown

app = Celery("celery_worker", broker="memory://")
run = None


@worker_ready.connect
def ready(**_: object) -> None:
    global run
    run = side_thread.start()


@worker_shutdown.connect
def shutdown(**_: object) -> None:
    if run is not None:
        run.stop()
