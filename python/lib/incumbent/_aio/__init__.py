"""The API for asyncio."""

from incumbent._aio._candidate import Candidate, Event, Terms
from incumbent._aio._drain import DrainHandler
from incumbent._aio._run import run
from incumbent._aio._store import Observer, Store, connect
from incumbent._aio._stream import Stream
from incumbent._aio._term import Term

__all__ = ["Candidate", "DrainHandler", "Event", "Observer", "Store", "Stream", "Term", "Terms", "connect", "run"]
