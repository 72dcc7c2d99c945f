"""Every scenario of every language, on every store, through both APIs."""

from __future__ import annotations

import os
from concurrent.futures import Future

import pytest

from conformance.aio import Asyncio
from conformance.failure import Failure, Lacking
from conformance.scenario import FILES, read
from conformance.threads import Threads

PATHS = sorted(FILES.glob("*.json"))
ALL = "memory,sqlite,nats,etcd" + (",kafka" if "INCUMBENT_KAFKA" in os.environ else "")
STORES = os.environ.get("INCUMBENT_STORES", ALL).split(",")
"""The stores to play on; by default all, and Kafka where ``INCUMBENT_KAFKA`` has the address of a broker."""
SERVERS = ("nats", "etcd")
"""The stores on a server, which offers everything that a scenario needs."""
# On Kafka a first win waits for a lease, so one API plays there: no difference between the two
# depends on the store.
PLAYS = [
    pytest.param((scenario, store, face), id=f"{scenario.name}-{store}-{face.name}")
    for face in (Asyncio(), Threads())
    for store in STORES
    if (store, face.name) != ("kafka", "threads")
    for scenario in (read(path, store) for path in PATHS)
    if store not in scenario.not_on
]


def test_there_are_scenarios() -> None:
    assert len(PATHS) >= 25
    assert [read(path).name for path in PATHS] == [path.stem for path in PATHS]


@pytest.mark.parametrize("arguments", PLAYS)
def test_scenario(arguments: tuple[object, str, object], performance: Future[None]) -> None:
    try:
        performance.result()
    except Lacking as lacking:
        (pytest.fail if arguments[1] in SERVERS else pytest.skip)(str(lacking))
    except Failure as failure:
        pytest.fail(str(failure), pytrace=False)
