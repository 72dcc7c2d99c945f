"""A Django management command that works in one of any number of processes.

Save it as `management/commands/relay.py` of an application, and run it on every host:

    python manage.py relay sqlite:elections.db

It stops gracefully on SIGTERM and Ctrl-C, and another process takes over at once.
"""

from typing import Any

from django.contrib.sessions.models import Session
from django.core.management.base import BaseCommand, CommandParser
from django.db import close_old_connections
from django.utils import timezone

import incumbent.sync


class Command(BaseCommand):
    help = "Deletes expired sessions, in one process at a time."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("store", help="the URL of the elections")

    def handle(self, *args: Any, store: str, **options: Any) -> None:
        incumbent.sync.run(store, "expired-sessions", self.lead)

    def lead(self, term: incumbent.sync.Term) -> None:
        """The work of one term."""
        self.stdout.write(f"leading with token {term.token}")
        while term.is_current() and not term.is_draining:
            # A command that runs for days must, like a request, drop connections that the database has closed.
            close_old_connections()
            count, _ = Session.objects.filter(expire_date__lt=timezone.now()).delete()
            self.stdout.write(f"deleted {count}")
            try:
                term.draining(timeout=1)
            except incumbent.TimedOutError:
                continue
        self.stdout.write("finished")
