"""Runs a job every second, on one of however many processes are started.

    python cron_runner.py sqlite:elections.db

Start it twice and stop the one that works with SIGTERM or Ctrl-C: the other continues at once. Kill it instead, and the
other continues when the lease is over.
"""

import asyncio
import signal
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


async def main(url: str) -> None:
    async with await incumbent.connect(url) as store:
        async with store.campaign("cron") as candidate:
            # Closing drains: the term lasts until `run_jobs` has returned, and only then may another candidate lead.
            # The list keeps the task alive, because an event loop holds its tasks weakly.
            closing: list[asyncio.Task[None]] = []
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, lambda: closing.append(loop.create_task(candidate.close())))
            async for term in candidate.terms():
                try:
                    async with term:
                        await run_jobs(term)
                except incumbent.TermEnded as ended:
                    print("no longer the leader:", ended.reason.description, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory:"))
