"""The rules that hold in every scenario, whatever its steps are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from conformance.actor import Actor, WasWon
from conformance.failure import Missed
from incumbent import Token


def check(actors: Iterable[Actor], two_leaders: str | None) -> None:
    """Raises if a rule is broken; ``two_leaders`` is the report of the leader check."""
    if two_leaders is not None:
        raise Missed("at most one leader at any time", two_leaders)
    for actor in actors:
        if actor.log.broken is not None:
            raise Missed("Won, then perhaps Draining, then Lost, each once a term", actor.log.broken)
    seen = disorder(_wins(actors))
    if seen is not None:
        raise Missed("a larger token for every later term of an election", seen)


def check_unasked(actors: Iterable[Actor]) -> None:
    """Raises if there is an event about a term that no step has read."""
    for actor in actors:
        for received in actor.log.unread()[:1]:
            raise Missed("no event that no step expects", f"{actor.who} received {received}")


class Win(NamedTuple):
    """A term, and the time of its ``Won``."""

    at: float
    election: str
    who: str
    token: Token


def _wins(actors: Iterable[Actor]) -> list[Win]:
    return [
        Win(received.at, actor.part.election, actor.who, received.token)
        for actor in actors
        for received in list(actor.log.terms)
        if isinstance(received, WasWon)
    ]


def disorder(wins: Iterable[Win]) -> str | None:
    """Finds two terms of one election whose later one has no larger token."""
    largest: dict[str, Win] = {}
    for later in sorted(wins, key=lambda win: win.at):
        earlier = largest.get(later.election)
        if earlier is not None and earlier.token >= later.token:
            return f"{later.who} won with {later.token}, and before that {earlier.who} with {earlier.token}"
        largest[later.election] = later
    return None
