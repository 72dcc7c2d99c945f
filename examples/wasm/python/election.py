"""Three candidates on the engine component, in Python, with the package `wasmtime`.

    python election.py incumbent-engine.wasm

The store is a few lines, and the clock is set by hand. The leader is stopped for good; another follows when its lease
is over.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, Callable

from wasmtime import Engine as Wasmtime
from wasmtime import Store
from wasmtime.component import Component, Instance, Linker, Record, Variant

CANDIDATES = "incumbent:election/candidates@0.1.0"
MILLISECOND = 1_000_000
SECOND = 1_000 * MILLISECOND
LEASE = 5 * SECOND


def record(**fields: Any) -> Record:
    """A record; its fields are named as in the WIT, with hyphens."""
    made = Record()
    for name, value in fields.items():
        setattr(made, name.replace("_", "-"), value)
    return made


class Engine:
    """An instance of the component. It imports nothing, so its linker is empty."""

    def __init__(self, path: str) -> None:
        wasmtime = Wasmtime()
        self.store = Store(wasmtime)
        self.instance: Instance = Linker(wasmtime).instantiate(self.store, Component.from_file(wasmtime, path))
        self.interface = self.instance.get_export_index(self.store, CANDIDATES)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A function of the resource: `engine.is_leader` is `[method]candidate.is-leader`."""
        kind = "static" if name == "create" else "method"
        export = f"[{kind}]candidate.{name.replace('_', '-')}"
        function = self.instance.get_func(
            self.store, self.instance.get_export_index(self.store, export, self.interface)
        )
        assert function is not None, export

        def call(*arguments: Any) -> Any:
            return function(self.store, *arguments)

        setattr(self, name, call)
        return call


class Key:
    """One key: compare-and-swap, revisions that grow, and records that expire."""

    def __init__(self) -> None:
        self.message: Record | None = None
        self.sequence = 0
        self.expires = 0

    def read(self, now: int) -> Record | None:
        if self.message is not None and self.message.kind == "live" and now >= self.expires:
            self.message = None
        return self.message

    def write(self, write: Record, now: int) -> Variant:
        message = self.read(now)
        current = 0 if message is None else message.revision
        # `absent` has no payload, and so is None.
        if current != (write.expect or 0):
            return Variant("refused", current)
        self.sequence += 1
        if write.action.tag == "release":
            self.message = record(
                revision=self.sequence,
                kind="tombstone",
                value=b"",
                headers=write.action.payload,
                oversize=None,
            )
        else:
            put = write.action.payload
            self.message = record(
                revision=self.sequence,
                kind="live",
                value=put.value.encode(),
                headers=put.headers,
                oversize=None,
            )
            self.expires = now + put.lease
        return Variant("applied", record(revision=self.sequence, incarnation=7))


CAPABILITIES = record(
    own_lease=True,
    lease_step=0,
    shortest=0,
    longest=3_600 * SECOND,
    granularity=0,
    expiry_pushed=False,
    incarnation_acked=True,
    fail_over=0,
)

INFO = record(incarnation=7, age=None, never_used=True, max_age=None, newest=None)


def settings(name: str) -> Record:
    return record(
        name=name,
        preset="standard",
        lease=LEASE,
        skew=None,
        drift_ppm=None,
        slack=None,
        win_delay=Variant("automatic"),
        splay=0,
        drain=None,
        interval=None,
        back_off=None,
        metadata=[],
    )


class Contender:
    """A candidate and its loop of events."""

    def __init__(self, engine: Engine, world: SimpleNamespace, name: str, number: int) -> None:
        self.engine, self.world, self.name = engine, world, name
        self.wake: int | None = None
        nonce = record(high=0, low=number)
        self.candidate = engine.create(settings(name), CAPABILITIES, INFO, world.now, nonce, number, world.now)
        assert not isinstance(self.candidate, Record), "a refusal is a record"
        self.give(Variant("campaign"))

    def give(self, what: Variant) -> None:
        """Hands in what happened, and carries out the candidate's requests until there are no more."""
        inputs = [what]
        while inputs:
            assert self.engine.handle(self.candidate, self.world.now, inputs.pop(0)) is None
            while (output := self.engine.poll(self.candidate)).tag != "wake-at":
                answer = self.carry_out(output)
                if answer is not None:
                    inputs.append(answer)
            self.wake = None if output.payload is None else output.payload.at

    def carry_out(self, output: Variant) -> Variant | None:
        now, key = self.world.now, self.world.key
        match output.tag:
            case "write":
                write = output.payload
                return Variant("wrote", record(attempt=write.attempt, outcome=key.write(write, now)))
            case "read":
                return Variant("answered", record(read=output.payload, answer=key.read(now)))
            case "inspect":
                return Variant("inspected", record(asked_at=now, answer=INFO))
            case "reconnect":
                return Variant("reconnected")
        return None

    def leads(self) -> bool:
        return self.engine.is_leader(self.candidate, self.world.now)

    def token(self) -> tuple[int, int]:
        token = self.engine.lease(self.candidate).token
        return token.incarnation, token.sequence


def main(path: str) -> None:
    engine = Engine(path)
    world = SimpleNamespace(now=3_600 * SECOND, key=Key())
    contenders = [Contender(engine, world, name, number) for number, name in enumerate("abc", 1)]

    def until(done: Callable[[Contender | None], bool]) -> Contender | None:
        """Runs until `done`, from one wake-up to the next; at most one leads at any instant."""
        for _ in range(10_000):
            leaders = [contender for contender in contenders if contender.leads()]
            assert len(leaders) <= 1, f"{[leader.name for leader in leaders]} lead"
            leader = leaders[0] if leaders else None
            if done(leader):
                return leader
            world.now = max(world.now, min(one.wake for one in contenders if one.wake is not None))
            for contender in contenders:
                if contender.wake is not None and contender.wake <= world.now:
                    contender.give(Variant("tick"))
        raise AssertionError("it never happens")

    first = until(lambda leader: leader is not None)
    assert first is not None
    token = first.token()
    print(f"{first.name} leads with token {token[0]}-{token[1]}")

    renewed = world.now + 3 * LEASE
    until(lambda _: world.now >= renewed)
    assert first.leads(), "it renews"

    contenders.remove(first)
    stopped = world.now
    second = until(lambda leader: leader is not None)
    assert second is not None
    print(f"{first.name} was stopped; {second.name} leads with token {second.token()[0]}-{second.token()[1]}")
    assert second.token() > token, "a larger token"
    assert world.now - stopped <= LEASE + SECOND, "no later than a lease and a second"
    assert not first.leads(), "its clock alone shows it"

    # An odd input is an error, and does not trap.
    misuse = engine.handle(second.candidate, world.now, Variant("hand-over", ""))
    assert misuse.tag == "not-a-name", misuse
    assert second.leads()


if __name__ == "__main__":
    main(sys.argv[1])
