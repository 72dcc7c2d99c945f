"""Background tasks, which run until their work is done."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

# An event loop keeps only weak references to its tasks.
_RUNNING: set[asyncio.Task[None]] = set()


def start(work: Coroutine[Any, Any, None], name: str) -> None:
    """Runs ``work`` on the event loop of the caller."""
    from asyncio import create_task

    task = create_task(work, name=name)
    _RUNNING.add(task)
    task.add_done_callback(_RUNNING.discard)
