"""Log records go to `logging`; if the program does not configure it, Python prints warnings and errors."""

from __future__ import annotations

import logging

import pytest
from support import FAST, soon, until

import incumbent


async def test_terms_are_told_to_the_logger_with_what_they_are_about(caplog):
    with caplog.at_level(logging.INFO, logger="incumbent"):
        async with await incumbent.connect("memory:") as store:
            async with store.campaign("logged", name="a", **FAST) as candidate:
                await soon(candidate.next_term())
        ours = lambda: [one for one in caplog.records if getattr(one, "incumbent", {}).get("election") == "logged"]
        until(lambda: len(ours()) >= 2, "nothing is logged")
    assert [record.getMessage().split()[0] for record in ours()] == ["won", "lost:"]
    assert {record.levelno for record in ours()} == {logging.INFO}
    assert {record.name for record in ours()} == {"incumbent"}


def test_without_a_configuration_errors_are_shown_and_nothing_below_a_warning(python):
    code = """
import incumbent.sync, incumbent.testing
with incumbent.sync.connect("memory:"):
    pass
store, faults = incumbent.testing.faulty_store_sync()
faults.deny_writes("no permission")
with store, store.campaign("jobs", preset="test", lease=60, splay=0) as candidate:
    for event in candidate.events(timeout=60):
        if isinstance(event, incumbent.Warning):
            break
    print(event.code)
"""
    code_, output, errors = python("import incumbent\n" + code).ended()
    assert (code_, output) == (0, "PERMISSION_DENIED\n")
    assert "no permission" in errors and "won" not in errors


def test_a_program_that_configures_logging_sees_the_error(python):
    code = """
import logging, sys, incumbent.sync, incumbent.testing
logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(name)s %(message)s")
with incumbent.sync.connect("memory:"):
    pass
store, faults = incumbent.testing.faulty_store_sync()
faults.deny_writes("no permission")
with store, store.campaign("jobs", preset="test", lease=60, splay=0) as candidate:
    for event in candidate.events(timeout=60):
        if isinstance(event, incumbent.Warning):
            break
"""
    code_, output, errors = python("import incumbent\n" + code).ended()
    assert (code_, errors) == (0, "")
    assert output.startswith("ERROR incumbent ") and "no permission" in output


def test_a_logging_handler_that_blocks_delays_no_event(python):
    code = """
import asyncio, logging, threading, incumbent

stuck, release = threading.Event(), threading.Event()

class Blocks(logging.Handler):
    def emit(self, record):
        stuck.set()
        release.wait(60)

logging.getLogger("incumbent").addHandler(Blocks())
logging.getLogger("incumbent").setLevel("INFO")

async def main():
    async with await incumbent.connect("memory:") as store:
        async with store.campaign("jobs", preset="test", lease=60, splay=0) as candidate:
            term = await candidate.next_term()
            assert await asyncio.to_thread(stuck.wait, 60)
            await candidate.resign()
            print(term.reason.name, release.is_set())
    release.set()

asyncio.run(main())
"""
    assert python(code).ended() == (0, "RESIGNED False\n", "")


def test_an_error_of_a_callback_is_logged_where_logging_is_configured(scripted_election_sync, caplog, monkeypatch):
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: None)
    election = scripted_election_sync()

    def fail(term):
        raise KeyError("on purpose")

    election.candidate.attach(on_won=fail)
    election.acquire()
    failures = lambda: [one for one in caplog.records if one.name == "incumbent" and one.exc_info]
    until(failures, "nothing is logged")
    (record,) = failures()
    assert "fail failed" in record.getMessage() and record.levelno == logging.ERROR
    assert record.exc_info[0] is KeyError


LATER = """
import incumbent.sync, logging, sys
with incumbent.sync.connect("memory:") as store, store.campaign("jobs", preset="test", lease=60, splay=0) as candidate:
    candidate.next_term(60)
    CONFIGURE
    candidate.resign()
    for event in candidate.events(timeout=60):
        if isinstance(event, incumbent.Won):
            break
"""
SHOWN = 'stream=sys.stdout, format="%(levelname)s %(name)s %(message)s"'


@pytest.mark.parametrize(
    "configure",
    [
        f"logging.basicConfig(level=logging.INFO, {SHOWN})",
        f"logging.basicConfig({SHOWN}); logging.getLogger('incumbent').setLevel('INFO')",
    ],
    ids=["of_the_root", "of_the_logger"],
)
def test_a_level_that_is_set_later_counts_from_then_on(python, configure):
    code, output, errors = python(LATER.replace("CONFIGURE", configure)).ended()
    assert (code, errors) == (0, "")
    # The win may be reported late.
    assert output.splitlines()[-1].startswith(("INFO incumbent lost: ", "INFO incumbent won ")) and "lost: " in output


def test_a_level_that_is_raised_later_counts_too(python):
    configure = f"logging.basicConfig(level='INFO', {SHOWN}); logging.getLogger('incumbent').setLevel('ERROR')"
    assert python(LATER.replace("CONFIGURE", configure)).ended() == (0, "", "")
