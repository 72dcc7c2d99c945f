"""What the programs of this folder share: where the election is, and the line that they write while they are at work."""

from __future__ import annotations

import os
import time
from typing import Protocol

STORE = os.environ["ELECTIONS"]
ELECTION = os.environ["ELECTION"]
PAUSE = 0.05
"""The seconds between two steps of the work."""


class Term(Protocol):
    token: object

    def is_current(self) -> bool: ...


def step(term: Term) -> bool:
    """Writes a line, if the term is current: it was, at the time that was read before."""
    at = time.monotonic()
    if not term.is_current():
        return False
    write(str(term.token), at)
    return True


def write(token: str, at: float) -> None:
    line = f"work {token} {os.getpid()} {at:.9f}\n"
    # The file is opened for each line, because processes fork. A single call writes the whole line.
    file = os.open(os.environ["WORK"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)
