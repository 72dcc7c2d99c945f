"""A Django management command that works in one of any number of processes.

Save it as `management/commands/relay.py` of an application, and run it on every host:

    python manage.py relay --store sqlite:elections.db

It stops gracefully on SIGTERM and Ctrl-C, and another process takes over at once.
"""

from typing import Any

from django.contrib.sessions.models import Session
from django.utils import timezone

import incumbent.sync
from incumbent.django import LeaderCommand


class Command(LeaderCommand):
    help = "Deletes expired sessions, in one process at a time."
    election = "expired-sessions"

    def lead(self, term: incumbent.sync.Term, **options: Any) -> None:
        """The work of one term."""
        self.stdout.write(f"leading with token {term.token}")
        is_over = False
        while not is_over:
            count, _ = Session.objects.filter(expire_date__lt=timezone.now()).delete()
            self.stdout.write(f"deleted {count}")
            # A command that runs for days must do the same as a request: drop connections that the database has closed.
            is_over = self.wait(term, 1)
        self.stdout.write("finished")
