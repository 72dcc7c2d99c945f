"""Every program of the READMEs runs as printed there, except for the address of the server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from support import free_port, until

PACKAGE = Path(__file__).resolve().parents[1]
PROGRAMS = [
    part.split("```")[0]
    for readme in (PACKAGE / "README.md", PACKAGE.parent / "README.md")
    for part in readme.read_text(encoding="utf-8").split("```python\n")[1:]
]


def kind(program: str) -> str:
    if program.startswith(("# gunicorn.conf.py", "# service.py")):
        return "prefork"
    if "sync.init(" in program:
        return "preparation"
    if "FastAPI(" in program:
        return "service"
    return "test" if "def test_" in program else "worker"


def of(wanted: str) -> list[object]:
    return [
        pytest.param(program, id=f"{wanted}_{number}")
        for number, program in enumerate(PROGRAMS)
        if kind(program) == wanted
    ]


@pytest.fixture
def at(nats_url, cli, request):
    """The program, on a bucket of its own on the test server."""
    url = f"{nats_url}/README{abs(hash(request.node.name))}"
    subprocess.run([cli, "init", "--store", url, "--lease", "10s", "--new"], check=True, capture_output=True)
    return lambda program: program.replace("nats://localhost:4222/ELECTIONS", url)


def test_the_first_page_leads_at_once_in_a_store_that_its_command_made(nats_url, python):
    page = (PACKAGE.parent / "README.md").read_text(encoding="utf-8").replace(
        "nats://localhost:4222/ELECTIONS", f"{nats_url}/FIRST"
    )
    once = re.search(r"/python -c '([^']+)'", page)[1]
    [worker] = (part.split("```")[0] for part in page.split("```python\n")[1:])
    assert python(once).ended() == (0, "", "")
    begin = time.monotonic()
    python(worker).expect("leading with token")
    # Half of the lease of a new bucket: without the command it would take a whole lease.
    assert time.monotonic() - begin < 15


def store_of(program: str) -> str:
    """The store that a program of the README connects to."""
    return re.search(r'"(nats://[^"]+)"', program)[1]


@pytest.mark.parametrize("program", of("preparation"))
def test_a_store_is_prepared_once(nats_url, python, program):
    program = program.replace("nats://localhost:4222/ELECTIONS", f"{nats_url}/prepared")
    assert [python(program).ended() for _ in range(2)] == [(0, "new\n", ""), (0, "there already\n", "")]


def evict(cli: Path, program: str, election: str) -> None:
    """Takes the lease of a program of the README away."""
    evicted = [cli, "evict", "--store", store_of(program), "--key", election, "--yes"]
    subprocess.run(evicted, check=True, capture_output=True)


@pytest.mark.parametrize("program", of("worker"))
def test_a_worker_leads_and_leads_again_after_its_lease_was_taken_away_and_ends_well(python, at, cli, program):
    program = at(program)
    process = python(program)
    said = process.expect("leading")
    if "while " in program:
        evict(cli, program, "billing-cron")
        # The program may print the token of the first term again before it notices the new term.
        while process.expect("leading") == said:
            pass
    if "incumbent.run(" in program:
        process.popen.send_signal(signal.SIGTERM)
        code, _, errors = process.ended()
        assert (code, errors) == (0, "")
    elif "while True" in program or "for term in candidate.terms()" in program:
        process.popen.send_signal(signal.SIGINT)
        _, _, errors = process.ended()
        # The output of Ctrl-C in any program that does not catch it.
        assert errors.strip().endswith("KeyboardInterrupt"), errors
    else:
        code, _, errors = process.ended()
        assert (code, errors) == (0, "")


@pytest.mark.parametrize("program", of("service"))
def test_a_service_serves_who_leads_and_leads_again_after_its_lease_was_taken_away_and_ends_well(
    at, tmp_path, cli, program
):
    program = at(program)
    (tmp_path / "service.py").write_text(program)
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port), "--log-level", "warning"]
    server = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, env={**os.environ})

    def leads():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/leader", timeout=5) as answer:
                said = json.load(answer)
        except (urllib.error.URLError, OSError):
            assert server.poll() is None, server.communicate()[1]
            return None
        return said if said["me"] else None

    def sent():
        """Returns the answer of the request that only the leader takes; None if it does not lead."""
        request = urllib.request.Request(f"http://127.0.0.1:{port}/invoices", method="POST")
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return json.load(answer)
        except (urllib.error.URLError, OSError):
            assert server.poll() is None, server.communicate()[1]
            return None

    try:
        said = until(leads, "it never leads")
        assert said["leader"].endswith(f"-{server.pid}")
        first = until(sent, "it takes no request")
        evict(cli, program, "relay")
        until(lambda: sent() not in (None, first), "it does not lead again")
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=60)
        assert b"Traceback" not in errors.replace(b"KeyboardInterrupt", b"") or b"KeyboardInterrupt" in errors
    finally:
        server.kill()
        server.wait()


def asked(port):
    """Returns the answer of one of the workers; None if none answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            return json.load(answer)
    except (urllib.error.URLError, OSError):
        return None


@pytest.mark.timeout(240)
def test_one_worker_of_a_preloaded_gunicorn_leads_and_is_followed_and_its_master_takes_no_part(
    at, cli, tmp_path
):
    conf, service = (program for program in PROGRAMS if kind(program) == "prefork")
    service = at(service)
    (tmp_path / "gunicorn.conf.py").write_text(conf)
    (tmp_path / "service.py").write_text(service)
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "service:app"]
    with open(tmp_path / "log", "wb") as log:
        master = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log)

    def said():
        assert master.poll() is None, (tmp_path / "log").read_text()
        return asked(port)

    def led():
        """Returns the worker of each term so far."""
        lines = (tmp_path / "log").read_text().splitlines()
        return [line.split()[2] for line in lines if line.startswith("leading in")]

    def leader(*before):
        """Returns the worker that says it leads, if it is not one of those before."""
        answer = said()
        return answer["pid"] if answer and answer["me"] and answer["pid"] not in before else None

    try:
        first = until(leader, "no worker leads")
        workers = {}

        def every_worker_sees_the_leader():
            answer = said()
            if answer and answer["leader"]:
                workers[answer["pid"]] = (answer["me"], answer["leader"].endswith(f"-{first}"))
            return len(workers) == 3

        until(every_worker_sees_the_leader, "not all workers see who leads")
        assert master.pid not in workers
        assert workers == {pid: (pid == first, True) for pid in workers}
        os.kill(first, signal.SIGKILL)
        second = until(lambda: leader(first), "no worker leads after one was killed")
        # One that exits cleanly.
        os.kill(second, signal.SIGTERM)
        third = until(lambda: leader(first, second), "no worker leads after one ended")
        assert master.pid not in (first, second, third)
        terms = len(led())
        evict(cli, service, "relay-jobs")
        until(lambda: len(led()) > terms, "no worker leads after the lease was taken away")
        master.send_signal(signal.SIGTERM)
        assert master.wait(60) == 0
        said_in_the_end = (tmp_path / "log").read_text()
        assert "Traceback" not in said_in_the_end, said_in_the_end
        assert led()[:3] == [str(first), str(second), str(third)]
    finally:
        if master.poll() is None:
            # The workers watch their parent, and end with it.
            master.terminate()
            master.wait(60)


@pytest.mark.parametrize("program", of("test"))
def test_a_test_passes(tmp_path, program):
    (tmp_path / "test_worker.py").write_text(program)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_worker.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=150)


def test_there_are_programs_of_every_kind():
    kinds = [kind(program) for program in PROGRAMS]
    assert kinds.count("worker") >= 4 and kinds.count("service") == 1 and kinds.count("test") == 1
    assert kinds.count("prefork") == 2
