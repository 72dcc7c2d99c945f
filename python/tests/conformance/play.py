"""Carries out the steps of a scenario, one after another."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from conformance import rules
from conformance.actor import Actor
from conformance.cast import Cast, Watcher
from conformance.expect import expect, returned
from conformance.face import Face
from conformance.failure import Failure, Lacking, Missed
from conformance.hand import Hand
from conformance.scenario import Fields, Scenario
from incumbent import IncumbentError, State, Token

TIMEOUT = 60.0
"""The time limit of an expectation, in seconds, for a busy machine."""


async def play(scenario: Scenario, store: str, face: Face, stage: Path, timeout: float = TIMEOUT) -> None:
    """Plays a scenario on a store, through an API of the package.

    Raises :class:`Failure` at the first missed expectation or the first broken rule, with the events of all candidates.
    Raises :class:`Lacking` where it cannot be played on that store.
    """
    what = f"{scenario.name} on {store}, by {face.name},"
    try:
        hand = await Hand.set(stage, scenario, store, face, timeout)
    except Lacking:
        raise
    except Exception as error:
        raise _failure(what, "before the first step", None, error, []) from error
    cast = Cast(scenario, timeout)
    try:
        failure = await _steps(cast, hand, scenario, what)
    finally:
        cast.witness.stop()
        ending = await _end(cast, hand)
    if failure is not None:
        raise failure
    if ending is not None:
        raise _failure(what, "at its end", None, ending, cast.history())


async def _steps(cast: Cast, hand: Hand, scenario: Scenario, what: str) -> Failure | None:
    for number, step in enumerate(scenario.steps, 1):
        try:
            await _step(cast, hand, step)
        except Exception as error:
            # The report includes events of the same moment.
            await asyncio.sleep(0.05)
            return _failure(what, str(step), number, error, cast.history())
    try:
        await _curtain(cast)
    except Exception as error:
        return _failure(what, "after the last step", None, error, cast.history())
    return None


async def _curtain(cast: Cast) -> None:
    """Checks after the last step: every call returns, and no event is unread."""
    for actor in cast.actors.values():
        while actor.calls:
            await returned(cast, actor, None)
    for actor in cast.actors.values():
        await _caught_up(cast, actor)
    cast.rules()
    rules.check_unasked(cast.actors.values())


async def _caught_up(cast: Cast, actor: Actor) -> None:
    """Waits until its log agrees with the candidate about its term: no event is in flight."""
    candidate = actor.candidate
    if candidate is None:
        return

    def present() -> tuple[Token, bool] | None:
        term = candidate.term
        return None if term is None else (term.token, term.drain_remaining is not None)

    what = f"the log of {actor.who} to say what it says itself"
    await cast.wait(what, lambda: present() == actor.book.present or None, lambda: cast.stand(actor))


async def _end(cast: Cast, hand: Hand) -> Exception | None:
    """Closes every store, and so ends all reading from them."""
    try:
        for actor in cast.actors.values():
            # A closing store waits for work, and no step finishes this any more.
            work, actor.book.held = actor.book.held, None
            if work is not None:
                await asyncio.wait_for(work.finish(), cast.timeout)
        await hand.end()
        reading = [actor.ended() for actor in cast.actors.values()]
        reading += [watcher.reader.ended() for watcher in cast.watchers.values() if watcher.reader]
        try:
            await asyncio.wait_for(asyncio.gather(*reading), cast.timeout)
        except asyncio.TimeoutError:
            return Missed("events and observations to end with their store", f"not within {cast.timeout:g} s")
        cast.rules()
    except Exception as error:
        return error
    return None


def _failure(what: str, at: str, step: int | None, error: Exception, history: list[str]) -> Failure:
    if isinstance(error, Missed):
        return Failure(what, at, step, error.expected, error.seen, history)
    return Failure(what, at, step, "the step to be carried out", f"{type(error).__name__}: {error}", history)


async def _step(cast: Cast, hand: Hand, step: Fields) -> None:
    verb = step.text("do")
    if verb.startswith("expect_"):
        await expect(cast, hand, verb, step)
    else:
        await _do(cast, hand, verb, step)
    step.done()
    cast.rules()


async def _do(cast: Cast, hand: Hand, verb: str, step: Fields) -> None:
    def connection() -> str:
        return cast.actor(step.text("candidate")).part.connection

    match verb:
        case "campaign":
            await _campaign(cast, hand, step)
        case "resign" | "hand_over" | "close":
            actor = cast.actor(step.text("candidate"))
            if actor.participant is None:
                raise Missed(f"{actor.who} to campaign", "it does not")
            to = step.text("to") if verb == "hand_over" else ""
            actor.calls.append((verb, await actor.participant.begin(verb, to)))
        case "close_store":
            store = await hand.open(connection())
            cast.actor(step.text("candidate")).calls.append((verb, await store.begin_close()))
        case "set_healthy":
            cast.candidate(step.text("candidate")).set_healthy(step.flag("healthy"))
        case "finish_work":
            book = cast.actor(step.text("candidate")).book
            work, book.held = book.held, None
            if work is None:
                raise Missed(f"{step.text('candidate')} to be at work", "it is not")
            await asyncio.wait_for(work.finish(), cast.timeout)
        case "fail_work":
            term = cast.candidate(step.text("candidate")).term
            if term is None:
                raise Missed(f"{step.text('candidate')} to lead", "it does not")
            term.fail()
        case "observe":
            watcher = cast.watchers[step.text("observer")] = Watcher()
            observing = hand.house.observe(step.text("election", "jobs"), watcher.sights.append)
            watcher.reader = await asyncio.wait_for(observing, cast.timeout)
        case "kill":
            await _kill(cast, hand, step.text("candidate"))
        case "cut":
            await hand.cut(connection())
        case "heal":
            await hand.heal(connection())
        case "delete_key":
            await hand.ask(verb, key=step.text("election", "jobs"))
        case "put_key":
            await hand.ask(verb, key=step.text("election", "jobs"), value=step.text("value"))
        case "reset_store" | "stop_server" | "start_server":
            await hand.ask(verb)
        case "mark":
            cast.clock.mark(step.text("mark"))
        case _:
            raise Missed("a step that this runner knows", step)


async def _campaign(cast: Cast, hand: Hand, step: Fields) -> None:
    actor = cast.actor(step.text("candidate"))
    error, names = step.perhaps_text("error"), step.perhaps_text("names")
    if actor.candidate is not None and actor.candidate.state is not State.CLOSED:
        raise Missed(f"{actor.who} to be closed before it campaigns again", "it is not")
    store = await hand.open(actor.part.connection)
    try:
        campaigning = store.campaign(actor.part.election, actor.part.options)
        participant = await asyncio.wait_for(campaigning, cast.timeout)
    except IncumbentError as told:
        if told.code == error and (names is None or names in str(told)):
            return
        naming = "" if names is None else f" that names {names!r}"
        expected = f"{actor.who} to campaign" if error is None else f"the error {error}{naming}"
        raise Missed(expected, f"the error {told.code}: {told}") from told
    except asyncio.TimeoutError:
        raise Missed("an answer", f"none in {cast.timeout:g} s") from None
    candidate = participant.candidate
    cast.witness.ask(actor.part.election, actor.who, lambda: candidate.is_leader)
    actor.begin(participant)
    if error is not None:
        raise Missed(f"the error {error}", f"{actor.who} campaigns")


async def _kill(cast: Cast, hand: Hand, who: str) -> None:
    """Cuts the candidate off from the store, and drops it."""
    actor = cast.actor(who)
    await hand.kill(actor.part.connection)
    term = cast.candidate(who).term
    until = 0.0 if term is None else time.monotonic() + term.remaining
    await actor.die()
    cast.witness.bury(actor.part.election, actor.who, until)
