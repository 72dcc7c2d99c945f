"""gevent and eventlet, where they have replaced Python's threads by greenlets.

A wait there must let the thread's other greenlets run, and functions of the program run on greenlets, like everything else in
such a program: its locks and connections do not work across threads of the operating system.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def select() -> Callable[..., Any] | None:
    """Returns the ``select`` that lets other greenlets run; None where threads are Python's own."""
    gevent: Any = sys.modules.get("gevent.monkey")
    eventlet: Any = sys.modules.get("eventlet.patcher")
    if gevent is not None and gevent.is_module_patched("threading"):
        name = "gevent.select"
    elif eventlet is not None and eventlet.is_monkey_patched("thread"):
        name = "eventlet.green.select"
    else:
        return None
    found: Callable[..., Any] = import_module(name).select
    return found
