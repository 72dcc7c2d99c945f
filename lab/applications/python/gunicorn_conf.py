"""gunicorn: each worker campaigns once it has been forked, and leaves as it exits."""

workers = 1
preload_app = True
loglevel = "warning"


def post_worker_init(worker: object) -> None:
    import side_thread

    side_thread.start()
