"""Plays several scenarios at a time, since a scenario mostly waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from support import ROOT, tool

from conformance.face import Face
from conformance.failure import Failure, Lacking
from conformance.play import play
from conformance.scenario import Scenario

AT_ONCE = 10

Player = Callable[..., "Future[None]"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # A candidate that is killed is dropped without being closed, and a collector finds it at any time.
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed (candidate|store):ResourceWarning"))


@pytest.fixture(scope="session")
def harness() -> Path:
    """The program ``incumbent-harness``."""
    return tool("INCUMBENT_HARNESS", ROOT / "target/debug/incumbent-harness")


@pytest.fixture(scope="session")
def player(harness: Path) -> Iterator[Player]:
    """Plays a scenario on a thread and an event loop of its own."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="play") as pool:

        def start(scenario: Scenario, store: str, face: Face, *timeout: float) -> Future[None]:
            return pool.submit(_perform, scenario, store, face, harness, *timeout)

        yield start
        pool.shutdown(wait=True, cancel_futures=True)


def _perform(scenario: Scenario, store: str, face: Face, harness: Path, *timeout: float) -> None:
    try:
        asyncio.run(play(scenario, store, face, harness, *timeout))
        return
    except (Failure, Lacking) as raised:
        # Raises a new exception, because the traceback of the old one would keep all participants alive.
        error = type(raised)(*raised.args)
    raise error


@pytest.fixture(scope="session")
def begun(request: pytest.FixtureRequest, player: Player) -> dict[str, Future[None]]:
    """The plays of all selected tests, by the ids of the tests: begun together, awaited by each."""
    plays = {}
    for item in request.session.items:
        arguments = item.callspec.params.get("arguments") if hasattr(item, "callspec") else None
        if arguments is not None and item.path.parent == Path(__file__).parent:
            plays[item.nodeid] = player(*arguments)
    return plays


@pytest.fixture
def performance(request: pytest.FixtureRequest, begun: dict[str, Future[None]]) -> Future[None]:
    """The play of this test."""
    return begun[request.node.nodeid]
