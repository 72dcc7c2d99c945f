"""Prints who leads an election, and every change, without taking part.

    python observer.py sqlite:elections.db cron
"""

import asyncio
import sys

import incumbent


async def main(url: str, election: str) -> None:
    async with incumbent.connect(url) as store:
        # The first observation is the current leader.
        async for observation in store.observe(election):
            leader = observation.leader
            print(f"leader: {leader.name}" if leader else "no leader", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*(sys.argv[1:] or ["memory:", "cron"])))
