"""A management command of Django that works in one of any number of processes."""

from typing import Any

import work
from incumbent.django import LeaderCommand

import incumbent.sync


class Command(LeaderCommand):
    election = work.ELECTION

    def lead(self, term: incumbent.sync.Term, **options: Any) -> None:
        is_over = False
        while not is_over and work.step(term):
            is_over = self.wait(term, work.PAUSE)
