"""Runs a job every second, in one of any number of processes.

    python cron_runner.py sqlite:elections.db

Start it twice and stop the leader with SIGTERM or Ctrl-C: the other takes over at once. Kill the leader instead, and
the other takes over when the lease is over.
"""

import asyncio
import sys

import incumbent


async def run_jobs(term: incumbent.Term) -> None:
    """The work of one term. It is cancelled, wherever it waits, the moment the term ends."""
    print("leading with token", term.token, flush=True)
    while not term.is_draining:
        print("the job runs", flush=True)
        try:
            # Sleeps for a second, and returns at once when the candidate is leaving.
            await asyncio.wait_for(term.draining(), timeout=1)
        except asyncio.TimeoutError:
            continue
    print("the last job is done", flush=True)


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "memory:"
    # When the process is stopped, a running job finishes first, and only then may another candidate lead.
    asyncio.run(incumbent.run(url, "cron", run_jobs, cancel_on_stop=False))
