"""Every scenario of every language, on every store, through both APIs."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from conformance.aio import Asyncio
from conformance.failure import Failure, Lacking
from conformance.scenario import FILES, read
from conformance.threads import Threads

SCENARIOS = [read(path) for path in sorted(FILES.glob("*.json"))]
STORES = ["memory", "sqlite", "nats"]
PLAYS = [
    pytest.param((scenario, store, face), id=f"{scenario.name}-{store}-{face.name}")
    for face in (Asyncio(), Threads())
    for store in STORES
    for scenario in SCENARIOS
]


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 25
    assert [scenario.name for scenario in SCENARIOS] == sorted(path.stem for path in FILES.glob("*.json"))


@pytest.mark.parametrize("arguments", PLAYS)
def test_scenario(arguments: tuple[object, str, object], performance: Future[None]) -> None:
    try:
        performance.result()
    except Lacking as lacking:
        # A real server can play every scenario.
        (pytest.skip if arguments[1] != "nats" else pytest.fail)(str(lacking))
    except Failure as failure:
        pytest.fail(str(failure), pytrace=False)
