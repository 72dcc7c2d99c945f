"""Threads of our own, on which functions of the program run."""

from __future__ import annotations

import threading
from collections.abc import Callable

from incumbent import _exit


def start(work: Callable[[], None], name: str) -> None:
    """Runs it on a thread of its own."""

    def run() -> None:
        try:
            work()
        finally:
            _exit.threads.discard(thread)

    # A daemon: at exit the campaigns are closed, which ends it; it must not keep the process from getting there.
    thread = threading.Thread(target=run, name=name, daemon=True)
    _exit.threads.add(thread)
    thread.start()
