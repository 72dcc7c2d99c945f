"""Stores are prepared from Python, as by `incumbent init`."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support import TIMEOUT, soon

import incumbent
import incumbent.sync


async def test_a_file_that_is_stated_to_be_new_has_a_leader_at_once(tmp_path):
    url = f"sqlite:{tmp_path}/elections.db"
    made = await incumbent.init(url, new=True)
    assert (made.created, made.never_used, made.lease, made.differences) == (True, True, None, ())
    again = await incumbent.init(url)
    assert (again.created, again.never_used) == (False, True)
    begun = time.monotonic()
    async with await incumbent.connect(url) as store:
        async with store.campaign("jobs", splay=0) as candidate:
            await soon(candidate.next_term())
    assert time.monotonic() - begun < 10, "it waited for a lease, which is 15 s"


async def test_a_bucket_is_made_and_then_found_as_it_is(nats_url):
    url = f"{nats_url}/made"
    with pytest.raises(incumbent.NotFoundError, match=r"`incumbent\.init\(url\)` creates it"):
        await incumbent.connect(url)
    made = await incumbent.init(url, lease="5s", new=True)
    assert (made.created, made.never_used, made.lease) == (True, True, 5.0)
    # A setting that is not given stays as it is.
    assert await incumbent.init(url) == incumbent.InitReport(False, False, True, 5.0, None, ())
    async with await incumbent.connect(url) as store:
        async with store.campaign("jobs", splay=0) as candidate:
            await soon(candidate.next_term())
    with pytest.raises(incumbent.UnsafeStoreError, match="it is not new; leave `new` out"):
        await incumbent.init(url, new=True)


def test_a_bucket_that_differs_is_an_error_and_is_changed_only_when_asked_to(nats_url):
    url = f"{nats_url}/differs"
    incumbent.sync.init(url, lease=5)
    with pytest.raises(incumbent.UnsafeStoreError) as refused:
        incumbent.sync.init(url, lease=10)
    assert str(refused.value) == (
        "the bucket differs from the requested settings: max_age (lease) is 5s, and should be 10s; "
        "to change it, prepare it again with the same settings and `update`"
    )
    changed = incumbent.sync.init(url, lease=10, update=True)
    assert (changed.updated, changed.lease, changed.differences) == (True, 10.0, (("max_age", "5s", "10s"),))


@pytest.mark.parametrize(
    ("url", "settings", "message"),
    [
        ("memory:", {}, "a store of this kind needs no preparation"),
        ("sqlite:FILE", {"own_leases": True}, "`own_leases` is only for NATS buckets, and this is a file: leave it out"),
        ("sqlite:FILE", {"lease": 5}, "`lease` is only for NATS buckets, and this is a file, where each candidate sets its own"),
        ("sqlite:FILE", {"election": "jobs"}, "\"jobs\" is an election, and this store is prepared as a whole"),
        ("sqlite:FILE", {"fresh": True}, 'the preparation of a sqlite: store has no setting "fresh": choose one of new, lease,'),
        ("nats://127.0.0.1:1/B", {"replicas": 2}, "replicas is 2, and must be 1, 3 or 5"),
        ("nats://127.0.0.1:1/B", {"new": "yes"}, 'new is "yes", and must be true or false'),
    ],
)
def test_a_wrong_setting_is_refused_by_its_name(tmp_path, url, settings, message):
    with pytest.raises(incumbent.InvalidSettingError) as refused:
        incumbent.sync.init(url.replace("FILE", str(tmp_path / "e.db")), **settings)
    assert message in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_or_a_server_that_is_not_there_is_an_error_and_no_wait(tmp_path: Path):
    with pytest.raises(incumbent.NotFoundError):
        incumbent.sync.init(f"sqlite:{tmp_path}/none/e.db")
    with pytest.raises(incumbent.StoreUnavailableError):
        incumbent.sync.init("nats://127.0.0.1:1/B", lease=5, replicas=1, timeout=TIMEOUT)
