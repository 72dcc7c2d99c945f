"""Runs a job every second, on one of however many processes are started.

    python cron_runner.py sqlite:elections.db

Start it twice and stop the one that works with SIGTERM or Ctrl-C: the other continues at once. Kill it instead, and the
other continues when the lease is over.
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
    # A job that has begun is finished when the process is stopped, and only then may another candidate lead.
    asyncio.run(incumbent.run(url, "cron", run_jobs, cancel_on_stop=False))
