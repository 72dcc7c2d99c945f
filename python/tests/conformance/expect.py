"""Expectations: each waits until it is met, or can no longer be met."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from conformance.actor import Actor, OfTerm, WasDraining, WasLost, WasWon
from conformance.participants import Participants
from conformance.failure import Missed
from conformance.fixture import Fixture
from conformance.scenario import Fields, moment
from incumbent import IncumbentError, Leader

ASK = 0.02
"""The interval at which the store is read, in seconds."""


async def expect(participants: Participants, fixture: Fixture, verb: str, step: Fields) -> None:
    """Carries out an expectation; raises if it is missed."""
    match verb:
        case "expect_won":
            await _won(participants, [step.text("candidate")], step)
        case "expect_any_won":
            alias = step.text("as")
            participants.aliases[alias] = await _won(participants, step.texts("candidates"), step)
        case "expect_draining":
            await _draining(participants, participants.actor(step.text("candidate")), step.text("reason"))
        case "expect_lost":
            await _lost(participants, participants.actor(step.text("candidate")), step)
        case "expect_returned":
            await returned(participants, participants.actor(step.text("candidate")), step.perhaps_text("error"))
        case "expect_is_leader":
            who, leads = step.text("candidate"), step.flag("leads")
            if (answer := participants.candidate(who).is_leader) != leads:
                raise Missed(f"is_leader of {who} to be {_json(leads)}", _json(answer))
        case "expect_still_leads":
            await _still_leads(participants, step.text("candidate"), step.number("leases"))
        case "expect_nobody_leads":
            await _none_leads(participants, step.text("election", "jobs"), step.number("leases"))
        case "expect_state":
            await _state(participants, step.text("candidate"), step.text("state"))
        case "expect_seen":
            await _seen(participants, step.text("candidate"), step.nullable_text("leader"))
        case "expect_warning":
            await _warning(participants, step.text("candidate"), step.text("warning"))
        case "expect_leader":
            election = step.text("election", "jobs")
            await _stored(participants, fixture, election, step.nullable_text("leader"), step.pairs("metadata"))
        case "expect_observed":
            observer = step.text("observer")
            await _observed(participants, observer, step.nullable_text("leader"), step.pairs("metadata"))
        case _:
            raise Missed("a step that this runner knows", step)


def _next(actor: Actor, skipped: int = 0) -> OfTerm | None:
    """Reads the next event of its log, if there is one."""
    unread = actor.log.unread()
    if len(unread) <= skipped:
        return None
    actor.log.read += skipped + 1
    return unread[skipped]


async def _won(participants: Participants, who: Sequence[str], step: Fields) -> Actor:
    """Returns the first of them to win. Another event about a term raises."""
    actors = [participants.actor(one) for one in who]
    not_before, before = moment(step, "not_before"), moment(step, "before")
    what = f"{' or '.join(actor.who for actor in actors)} to receive Won"

    def probe() -> Actor | None:
        for actor in actors:
            received = _next(actor)
            if isinstance(received, WasWon):
                participants.clock.check(what, received.at, not_before, before)
                return actor
            if received is not None:
                raise Missed(what, f"{actor.who} received {received}")
        return None

    return await participants.wait(what, probe, lambda: participants.stand(*actors))


async def _draining(participants: Participants, actor: Actor, reason: str) -> None:
    what = f"{actor.who} to receive Draining for {reason}"
    received = await participants.wait(what, lambda: _next(actor), lambda: participants.stand(actor))
    if received != WasDraining(reason):
        raise Missed(what, f"{actor.who} received {received}")


async def _lost(participants: Participants, actor: Actor, step: Fields) -> None:
    reasons = [step.text("reason"), *([step.text("or")] if step.has("or") else [])]
    drained = step.flag("drained") if step.has("drained") else None
    not_before, before = moment(step, "not_before"), moment(step, "before")
    how = "" if drained is None else ", after a drain" if drained else ", without a drain"
    what = f"{actor.who} to receive Lost for {' or '.join(reasons)}{how}"

    def probe() -> OfTerm | None:
        # Passes over the drain.
        drains = any(isinstance(received, WasDraining) for received in actor.log.unread()[:1])
        return _next(actor, 1 if drains else 0)

    received = await participants.wait(what, probe, lambda: participants.stand(actor))
    fits = isinstance(received, WasLost) and received.reason in reasons and drained in (None, received.drained)
    if not isinstance(received, WasLost) or not fits:
        raise Missed(what, f"{actor.who} received {received}")
    participants.clock.check(what, received.at, not_before, before)


async def returned(participants: Participants, actor: Actor, error: str | None) -> None:
    """Waits until the oldest call of a candidate that was not yet seen to return does."""
    if not actor.calls:
        raise Missed(f"a call of {actor.who}", "all have returned")
    verb, call = actor.calls.popleft()
    what = f"{verb} of {actor.who} to return" + ("" if error is None else f" the error {error}")
    try:
        await asyncio.wait_for(call, participants.timeout)
    except IncumbentError as raised:
        if raised.code != error:
            raise Missed(what, f"the error {raised.code}: {raised}") from raised
    except asyncio.TimeoutError:
        raise Missed(what, f"it has not, after {participants.timeout:g} s") from None
    else:
        if error is not None:
            raise Missed(what, "it returned without an error")


async def _still_leads(participants: Participants, who: str, leases: float) -> None:
    actor, candidate = participants.actor(who), participants.candidate(who)
    what = f"{who} to keep leading in the same term for {leases:g} leases"
    term = candidate.term
    first = None if term is None else term.token

    def check() -> None:
        now = candidate.term
        if now is None or now.token != first or not candidate.is_leader:
            raise Missed(what, participants.stand(actor))
        for received in actor.log.unread()[:1]:
            raise Missed(what, f"{who} received {received}")

    await participants.throughout(leases, check)


async def _none_leads(participants: Participants, election: str, leases: float) -> None:
    def check() -> None:
        leaders = participants.leader_check.leaders(election)
        if leaders:
            raise Missed(f"no candidate to lead {election!r} for {leases:g} leases", f"{', '.join(leaders)} leads")

    await participants.throughout(leases, check)


async def _state(participants: Participants, who: str, state: str) -> None:
    of = participants.candidate(who)
    what = f"{who} to be {state}"
    await participants.wait(what, lambda: of.state.value == state or None, lambda: f"it is {of.state.value}")


async def _seen(participants: Participants, who: str, name: str | None) -> None:
    of = participants.candidate(who)
    what = f"{who} to see {name!r} lead"
    await participants.wait(what, lambda: _fits(of.leader, name) or None, lambda: f"it sees {_shown(of.leader)}")


async def _warning(participants: Participants, who: str, warning: str) -> None:
    warnings = participants.actor(who).log.warnings
    what = f"{who} to receive the warning {warning}"
    await participants.wait(what, lambda: warning in warnings or None, lambda: f"it received {warnings}")


async def _stored(
    participants: Participants, fixture: Fixture, election: str, name: str | None, metadata: Mapping[str, str]
) -> None:
    until = time.monotonic() + participants.timeout
    while True:
        participants.rules()
        is_last = time.monotonic() >= until
        try:
            leader = await asyncio.wait_for(fixture.own_store.leader(election), participants.timeout)
            seen = _shown(leader)
            if _fits(leader, name, metadata):
                return
        except IncumbentError as error:
            seen = f"the error {error.code}: {error}"
        except asyncio.TimeoutError:
            seen = "no answer"
        if is_last:
            what = f"the store to show {name!r} as the leader of {election!r}"
            raise Missed(what, f"{seen}, after {participants.timeout:g} s")
        await asyncio.sleep(ASK)


async def _observed(participants: Participants, observer: str, name: str | None, metadata: Mapping[str, str]) -> None:
    watcher = participants.watcher(observer)

    def probe() -> bool | None:
        for place, leader in enumerate(watcher.observations[watcher.read :], watcher.read):
            if _fits(leader, name, metadata):
                watcher.read = place + 1
                return True
        return None

    def seen() -> str:
        return ", then ".join(map(_shown, watcher.observations[watcher.read :])) or "nothing new"

    await participants.wait(f"{observer} to see {name!r} lead", probe, seen)


def _fits(leader: Leader | None, name: str | None, metadata: Mapping[str, str] | None = None) -> bool:
    """True if the leader has that name and at least that metadata; without a name, if there is no leader."""
    if leader is None or name is None:
        return leader is None and name is None and not metadata
    return leader.name == name and leader.metadata.items() >= (metadata or {}).items()


def _shown(leader: Leader | None) -> str:
    return "no leader" if leader is None else f"{leader.name!r} {leader.metadata}"


def _json(flag: bool) -> str:
    return "true" if flag else "false"
