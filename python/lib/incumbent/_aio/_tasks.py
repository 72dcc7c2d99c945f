"""Tasks that run beside the program, until there is nothing more for them."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

# An event loop itself keeps no task from being collected.
_RUNNING: set[asyncio.Task[None]] = set()


def start(work: Coroutine[Any, Any, None], name: str) -> None:
    """Runs it on the event loop of whoever calls."""
    from asyncio import create_task

    task = create_task(work, name=name)
    _RUNNING.add(task)
    task.add_done_callback(_RUNNING.discard)
