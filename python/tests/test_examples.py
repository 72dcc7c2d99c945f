"""Runs every program of `examples/python` as a process, as its first lines describe."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import urllib.error
import urllib.request
from contextlib import closing

import pytest
from support import ROOT, TIMEOUT, free_port, until

from incumbent import sync

EXAMPLES = ROOT / "examples/python"


@pytest.fixture
def example(python):
    """Starts an example by its name."""
    return lambda name, *arguments: python((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"), *arguments)


def test_the_cron_runner_works_until_it_is_terminated_and_its_successor_leads_at_once(example, sqlite):
    first = example("cron_runner", sqlite)
    first.expect("leading with token")
    first.expect("the job runs")
    second = example("cron_runner", sqlite)
    first.popen.send_signal(signal.SIGTERM)
    first.expect("the last job is done")
    code, _, errors = first.ended()
    assert (code, errors) == (0, "")
    second.expect("leading with token")
    second.expect("the job runs")


def test_the_outbox_relay_sends_in_order_and_is_refused_when_a_larger_token_has_written(
    example, sqlite, tmp_path
):
    path = tmp_path / "outbox.db"
    relay = example("outbox_relay", sqlite, str(path))
    token = relay.expect("leading with token").split()[-1]
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as database:
        database.execute("INSERT INTO outbox (body) VALUES ('first'), ('second')")
        relay.expect("message 1: first")
        relay.expect("message 2: second")
        sent = "SELECT count(*) FROM outbox WHERE sent_with = ?"
        until(lambda: database.execute(sent, (token,)).fetchone() == (2,), "both were sent with the token")
        database.execute("UPDATE fence SET token = ?", ("f" * 33,))
        code, _, errors = relay.ended()
    assert (code, errors) == (1, f"giving up: the database has seen a larger token than {token}\n")


def test_the_observer_prints_the_leader_and_the_vacancy_after_it(example, sqlite):
    runner = example("cron_runner", sqlite)
    runner.expect("leading with token")
    observer = example("observer", sqlite, "cron")
    observer.expect("leader: ")
    runner.popen.send_signal(signal.SIGTERM)
    observer.expect("no leader")


def stopped(process):
    """Ends a process with SIGTERM; returns its code, and its errors."""
    process.popen.send_signal(signal.SIGTERM)
    code, _, errors = process.ended()
    return code, errors


def test_the_beat_of_celery_sends_while_it_leads_and_stops_before_it_leaves(example, sqlite):
    beat = example("celery_beat", sqlite)
    token = beat.expect("sent celery_beat.bill with token")
    second = example("celery_beat", sqlite)
    assert beat.expect("sent celery_beat.bill with token") == token
    assert stopped(beat) == (0, "")
    # The second process need not wait for the lease.
    assert second.expect("sent celery_beat.bill with token") > token
    assert stopped(second) == (0, "")


def test_reports_are_written_at_their_times_and_the_missed_ones_by_the_next_leader_once(example, sqlite, tmp_path):
    path, every_second = tmp_path / "reports.db", "* * * * * *"
    first = example("cron_jobs", sqlite, str(path), every_second)
    first.expect("leading with token")
    first.expect("report of")
    second = example("cron_jobs", sqlite, str(path), every_second)
    assert is_stopped(first)
    second.expect("report of")
    second.expect("report of")
    assert is_stopped(second)
    with closing(sqlite3.connect(path)) as database:
        with database:
            database.execute("UPDATE reports SET at = '2020-01-01T00:00:00+00:00' WHERE at = (SELECT max(at) FROM reports)")
            database.execute("DELETE FROM reports WHERE at > '2020-01-02'")
        # The third process knows of no missed time, but the database does.
        third = example("cron_jobs", sqlite, str(path), "0 0 1 1 *")
        assert third.expect("report of").endswith("-01-01T00:00:00+00:00 late")
        rows = database.execute("SELECT at, skipped FROM reports ORDER BY at").fetchall()
        year = int(rows[1][0][:4])
        assert rows[1:] == [(f"{year}-01-01T00:00:00+00:00", year - 2021)]
    skipped = f"'0 0 1 1 *' skips {year - 2021} of its times, from 2021-01-01T00:00:00+00:00 on, and runs {rows[1][0]}\n"
    assert stopped(third) == (0, skipped)


def is_stopped(process):
    """Ends a process with SIGTERM; returns whether it ends well. On a busy machine it may warn that it skips times."""
    code, errors = stopped(process)
    return code == 0 and all("skips" in line for line in errors.splitlines())


def asked(port, path, method="GET"):
    """Returns the status and the answer of a service; None where it does not answer yet."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except OSError:
        return None


def test_one_process_of_a_service_relays_and_answers_and_another_one_after_it(example, sqlite):
    ports = [free_port(), free_port()]
    first = example("fastapi_service", sqlite, str(ports[0]))
    token = first.expect("relaying with token")
    until(lambda: asked(ports[0], "/leader"), "the service does not answer")
    assert asked(ports[0], "/invoices", "POST") == (200, {"sent_with": token})
    second = example("fastapi_service", sqlite, str(ports[1]))
    leader = until(lambda: (seen := asked(ports[1], "/leader")) and seen[1]["leader"] and seen[1], "it sees no leader")
    assert leader["me"] is False and leader["leader"].endswith(f"-{first.pid}")
    assert asked(ports[1], "/invoices", "POST") == (503, {"detail": f"{leader['leader']} leads"})
    first.popen.send_signal(signal.SIGTERM)
    first.expect("relaying no more")
    assert first.ended()[0::2] == (-signal.SIGTERM, "")
    token = second.expect("relaying with token")
    assert asked(ports[1], "/invoices", "POST") == (200, {"sent_with": token})
    assert stopped(second) == (-signal.SIGTERM, "")


def test_the_jobs_of_apscheduler_run_while_it_leads_and_end_before_it_leaves(example, sqlite):
    jobs = example("apscheduler_jobs", sqlite)
    token = jobs.expect("leading with token")
    for _ in range(2):
        assert jobs.expect("the job runs with token") == token
    jobs.popen.send_signal(signal.SIGTERM)
    jobs.expect("the last job is done")
    assert jobs.ended()[::2] == (0, "")


SETTINGS = """
INSTALLED_APPS = ["django.contrib.sessions", "shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.db"}}
SECRET_KEY = "of the tests"
USE_TZ = True
"""
FILLED = """
import os, sys
os.chdir(sys.argv[1])
sys.path.insert(0, sys.argv[1])
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
import django
django.setup()
from datetime import timedelta
from django.contrib.sessions.models import Session
from django.core.management import call_command, execute_from_command_line
from django.utils import timezone
call_command("migrate", verbosity=0)
for number, hours in enumerate((-2, -1, 1)):
    Session.objects.create(session_key=str(number), session_data="", expire_date=timezone.now() + timedelta(hours=hours))
sys.stdout.reconfigure(line_buffering=True)
execute_from_command_line(["manage.py", "relay", "--store", sys.argv[2]])
print("left", *Session.objects.values_list("session_key", flat=True))
"""


def test_a_management_command_of_django_works_while_it_leads_and_ends_well(python, sqlite, tmp_path):
    commands = tmp_path / "shop/management/commands"
    commands.mkdir(parents=True)
    for package in (commands, commands.parent, commands.parent.parent):
        (package / "__init__.py").touch()
    (commands / "relay.py").write_text((EXAMPLES / "django_command.py").read_text(encoding="utf-8"))
    (tmp_path / "settings.py").write_text(SETTINGS)
    command = python(FILLED, str(tmp_path), sqlite)
    command.expect("leading with token")
    assert [command.expect("deleted") for _ in range(2)] == ["2", "0"]
    command.popen.send_signal(signal.SIGTERM)
    command.expect("finished")
    assert command.expect("left") == "2"
    assert command.ended()[::2] == (0, "")


LABELS = {"election": "report", "candidate": "worker-7"}


@pytest.fixture
def resigned(cli, sqlite):
    """Has the leader hand over to a candidate that leaves at once, so that its next term is its second."""

    def resign():
        with sync.connect(sqlite) as store, store.campaign("report", name="worker-8", splay=0) as other:
            command = [cli, "hand-over", "--store", sqlite, "report", "--to", "worker-8", "--yes"]
            subprocess.run(command, check=True, capture_output=True)
            other.next_term(TIMEOUT)

    return resign


def test_the_metrics_for_prometheus_count_the_terms_of_a_candidate(example, sqlite, resigned):
    from prometheus_client.parser import text_string_to_metric_families

    process = example("prometheus_metrics", sqlite, "0")
    url = process.line()

    def metrics(name=None):
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        samples = [sample for family in families for sample in family.samples]
        return [
            (sample.name, sample.labels, sample.value)
            for sample in samples
            if sample.name.startswith("incumbent_") and not sample.name.endswith("_created") and name in (None, sample.name)
        ]

    until(lambda: metrics("incumbent_terms_total") == [("incumbent_terms_total", LABELS, 1.0)], "no term is counted")
    [(_, labels, first)] = metrics("incumbent_token_sequence")
    assert labels == LABELS and metrics("incumbent_leader") == [("incumbent_leader", LABELS, 1.0)]
    resigned()
    until(lambda: metrics("incumbent_terms_total") == [("incumbent_terms_total", LABELS, 2.0)], "no second term")
    seen = metrics()
    left = [value for name, _, value in seen if name == "incumbent_lease_remaining_seconds"]
    token = [value for name, _, value in seen if name == "incumbent_token_sequence"]
    assert 0 < left[0] < 60 and token[0] > first
    assert [one for one in seen if one[0] not in ("incumbent_lease_remaining_seconds", "incumbent_token_sequence")] == [
        ("incumbent_terms_total", LABELS, 2.0),
        ("incumbent_terms_ended_total", {**LABELS, "reason": "handed_over"}, 1.0),
        ("incumbent_leader", LABELS, 1.0),
    ]
    assert stopped(process) == (0, "")


def test_the_metrics_of_opentelemetry_count_the_terms_of_a_candidate(example, sqlite, resigned):
    process = example("opentelemetry_metrics", sqlite)

    def exported():
        data = json.loads(process.line())
        found = [scope["metrics"] for resource in data["resource_metrics"] for scope in resource["scope_metrics"]]
        points = {metric["name"]: metric["data"]["data_points"] for metrics in found for metric in metrics}
        return {name: [(point["attributes"], point["value"]) for point in points[name]] for name in points}

    def counted(terms):
        until(lambda: (seen := exported()).get("incumbent.terms") == [(LABELS, terms)] and seen, "no such export")

    counted(1)
    resigned()
    counted(2)
    seen = exported()
    [(about, left)] = seen.pop("incumbent.lease.remaining")
    assert about == LABELS and 0 < left < 60
    assert seen == {
        "incumbent.leader": [(LABELS, 1)],
        "incumbent.terms": [(LABELS, 2)],
        "incumbent.terms.ended": [({**LABELS, "reason": "handed_over"}, 1)],
    }
    assert stopped(process) == (0, "")


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        "apscheduler_jobs",
        "celery_beat",
        "cron_jobs",
        "cron_runner",
        "django_command",
        "fastapi_service",
        "observer",
        "opentelemetry_metrics",
        "outbox_relay",
        "prometheus_metrics",
    }
