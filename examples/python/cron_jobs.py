"""Writes a report at the times of a cron expression, on one of however many processes are started; none is written twice.

    python cron_jobs.py sqlite:elections.db reports.db "30 2 * * *"

A time that passed while no process led is caught up by the next leader: the latest, however many they were. The database
knows which was written last.
"""

import sqlite3
import sys
from contextlib import closing
from datetime import datetime
from typing import Optional

import incumbent.sync
from incumbent.cron import Cron

SCHEMA = "CREATE TABLE IF NOT EXISTS reports (at TEXT PRIMARY KEY, token TEXT NOT NULL, skipped INTEGER NOT NULL)"


def last_report(database: sqlite3.Connection) -> Optional[datetime]:
    (at,) = database.execute("SELECT max(at) FROM reports").fetchone()
    return at and datetime.fromisoformat(at)


def main(url: str, path: str, expression: str) -> None:
    cron = Cron(expression)

    def work(term: incumbent.sync.Term) -> None:
        print("leading with token", term.token, flush=True)
        with closing(sqlite3.connect(path, timeout=60)) as database:
            database.execute(SCHEMA)
            for tick in cron.ticks(term, last=last_report(database)):
                # The report and its time in one transaction: a second report of the same time is refused.
                with database:
                    row = (tick.at.isoformat(), str(term.token), len(tick.skipped))
                    database.execute("INSERT INTO reports VALUES (?, ?, ?)", row)
                print("report of", tick.at.isoformat(), "late" if tick.is_late else "in time", flush=True)

    incumbent.sync.run(url, "reports", work)


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["memory:", "reports.db", "* * * * *"]))
