"""Carries out the steps of a scenario, one after another."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from conformance import rules
from conformance.actor import Actor
from conformance.participants import Participants, Watcher
from conformance.expect import expect, returned
from conformance.face import Face
from conformance.failure import Failure, Lacking, Missed
from conformance.fixture import Fixture
from conformance.scenario import Fields, Scenario
from incumbent import IncumbentError, State, Token

TIMEOUT = 60.0
"""The time limit of an expectation, in seconds, for a busy machine."""


async def play(scenario: Scenario, store: str, face: Face, harness: Path, timeout: float = TIMEOUT) -> None:
    """Plays a scenario on a store, through an API of the package.

    Raises :class:`Failure` at the first missed expectation or the first broken rule, with the events of all candidates.
    Raises :class:`Lacking` where it cannot be played on that store.
    """
    what = f"{scenario.name} on {store}, by {face.name},"
    try:
        fixture = await Fixture.prepare(harness, scenario, store, face, timeout)
    except Lacking:
        raise
    except Exception as error:
        raise _failure(what, "before the first step", None, error, []) from error
    participants = Participants(scenario, timeout)
    try:
        failure = await _steps(participants, fixture, scenario, what)
    finally:
        participants.leader_check.stop()
        ending = await _end(participants, fixture)
    if failure is not None:
        raise failure
    if ending is not None:
        raise _failure(what, "at its end", None, ending, participants.history())


async def _steps(participants: Participants, fixture: Fixture, scenario: Scenario, what: str) -> Failure | None:
    for number, step in enumerate(scenario.steps, 1):
        try:
            await _step(participants, fixture, step)
        except Exception as error:
            # The report includes events of the same moment.
            await asyncio.sleep(0.05)
            return _failure(what, str(step), number, error, participants.history())
    try:
        await _after_the_last_step(participants)
    except Exception as error:
        return _failure(what, "after the last step", None, error, participants.history())
    return None


async def _after_the_last_step(participants: Participants) -> None:
    """Checks after the last step: every call returns, and no event is unread."""
    for actor in participants.actors.values():
        while actor.calls:
            await returned(participants, actor, None)
    for actor in participants.actors.values():
        await _caught_up(participants, actor)
    participants.rules()
    rules.check_unasked(participants.actors.values())


async def _caught_up(participants: Participants, actor: Actor) -> None:
    """Waits until its log agrees with the candidate about its term: no event is in flight."""
    candidate = actor.candidate
    if candidate is None:
        return

    def present() -> tuple[Token, bool] | None:
        term = candidate.term
        return None if term is None else (term.token, term.drain_remaining is not None)

    what = f"the log of {actor.who} to agree with its own answers"
    await participants.wait(what, lambda: present() == actor.log.present or None, lambda: participants.stand(actor))


async def _end(participants: Participants, fixture: Fixture) -> Exception | None:
    """Closes every store, and so ends all reading from them."""
    try:
        for actor in participants.actors.values():
            # A closing store waits for work, and no further step finishes it.
            work, actor.log.held = actor.log.held, None
            if work is not None:
                await asyncio.wait_for(work.finish(), participants.timeout)
        await fixture.end()
        reading = [actor.ended() for actor in participants.actors.values()]
        reading += [watcher.reader.ended() for watcher in participants.watchers.values() if watcher.reader]
        try:
            await asyncio.wait_for(asyncio.gather(*reading), participants.timeout)
        except asyncio.TimeoutError:
            return Missed("events and observations to end with their store", f"not within {participants.timeout:g} s")
        participants.rules()
    except Exception as error:
        return error
    return None


def _failure(what: str, at: str, step: int | None, error: Exception, history: list[str]) -> Failure:
    if isinstance(error, Missed):
        return Failure(what, at, step, error.expected, error.seen, history)
    return Failure(what, at, step, "the step to be carried out", f"{type(error).__name__}: {error}", history)


async def _step(participants: Participants, fixture: Fixture, step: Fields) -> None:
    verb = step.text("do")
    if verb.startswith("expect_"):
        await expect(participants, fixture, verb, step)
    else:
        await _do(participants, fixture, verb, step)
    step.done()
    participants.rules()


async def _do(participants: Participants, fixture: Fixture, verb: str, step: Fields) -> None:
    def connection() -> str:
        return participants.actor(step.text("candidate")).part.connection

    match verb:
        case "campaign":
            await _campaign(participants, fixture, step)
        case "resign" | "hand_over" | "close":
            actor = participants.actor(step.text("candidate"))
            if actor.participant is None:
                raise Missed(f"{actor.who} to campaign", "it does not")
            to = step.text("to") if verb == "hand_over" else ""
            actor.calls.append((verb, await actor.participant.begin(verb, to)))
        case "close_store":
            store = await fixture.open(connection())
            participants.actor(step.text("candidate")).calls.append((verb, await store.begin_close()))
        case "set_healthy":
            participants.candidate(step.text("candidate")).set_healthy(step.flag("healthy"))
        case "finish_work":
            log = participants.actor(step.text("candidate")).log
            work, log.held = log.held, None
            if work is None:
                raise Missed(f"{step.text('candidate')} to be at work", "it is not")
            await asyncio.wait_for(work.finish(), participants.timeout)
        case "fail_work":
            term = participants.candidate(step.text("candidate")).term
            if term is None:
                raise Missed(f"{step.text('candidate')} to lead", "it does not")
            term.fail()
        case "observe":
            watcher = participants.watchers[step.text("observer")] = Watcher()
            observing = fixture.own_store.observe(step.text("election", "jobs"), watcher.observations.append)
            watcher.reader = await asyncio.wait_for(observing, participants.timeout)
        case "kill":
            await _kill(participants, fixture, step.text("candidate"))
        case "cut":
            await fixture.cut(connection())
        case "heal":
            await fixture.heal(connection())
        case "delete_key":
            await fixture.ask(verb, key=step.text("election", "jobs"))
        case "put_key":
            await fixture.ask(verb, key=step.text("election", "jobs"), value=step.text("value"))
        case "reset_store" | "stop_server" | "start_server":
            await fixture.ask(verb)
        case "mark":
            participants.clock.mark(step.text("mark"))
        case _:
            raise Missed("a step that this runner knows", step)


async def _campaign(participants: Participants, fixture: Fixture, step: Fields) -> None:
    actor = participants.actor(step.text("candidate"))
    error, names = step.perhaps_text("error"), step.perhaps_text("names")
    if actor.candidate is not None and actor.candidate.state is not State.CLOSED:
        raise Missed(f"{actor.who} to be closed before it campaigns again", "it is not")
    store = await fixture.open(actor.part.connection)
    try:
        campaigning = store.campaign(actor.part.election, actor.part.options)
        participant = await asyncio.wait_for(campaigning, participants.timeout)
    except IncumbentError as raised:
        if raised.code == error and (names is None or names in str(raised)):
            return
        naming = "" if names is None else f" that names {names!r}"
        expected = f"{actor.who} to campaign" if error is None else f"the error {error}{naming}"
        raise Missed(expected, f"the error {raised.code}: {raised}") from raised
    except asyncio.TimeoutError:
        raise Missed("an answer", f"none in {participants.timeout:g} s") from None
    candidate = participant.candidate
    participants.leader_check.ask(actor.part.election, actor.who, lambda: candidate.is_leader)
    actor.begin(participant)
    if error is not None:
        raise Missed(f"the error {error}", f"{actor.who} campaigns")


async def _kill(participants: Participants, fixture: Fixture, who: str) -> None:
    """Cuts the candidate off from the store, and drops it."""
    actor = participants.actor(who)
    await fixture.kill(actor.part.connection)
    term = participants.candidate(who).term
    until = 0.0 if term is None else time.monotonic() + term.remaining
    await actor.kill()
    participants.leader_check.lead_until(actor.part.election, actor.who, until)
