"""Threads of this package, which run the program's functions."""

from __future__ import annotations

import threading
from collections.abc import Callable

from incumbent import _exit


def start(work: Callable[[], None], name: str) -> None:
    """Runs ``work`` on a new thread; a greenlet, where gevent or eventlet has replaced threads."""

    def run() -> None:
        try:
            work()
        finally:
            _exit.threads.discard(thread)

    # A daemon: closing the campaigns at exit ends it, and it must not keep the process from exiting.
    thread = threading.Thread(target=run, name=name, daemon=True)
    _exit.threads.add(thread)
    thread.start()
