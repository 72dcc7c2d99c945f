"""A management command of Django that works on one of however many processes run it.

::

    # management/commands/relay.py of an application
    from incumbent.django import LeaderCommand

    class Command(LeaderCommand):
        help = "Relays the outbox, in one process at a time."

        def lead(self, term, **options):
            while not self.wait(term, 1):
                relay(term.token)

``manage.py relay`` then runs on every host; it stops gracefully on SIGTERM and Ctrl-C. In the settings of the project:

- ``INCUMBENT_STORE``: the URL of the elections, unless ``--store`` has it
- ``INCUMBENT_SETTINGS``: a dict, keywords of :meth:`incumbent.sync.Store.campaign`; none by default
- ``INCUMBENT_STORE_SETTINGS``: a dict, keywords of :func:`incumbent.sync.connect`; none by default
"""

from __future__ import annotations

from typing import Any

from django.conf import settings  # type: ignore[import-untyped, import-not-found, unused-ignore]
from django.core.management.base import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
    BaseCommand,
    CommandError,
)
from django.db import close_old_connections  # type: ignore[import-untyped, import-not-found, unused-ignore]

import incumbent.sync
from incumbent.errors import TimedOutError

__all__ = ["LeaderCommand"]


class LeaderCommand(BaseCommand):  # type: ignore[misc, unused-ignore]
    """A command whose :meth:`lead` runs while this process leads."""

    election: str | None = None
    """The key of the election; the command's name by default."""

    def lead(self, term: incumbent.sync.Term, **options: Any) -> Any:
        """The work of one term, with the command's options. When it returns before the term drains, the command ends; when
        it raises, another process may lead, and the command fails with that error."""
        raise NotImplementedError

    def wait(self, term: incumbent.sync.Term, seconds: float) -> bool:
        """Waits between two steps of the work, and returns whether it should finish now: the term drains, or has ended.

        Closes database connections that are too old, as Django does after a request."""
        close_old_connections()
        try:
            term.draining(timeout=seconds)
        except TimedOutError:
            return not term.is_current()
        return True

    def add_arguments(self, parser: Any) -> None:
        """Adds ``--store``; a command with arguments of its own calls it."""
        parser.add_argument("--store", help="the URL of the elections; INCUMBENT_STORE of the settings by default")

    def handle(self, *args: Any, **options: Any) -> None:
        """Campaigns until the work is done, or the command is stopped."""
        store = options.get("store") or getattr(settings, "INCUMBENT_STORE", None)
        if not store:
            message = "no store: set INCUMBENT_STORE in the settings, or give --store"
            raise CommandError(message)
        incumbent.sync.run(
            store,
            self.election or type(self).__module__.rpartition(".")[2],
            lambda term: self.lead(term, **options),
            store_settings=getattr(settings, "INCUMBENT_STORE_SETTINGS", None),
            **getattr(settings, "INCUMBENT_SETTINGS", {}),
        )
