"""Relays an outbox, on threads: rows of a database that must be sent on in order, by one process at a time.

    python outbox_relay.py sqlite:elections.db outbox.db

The election alone cannot stop a leader that is paused between a check and the write that follows it. The database can:
it remembers the largest fencing token that has written, and refuses a smaller one.
"""

import sqlite3
import sys
from contextlib import closing
from typing import Optional

import incumbent.sync

SCHEMA = """
CREATE TABLE IF NOT EXISTS outbox (id INTEGER PRIMARY KEY, body TEXT NOT NULL, sent_with TEXT);
CREATE TABLE IF NOT EXISTS fence (one INTEGER PRIMARY KEY CHECK (one = 1), token TEXT NOT NULL);
INSERT OR IGNORE INTO fence VALUES (1, '');
"""


class Fenced(Exception):
    """A later leader has already written."""


def send_next(database: sqlite3.Connection, token: str) -> Optional[int]:
    """Sends the oldest unsent row, and returns its number.

    One transaction compares the token and marks the row. A crash between sending and committing sends the row again, so
    the receiver should recognise it by its number.
    """
    with database:
        database.execute("BEGIN IMMEDIATE")
        # Tokens as text sort like tokens.
        if database.execute("UPDATE fence SET token = ?1 WHERE token <= ?1", (token,)).rowcount == 0:
            raise Fenced(f"the database has seen a larger token than {token}")
        select = "SELECT id, body FROM outbox WHERE sent_with IS NULL ORDER BY id LIMIT 1"
        row = database.execute(select).fetchone()
        if row is None:
            return None
        number, body = row
        print(f"message {number}: {body}", flush=True)  # a placeholder for the message broker
        database.execute("UPDATE outbox SET sent_with = ? WHERE id = ?", (token, number))
        return int(number)


def main(url: str, path: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(SCHEMA)
        with incumbent.sync.connect(url) as store, store.campaign("outbox") as candidate:
            for term in candidate.terms():
                with term:
                    print("leading with token", term.token, flush=True)
                    # A thread cannot be cancelled from outside, so the work checks before each step.
                    while term.is_current() and not term.is_draining:
                        if send_next(database, str(term.token)) is not None:
                            continue
                        try:
                            term.draining(timeout=0.1)
                        except incumbent.TimedOutError:
                            continue


if __name__ == "__main__":
    try:
        main(*(sys.argv[1:] or ["memory:", "outbox.db"]))
    except Fenced as error:
        sys.exit(f"giving up: {error}")
