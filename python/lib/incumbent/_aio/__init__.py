"""The API for asyncio."""

from incumbent._aio._candidate import Candidate, Event, Terms
from incumbent._aio._drain import DrainHandler
from incumbent._aio._health import HealthCheck
from incumbent._aio._leader_only import leader_only
from incumbent._aio._run import run
from incumbent._aio._store import Observer, Opening, Store, connect, init
from incumbent._aio._stream import Stream
from incumbent._aio._term import Term, current_term

__all__ = [
    "Candidate",
    "DrainHandler",
    "Event",
    "HealthCheck",
    "Observer",
    "Opening",
    "Store",
    "Stream",
    "Term",
    "Terms",
    "connect",
    "current_term",
    "init",
    "leader_only",
    "run",
]
