"""Errors and settings: one class for each kind, with its code and its cause."""

from __future__ import annotations

import pickle
from datetime import timedelta
from pathlib import Path

import pytest
from support import FAST, soon

import incumbent
from incumbent import _incumbent, errors, sync
from incumbent._types import Reason, State


def test_every_code_of_the_core_has_exactly_one_class():
    assert list(errors._CLASSES) == [code for code, _ in _incumbent.CODES]
    for code, is_temporary in _incumbent.CODES:
        kind = errors._CLASSES[code]
        assert (kind.code, kind.is_temporary) == (code, is_temporary), code
        assert issubclass(kind, incumbent.IncumbentError) and kind.__doc__
        assert getattr(incumbent, kind.__name__) is kind


def test_every_reason_and_state_of_the_core_has_a_name_here():
    assert [reason.value for reason in Reason] == [code for code, _, _ in _incumbent.REASONS]
    assert [reason.may_drain for reason in Reason] == [drains for _, drains, _ in _incumbent.REASONS]
    assert [state.value for state in State] == _incumbent.STATES


def test_an_error_has_its_causes():
    error = errors._make("STORE_UNAVAILABLE", "the store does not answer", ["connection refused", "errno 111"], None)
    assert isinstance(error, incumbent.StoreUnavailableError) and isinstance(error, ConnectionError)
    assert str(error.__cause__) == "connection refused"
    assert str(error.__cause__.__cause__) == "errno 111"


async def test_a_name_that_is_no_unicode_is_refused_as_it_would_become_another(store):
    async with store.campaign("jobs", **FAST) as candidate:
        with pytest.raises(incumbent.InvalidSettingError, match=r"name is 'a\\ud800', and must be"):
            await store.campaign("jobs", name="a\ud800")
        for call in (store.leader, store.candidates, store.campaign, candidate.hand_over):
            with pytest.raises(incumbent.InvalidNameError, match=r"the name 'a\\ud800' is not Unicode"):
                await soon(call("a\ud800"))


def test_errors_and_values_travel_between_processes():
    term_ended = incumbent.TermEnded(Reason.DELETED)
    for value in [
        term_ended,
        incumbent.ClosedError("closed"),
        incumbent.Token(1, 2),
        incumbent.Leader("a", 3, None, [("k", "v")]),
        incumbent.StateChanged(State.LEADING),
    ]:
        copy = pickle.loads(pickle.dumps(value))
        assert type(copy) is type(value) and str(copy) == str(value)
    assert pickle.loads(pickle.dumps(term_ended)).reason is Reason.DELETED


@pytest.mark.parametrize(
    ("url", "settings", "kind", "says"),
    [
        ("redis://localhost", {}, incumbent.InvalidUrlError, "use one of memory:"),
        ("nats://localhost/B?credz=x", {}, incumbent.InvalidUrlError, "credz"),
        ("memory:n\n", {}, incumbent.InvalidUrlError, r"the store's URL ends in the character '\\n': leave out"),
        ("sqlite:e.db ", {"poll": 0.01}, incumbent.InvalidUrlError, 'path is "e.db ", and must be free of'),
        ("nats://h/B", {"domain": "hub\n"}, incumbent.InvalidUrlError, r'domain is "hub\\n"'),
        ('"memory:"', {}, incumbent.InvalidUrlError, "the store's URL is in quotes"),
        ("sqlite:e.db", {"pol": 1}, incumbent.InvalidSettingError, "did you mean poll"),
        ("sqlite:e.db", {"poll": "fast"}, incumbent.InvalidSettingError, "a number of seconds or a timedelta"),
        ("memory:", {"fail_fast": 1}, incumbent.InvalidSettingError, "true or false"),
    ],
)
def test_an_impossible_store_is_refused_at_the_call(url, settings, kind, says):
    with pytest.raises(kind, match=says):
        incumbent.connect(url, **settings)
    with pytest.raises(kind, match=says):
        sync.connect(url, **settings)


def test_a_file_that_is_not_there_and_not_to_be_made(tmp_path):
    with pytest.raises(incumbent.NotFoundError):
        sync.connect(f"sqlite:{tmp_path}/none.db", create=False)


def test_a_server_that_does_not_answer_is_unreachable_and_says_why():
    with pytest.raises(incumbent.StoreUnavailableError) as refused:
        sync.connect("nats://127.0.0.1:1/ELECTIONS", fail_fast=True)
    assert refused.value.is_temporary
    causes = []
    cause = refused.value.__cause__
    while cause is not None:
        causes.append(str(cause))
        cause = cause.__cause__
    assert causes, "nothing says why"


def test_credentials_that_cannot_be_read_are_said_and_not_shown(tmp_path):
    with pytest.raises(incumbent.AuthenticationError, match="none.creds"):
        sync.connect("nats://127.0.0.1:1/ELECTIONS", creds=Path(tmp_path) / "none.creds", fail_fast=True)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"leese": 3}, "did you mean lease"),
        ({"lease": -1}, "lease is -1, and must be a number of seconds or a timedelta"),
        ({"lease": timedelta(seconds=-1)}, "must be a number of seconds or a timedelta"),
        ({"lease": [1]}, "lease is a list"),
        ({"name": 7}, "name is 7, and must be a string"),
        ({"preset": "slow"}, "standard"),
        ({"drain_time": "later"}, 'drain_time is "later", and must be a number of seconds'),
        ({"metadata": {"a": 1}}, 'metadata\\["a"\\] is 1'),
        ({"backoff": object()}, "backoff is <object"),
    ],
)
async def test_a_setting_is_refused_with_what_is_accepted(store, settings, says):
    with pytest.raises(incumbent.InvalidSettingError, match=says):
        store.campaign("jobs", **settings)


async def test_settings_that_do_not_fit_together_are_refused_when_the_campaign_begins(store):
    with pytest.raises(incumbent.InvalidSettingError, match=r"lease is 1 \(1s\), and must be at least 5s"):
        await store.campaign("jobs", lease=1)
    with pytest.raises(incumbent.InvalidNameError):
        await store.campaign("", name="a")
    with pytest.raises(TypeError, match="drain_time"):
        store.campaign("jobs", drain=3, drain_time=4)


async def test_settings_are_given_as_python_has_them(store):
    settings = {
        "lease": timedelta(seconds=20),
        "drain": "5s",
        "splay": 0,
        "backoff": [0.1, timedelta(seconds=1)],
        "win_delay": "cautious",
        "drift_ppm": 5000,
        "metadata": {"address": "10.0.0.7"},
        "skew": None,
    }
    async with store.campaign("jobs", **settings) as candidate:
        term = candidate.events()
        assert term is not None and candidate.state.value in _incumbent.STATES


async def test_the_default_name_contains_host_and_process(store):
    import os

    async with store.campaign("jobs", **FAST) as candidate:
        assert candidate.name.endswith(f"-{os.getpid()}")


async def test_a_text_that_is_no_token_is_refused():
    for text in ["", "1-2", "+000000000000001-0000000000000002", "0" * 33]:
        with pytest.raises(ValueError, match="is not a fencing token"):
            incumbent.Token.parse(text)


async def test_values_do_not_change_and_show_what_they_are():
    leader = incumbent.Leader("a")
    with pytest.raises(AttributeError):
        leader.name = "b"
    assert repr(incumbent.LeaderChanged(leader)) == "LeaderChanged(leader=Leader(name='a', revision=0, metadata={}))"
    assert leader == incumbent.Leader("a") and leader != incumbent.Leader("b")
    assert len({leader, incumbent.Leader("a")}) == 1


async def test_the_store_says_no_when_it_is_full_of_permission(faulty_store):
    store, faults = await faulty_store()
    faults.deny_writes("no permission to publish")
    async with store.campaign("jobs", **FAST) as candidate:
        events = candidate.events()
        while not isinstance(one := await soon(events.__anext__()), incumbent.Warning):
            pass
        assert one.code == "PERMISSION_DENIED" and "no permission" in one.message
        faults.allow_writes()
        await soon(candidate.next_term())
    await store.close()
