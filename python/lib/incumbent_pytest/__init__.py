"""Fixtures for pytest, found by its entry point.

A separate package: pytest imports it in every run, but the package ``incumbent`` only once a fixture is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def scripted_election() -> Callable[..., Any]:
    """Creates scripted elections, for asyncio; see :mod:`incumbent.testing`."""
    from incumbent import testing

    return testing.scripted_election


@pytest.fixture
def scripted_election_sync() -> Callable[..., Any]:
    """Creates scripted elections, for threads; see :mod:`incumbent.testing`."""
    from incumbent import testing

    return testing.scripted_election_sync


@pytest.fixture
def faulty_store() -> Callable[..., Any]:
    """Opens stores with fault injection, for asyncio; see :mod:`incumbent.testing`."""
    from incumbent import testing

    return testing.faulty_store


@pytest.fixture
def faulty_store_sync() -> Callable[..., Any]:
    """Opens stores with fault injection, for threads; see :mod:`incumbent.testing`."""
    from incumbent import testing

    return testing.faulty_store_sync
