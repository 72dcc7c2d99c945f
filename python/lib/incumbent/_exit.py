"""A clean shutdown when the interpreter exits: leaders release their keys first, and nothing hangs."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

from incumbent import _incumbent

if TYPE_CHECKING:
    from threading import Thread

LIMIT = 3.0
"""The seconds that the release of all keys may take."""

GRACE = 1.0
"""The seconds that the callbacks after the release may take."""

threads: set[Thread] = set()
"""The threads that run callbacks."""

has_left = False
"""Whether everything was closed because the interpreter exits."""


def _leave() -> None:
    global has_left
    has_left = True
    if not _incumbent.is_running():
        return
    _incumbent.shut_down(LIMIT)
    for thread in list(threads):
        thread.join(GRACE)


atexit.register(_leave)
