"""Expectations: each waits until it is met, or certainly cannot be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from conformance.actor import Actor, OfTerm, WasDraining, WasLost, WasWon
from conformance.cast import Cast
from conformance.failure import Missed
from conformance.hand import Hand
from conformance.scenario import Fields, moment
from incumbent import IncumbentError, Leader

ASK = 0.02
"""The interval at which the store is read, in seconds."""


async def expect(cast: Cast, hand: Hand, verb: str, step: Fields) -> None:
    """Carries out an expectation; raises if it is missed."""
    match verb:
        case "expect_won":
            await _won(cast, [step.text("candidate")], step)
        case "expect_any_won":
            alias = step.text("as")
            cast.aliases[alias] = await _won(cast, step.texts("candidates"), step)
        case "expect_draining":
            await _draining(cast, cast.actor(step.text("candidate")), step.text("reason"))
        case "expect_lost":
            await _lost(cast, cast.actor(step.text("candidate")), step)
        case "expect_returned":
            await returned(cast, cast.actor(step.text("candidate")), step.perhaps_text("error"))
        case "expect_is_leader":
            who, leads = step.text("candidate"), step.flag("leads")
            if (answer := cast.candidate(who).is_leader) != leads:
                raise Missed(f"is_leader of {who} to be {_json(leads)}", _json(answer))
        case "expect_still_leads":
            await _still_leads(cast, step.text("candidate"), step.number("leases"))
        case "expect_nobody_leads":
            await _nobody_leads(cast, step.text("election", "jobs"), step.number("leases"))
        case "expect_state":
            await _state(cast, step.text("candidate"), step.text("state"))
        case "expect_seen":
            await _seen(cast, step.text("candidate"), step.nullable_text("leader"))
        case "expect_warning":
            await _warning(cast, step.text("candidate"), step.text("warning"))
        case "expect_leader":
            election = step.text("election", "jobs")
            await _stored(cast, hand, election, step.nullable_text("leader"), step.pairs("metadata"))
        case "expect_observed":
            observer = step.text("observer")
            await _observed(cast, observer, step.nullable_text("leader"), step.pairs("metadata"))
        case _:
            raise Missed("a step that this runner knows", step)


def _next(actor: Actor, skipped: int = 0) -> OfTerm | None:
    """Reads the next event of its log, if there is one."""
    unread = actor.book.unread()
    if len(unread) <= skipped:
        return None
    actor.book.read += skipped + 1
    return unread[skipped]


async def _won(cast: Cast, who: Sequence[str], step: Fields) -> Actor:
    """Returns the first of them to win. Another event about a term raises."""
    actors = [cast.actor(one) for one in who]
    not_before, before = moment(step, "not_before"), moment(step, "before")
    what = f"{' or '.join(actor.who for actor in actors)} to be told Won"

    def probe() -> Actor | None:
        for actor in actors:
            told = _next(actor)
            if isinstance(told, WasWon):
                cast.clock.check(what, told.at, not_before, before)
                return actor
            if told is not None:
                raise Missed(what, f"{actor.who} was told {told}")
        return None

    return await cast.wait(what, probe, lambda: cast.stand(*actors))


async def _draining(cast: Cast, actor: Actor, reason: str) -> None:
    what = f"{actor.who} to be told Draining for {reason}"
    told = await cast.wait(what, lambda: _next(actor), lambda: cast.stand(actor))
    if told != WasDraining(reason):
        raise Missed(what, f"{actor.who} was told {told}")


async def _lost(cast: Cast, actor: Actor, step: Fields) -> None:
    reasons = [step.text("reason"), *([step.text("or")] if step.has("or") else [])]
    drained = step.flag("drained") if step.has("drained") else None
    not_before, before = moment(step, "not_before"), moment(step, "before")
    how = "" if drained is None else ", after a drain" if drained else ", without a drain"
    what = f"{actor.who} to be told Lost for {' or '.join(reasons)}{how}"

    def probe() -> OfTerm | None:
        # Passes over the drain.
        drains = any(isinstance(told, WasDraining) for told in actor.book.unread()[:1])
        return _next(actor, 1 if drains else 0)

    told = await cast.wait(what, probe, lambda: cast.stand(actor))
    fits = isinstance(told, WasLost) and told.reason in reasons and drained in (None, told.drained)
    if not isinstance(told, WasLost) or not fits:
        raise Missed(what, f"{actor.who} was told {told}")
    cast.clock.check(what, told.at, not_before, before)


async def returned(cast: Cast, actor: Actor, error: str | None) -> None:
    """Waits until the oldest call of a candidate that was not yet seen to return does."""
    if not actor.calls:
        raise Missed(f"a call of {actor.who}", "all have returned")
    verb, call = actor.calls.popleft()
    what = f"{verb} of {actor.who} to return" + ("" if error is None else f" the error {error}")
    try:
        await asyncio.wait_for(call, cast.timeout)
    except IncumbentError as told:
        if told.code != error:
            raise Missed(what, f"the error {told.code}: {told}") from told
    except asyncio.TimeoutError:
        raise Missed(what, f"it has not, after {cast.timeout:g} s") from None
    else:
        if error is not None:
            raise Missed(what, "it returned without an error")


async def _still_leads(cast: Cast, who: str, leases: float) -> None:
    actor, candidate = cast.actor(who), cast.candidate(who)
    what = f"{who} to lead on in the same term for {leases:g} leases"
    term = candidate.term
    first = None if term is None else term.token

    def check() -> None:
        now = candidate.term
        if now is None or now.token != first or not candidate.is_leader:
            raise Missed(what, cast.stand(actor))
        for told in actor.book.unread()[:1]:
            raise Missed(what, f"{who} was told {told}")

    await cast.throughout(leases, check)


async def _nobody_leads(cast: Cast, election: str, leases: float) -> None:
    def check() -> None:
        leaders = cast.witness.leaders(election)
        if leaders:
            raise Missed(f"nobody to lead {election!r} for {leases:g} leases", f"{', '.join(leaders)} leads")

    await cast.throughout(leases, check)


async def _state(cast: Cast, who: str, state: str) -> None:
    of = cast.candidate(who)
    what = f"{who} to be {state}"
    await cast.wait(what, lambda: of.state.value == state or None, lambda: f"it is {of.state.value}")


async def _seen(cast: Cast, who: str, name: str | None) -> None:
    of = cast.candidate(who)
    what = f"{who} to see {name!r} in the seat"
    await cast.wait(what, lambda: _fits(of.leader, name) or None, lambda: f"it sees {_shown(of.leader)}")


async def _warning(cast: Cast, who: str, warning: str) -> None:
    warnings = cast.actor(who).book.warnings
    what = f"{who} to be told the warning {warning}"
    await cast.wait(what, lambda: warning in warnings or None, lambda: f"it was told {warnings}")


async def _stored(
    cast: Cast, hand: Hand, election: str, name: str | None, metadata: Mapping[str, str]
) -> None:
    until = time.monotonic() + cast.timeout
    while True:
        cast.rules()
        is_last = time.monotonic() >= until
        try:
            leader = await asyncio.wait_for(hand.house.leader(election), cast.timeout)
            seen = _shown(leader)
            if _fits(leader, name, metadata):
                return
        except IncumbentError as error:
            seen = f"the error {error.code}: {error}"
        except asyncio.TimeoutError:
            seen = "no answer"
        if is_last:
            what = f"the store to say that {name!r} holds the seat of {election!r}"
            raise Missed(what, f"{seen}, after {cast.timeout:g} s")
        await asyncio.sleep(ASK)


async def _observed(cast: Cast, observer: str, name: str | None, metadata: Mapping[str, str]) -> None:
    watcher = cast.watcher(observer)

    def probe() -> bool | None:
        for place, leader in enumerate(watcher.sights[watcher.read :], watcher.read):
            if _fits(leader, name, metadata):
                watcher.read = place + 1
                return True
        return None

    def seen() -> str:
        return ", then ".join(map(_shown, watcher.sights[watcher.read :])) or "nothing new"

    await cast.wait(f"{observer} to see {name!r} in the seat", probe, seen)


def _fits(leader: Leader | None, name: str | None, metadata: Mapping[str, str] | None = None) -> bool:
    """Whether the leader has that name and at least that metadata; without a name, whether there is no leader."""
    if leader is None or name is None:
        return leader is None and name is None and not metadata
    return leader.name == name and leader.metadata.items() >= (metadata or {}).items()


def _shown(leader: Leader | None) -> str:
    return "nobody" if leader is None else f"{leader.name!r} {leader.metadata}"


def _json(flag: bool) -> str:
    return "true" if flag else "false"
