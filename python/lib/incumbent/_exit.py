"""Leaving in good order when the interpreter exits: seats are given up first, and nothing hangs."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

from incumbent import _incumbent

if TYPE_CHECKING:
    from threading import Thread

LIMIT = 3.0
"""How many seconds the stores may take to take the seats back."""

GRACE = 1.0
"""How many seconds the callbacks that this causes may take."""

threads: set[Thread] = set()
"""The threads on which callbacks run."""


def _leave() -> None:
    if not _incumbent.is_running():
        return
    _incumbent.shut_down(LIMIT)
    for thread in list(threads):
        thread.join(GRACE)


atexit.register(_leave)
