"""Runs APScheduler's jobs in one of any number of processes.

    python apscheduler_jobs.py sqlite:elections.db

Start it twice and stop the leader with SIGTERM or Ctrl-C: the other takes over at once.
"""

import sys

from apscheduler.schedulers.background import BackgroundScheduler

import incumbent.sync


def report(term: incumbent.sync.Term) -> None:
    # A thread cannot be stopped from outside: a job asks, before each step, whether its term still lasts.
    term.check()
    # Send the token with every request, and let the resource refuse a smaller one than it has seen.
    print("the job runs with token", term.token, flush=True)


def lead(term: incumbent.sync.Term) -> None:
    """The work of one term: a scheduler, which starts with it and stops before another process may lead."""
    print("leading with token", term.token, flush=True)
    scheduler = BackgroundScheduler()
    scheduler.add_job(report, "interval", seconds=1, args=[term])
    scheduler.start()
    # Returns when this process is stopped, resigns, or no longer leads.
    term.draining()
    # Waits for running jobs; the lease is held meanwhile, up to the drain time.
    scheduler.shutdown()
    print("the last job is done", flush=True)


if __name__ == "__main__":
    incumbent.sync.run(sys.argv[1] if len(sys.argv) > 1 else "memory:", "jobs", lead)
