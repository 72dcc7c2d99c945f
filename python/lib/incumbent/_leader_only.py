"""The rules of ``leader_only`` for asyncio and threads alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from incumbent import _refusals
from incumbent._base import BaseCandidate
from incumbent.errors import NotLeaderError


def check(otherwise: str) -> None:
    """Raises ``ValueError`` unless it is one of the two."""
    if otherwise not in ("raise", "skip"):
        raise ValueError(_refusals.otherwise(repr(otherwise)))


def chooser(candidate: Any) -> Callable[[Sequence[object]], Any]:
    """Returns the function that finds the candidate for the arguments of a call: itself, or what a function returns."""
    if isinstance(candidate, BaseCandidate):
        return lambda arguments: candidate
    # Imported late: it takes longer to import than this package.
    import inspect

    try:
        parameters = list(inspect.signature(candidate).parameters.values())
    except ValueError:
        # The callable is a C function without a signature.
        parameters = []
    needed = [one for one in parameters if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    return (lambda arguments: candidate(*arguments[:1])) if needed else (lambda arguments: candidate())


def refuse(candidate: BaseCandidate[Any], otherwise: str) -> None:
    """Refuses a call if the candidate does not lead: raises, or returns if the call is to be skipped."""
    if otherwise == "raise":
        message = f"{candidate.name!r} does not lead {candidate.election!r}: only the leader may call this"
        raise NotLeaderError(message)
