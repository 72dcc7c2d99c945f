"""A store or candidate that is dropped without being closed causes a warning, once its last user is gone."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import tracemalloc
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support import FAST, TIMEOUT, soon, until

import incumbent
from incumbent import sync
from incumbent.testing import scripted_election, scripted_election_sync


@contextmanager
def warned():
    """Records the warnings about unclosed resources."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        texts: list[str] = []
        yield texts
        gc.collect()
        texts += [str(one.message) for one in caught if one.category is ResourceWarning]


CANDIDATE = "unclosed candidate 'a' for 'jobs'"


async def test_a_store_is_used_by_its_candidates_and_each_is_warned_about_once():
    store = await incumbent.connect("memory:")
    candidate = await store.campaign("jobs", name="a", **FAST)
    with warned() as texts:
        del store
    assert texts == []
    with warned() as texts:
        del candidate
    assert sorted(texts) == [CANDIDATE, "unclosed store"]


def test_for_threads_a_store_is_used_by_its_candidates_and_each_is_warned_about_once():
    store = sync.connect("memory:")
    candidate = store.campaign("jobs", name="a", **FAST)
    with warned() as texts:
        del store
    assert texts == []
    with warned() as texts:
        del candidate
    assert sorted(texts) == [CANDIDATE, "unclosed store"]


async def test_an_iterator_over_terms_or_observations_uses_what_it_came_from(store):
    candidate = await store.campaign("jobs", name="a", **FAST)
    terms = candidate.terms()
    with warned() as texts:
        del candidate
    assert texts == [] and (await soon(terms.__anext__())).is_current()
    with warned() as texts:
        del terms
    assert texts == [CANDIDATE]
    other = await incumbent.connect("memory:")
    observer = other.observe("jobs")
    with warned() as texts:
        del other
    assert texts == []
    with warned() as texts:
        del observer
    assert texts == ["unclosed store"]


async def test_closed_stores_and_candidates_are_not_warned_about():
    with warned() as texts:
        async with incumbent.connect("memory:") as store:
            async with store.campaign("jobs", name="a", **FAST):
                pass
            # The store closes it.
            candidate = await store.campaign("others", name="a", **FAST)
        del candidate, store
        store = await incumbent.connect("memory:")
        candidate = await store.campaign("jobs", name="a", drain=60, **FAST)
        async with await soon(candidate.next_term()):
            closing = asyncio.create_task(candidate.close())
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.wait([closing])
            del candidate, closing
        await store.close()
        del store
        assert await incumbent.run("memory:", "jobs", lambda term: asyncio.sleep(0, 7), **FAST) == 7
        assert sync.run("memory:", "jobs", lambda term: 7, **FAST) == 7
    assert texts == []


async def test_a_close_that_is_out_of_time_was_a_close():
    with warned() as texts:
        store = sync.connect("memory:")
        candidate = store.campaign("jobs", name="a", drain=60, **FAST)
        term = candidate.next_term(TIMEOUT)
        hold = term._native.hold()
        with pytest.raises(incumbent.TimedOutError):
            candidate.close(timeout=0.01)
        del candidate, term
        hold.release()
        store.close(TIMEOUT)
    assert texts == []


def openings(file: Path) -> int:
    """Returns the number of times that this process has a file open."""
    links = []
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return links.count(str(file))


@pytest.mark.skipif(sys.platform != "linux", reason="its own files are seen in /proc")
async def test_a_store_that_is_dropped_is_closed(tmp_path):
    file = tmp_path.resolve() / "elections.db"
    await incumbent.init(f"sqlite:{file}")
    store = await incumbent.connect(f"sqlite:{file}")
    assert openings(file) > 0
    with warned() as texts:
        del store
    assert texts == ["unclosed store"]
    until(lambda: openings(file) == 0, "the file is still open")


def test_a_scripted_election_has_nothing_to_close():
    with warned() as texts:
        for election in (scripted_election(), scripted_election_sync()):
            election.acquire()
            del election
    assert texts == []


def test_the_warning_names_the_line_that_opened_it():
    tracemalloc.start(25)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            store = sync.connect("memory:")
            del store
            gc.collect()
        lines = [str(frame) for frame in tracemalloc.get_object_traceback(caught[0].source)]
    finally:
        tracemalloc.stop()
    assert len(caught) == 1 and any(line.startswith(__file__) for line in lines)


LEFT_OPEN = """
import sys, incumbent, incumbent.sync
store = incumbent.sync.connect("memory:")
candidate = store.campaign("jobs", preset="test", lease=60, splay=0)
candidate.next_term(60)
print("leads")
"""

FORKS = """
import gc, os
with incumbent.sync.connect("memory:") as mine:
    theirs = mine.campaign("others", preset="test", lease=60, splay=0)
    if os.fork() == 0:
        del mine, theirs, store, candidate
        gc.collect()
        os._exit(0)
    print("the child's code", os.waitstatus_to_exitcode(os.wait()[1]))
    theirs.close()
"""


def test_a_process_that_exits_closes_everything_and_warns_of_nothing(python):
    # Each warning is an error, which Python prints where no caller can catch it.
    assert python(LEFT_OPEN).ended() == (0, "leads\n", "")


def test_a_forked_child_has_nothing_to_close(python):
    process = python(LEFT_OPEN.replace("import sys", "import warnings; warnings.simplefilter('ignore', DeprecationWarning); import sys") + FORKS)
    assert process.ended() == (0, "leads\nthe child's code 0\n", "")
