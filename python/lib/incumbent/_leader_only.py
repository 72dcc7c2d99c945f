"""The rules of ``leader_only`` for asyncio and threads alike."""

from __future__ import annotations

from typing import Any

from incumbent import _refusals
from incumbent._base import BaseCandidate
from incumbent.errors import NotLeaderError


def check(otherwise: str) -> None:
    """Raises ``ValueError`` unless it is one of the two."""
    if otherwise not in ("raise", "skip"):
        raise ValueError(_refusals.otherwise(repr(otherwise)))


def refuse(candidate: BaseCandidate[Any], otherwise: str) -> None:
    """Refuses a call if the candidate does not lead: raises, or returns if the call is to be skipped."""
    if otherwise == "raise":
        message = f"{candidate.name!r} does not lead {candidate.election!r}: only the leader may call this"
        raise NotLeaderError(message)
