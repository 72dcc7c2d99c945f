"""The runner's control of the store and the network: through the harness, or its own if the harness has none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from conformance.face import Face, Store
from conformance.failure import Lacking, Missed
from conformance.scenario import Scenario
from conformance.harness import Harness
from incumbent.testing import Faults

NETWORK = {"network", "kill"}
"""The faults that a faulty store can make if the harness cannot."""


class Fixture:
    """The store of a scenario, and the control of its faults."""

    def __init__(self, harness: Harness, face: Face, timeout: float) -> None:
        self._harness = harness
        self._face = face
        self._timeout = timeout
        self._urls: dict[str, str] = {}
        self._cuts = False
        self._connections: dict[str, Store] = {}
        self._faults: dict[str, list[Faults]] = {}
        self._own_store: Store | None = None

    @classmethod
    async def prepare(cls, harness: Path, scenario: Scenario, store: str, face: Face, timeout: float) -> Fixture:
        """Lets the harness make a store; raises :class:`Lacking` if the scenario cannot be played on it."""
        fixture = cls(await Harness.start(harness), face, timeout)
        try:
            await fixture._prepare(scenario, store)
        except BaseException:
            await fixture._harness.kill()
            raise
        return fixture

    async def _prepare(self, scenario: Scenario, store: str) -> None:
        connections = sorted({part.connection for part in scenario.parts.values()})
        lease_ms = round(scenario.lease * 1000)
        prepared = await self._harness.ask("prepare", store=store, lease_ms=lease_ms, connections=connections)
        needs, offers = set(scenario.needs), set(prepared.texts("offers"))
        lacking = sorted(needs - offers - NETWORK)
        if lacking:
            raise Lacking(f"needs {', '.join(lacking)}, which {store} lacks")
        self._cuts = bool(needs & NETWORK) and not offers & NETWORK
        self._urls.update(prepared.pairs("connections"))
        self._own_store = await self._face.open(prepared.text("url"))

    @property
    def own_store(self) -> Store:
        """The runner's own connection."""
        if self._own_store is None:
            raise Missed("a store of the runner's own", "there is none")
        return self._own_store

    async def open(self, connection: str) -> Store:
        """Returns the store behind a connection, opened at its first use."""
        if connection not in self._connections:
            url = self._urls[connection]
            if self._cuts:
                store, faults = await self._face.open_faulty(url)
                self._faults.setdefault(connection, []).append(faults)
            else:
                store = await self._face.open(url)
            self._connections[connection] = store
        return self._connections[connection]

    async def ask(self, do: str, **what: object) -> None:
        """Sends a request about the store to the harness."""
        await self._harness.ask(do, **what)

    async def cut(self, connection: str) -> None:
        if self._cuts:
            self._faults[connection][-1].partition()
        else:
            await self.ask("cut", connection=connection)

    async def heal(self, connection: str) -> None:
        if self._cuts:
            self._faults[connection][-1].heal()
        else:
            await self.ask("heal", connection=connection)

    async def kill(self, connection: str) -> None:
        """Cuts a connection for good: nothing from it reaches the store any more."""
        if self._cuts:
            self._faults[connection][-1].partition()
        else:
            await self.ask("kill", connection=connection)
        # Dropped without being closed.
        self._connections.pop(connection, None)

    async def end(self) -> None:
        """Ends everything, even after errors; raises the first error."""
        # Restores the connections, so that no call waits for one.
        for faults in self._faults.values():
            for fault in faults:
                fault.heal()
        missed: list[Missed] = []
        stores = [*self._connections.items(), *([("the runner", self._own_store)] if self._own_store else [])]
        for name, store in stores:
            await self._ends(f"the store of {name} to close", _close(store), missed)
        self._connections.clear()
        await self._ends("the harness to clean_up", self._clean_up(), missed)
        await self._harness.kill()
        if missed:
            raise missed[0]

    async def _clean_up(self) -> None:
        await self._harness.ask("clean_up")
        await self._harness.end()

    async def _ends(self, what: str, ending: Awaitable[None], missed: list[Missed]) -> None:
        try:
            await asyncio.wait_for(ending, self._timeout)
        except asyncio.TimeoutError:
            missed.append(Missed(what, f"it has not, after {self._timeout:g} s"))
        except Missed as error:
            missed.append(error)
        except Exception as error:
            missed.append(Missed(what, repr(error)))


async def _close(store: Store) -> None:
    await (await store.begin_close())
