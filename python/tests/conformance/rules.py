"""The rules that hold in every scenario, whatever its steps are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from conformance.actor import Actor, WasWon
from conformance.failure import Missed
from incumbent import Token


def check(actors: Iterable[Actor], verdict: str | None) -> None:
    """Raises if a rule is broken; the verdict is the witness's."""
    if verdict is not None:
        raise Missed("at most one leader at any time", verdict)
    for actor in actors:
        if actor.book.broken is not None:
            raise Missed("Won, then Draining where there is one, then Lost, each once a term", actor.book.broken)
    seen = disorder(_wins(actors))
    if seen is not None:
        raise Missed("a larger token for every later term of an election", seen)


def check_unasked(actors: Iterable[Actor]) -> None:
    """Raises if there is an event about a term that no step has read."""
    for actor in actors:
        for told in actor.book.unread()[:1]:
            raise Missed("nothing that no step asks for", f"{actor.who} was told {told}")


class Win(NamedTuple):
    """A term, and the time of its ``Won``."""

    at: float
    election: str
    who: str
    token: Token


def _wins(actors: Iterable[Actor]) -> list[Win]:
    return [
        Win(told.at, actor.part.election, actor.who, told.token)
        for actor in actors
        for told in list(actor.book.terms)
        if isinstance(told, WasWon)
    ]


def disorder(wins: Iterable[Win]) -> str | None:
    """Finds two terms of one election where the later has no larger token."""
    largest: dict[str, Win] = {}
    for later in sorted(wins, key=lambda win: win.at):
        earlier = largest.get(later.election)
        if earlier is not None and earlier.token >= later.token:
            return f"{later.who} won with {later.token}, and before that {earlier.who} with {earlier.token}"
        largest[later.election] = later
    return None
