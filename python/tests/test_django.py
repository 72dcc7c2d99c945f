"""`incumbent.django`: a management command that works on one of many processes. `test_examples` runs one on a database."""

from __future__ import annotations

import pytest

BEGIN = """
import sys
from django.conf import settings
settings.configure(**eval(sys.argv[1]))
import django
django.setup()
from django.core.management import CommandError, call_command
import incumbent.django

class Command(incumbent.django.LeaderCommand):
    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("--count", type=int, default=3)

    def lead(self, term, count, **options):
        waited = [self.wait(term, 0.001) for _ in range(count)]
        self.stdout.write(f"{term.election} {waited}")
        term.fail()
        term.ended()
        self.stdout.write(f"{self.wait(term, 60)}")
        raise OSError("no disk")

"""
CAMPAIGN = '{"preset": "test", "lease": 60, "splay": 0}'


def test_the_settings_name_the_store_and_the_work_gets_the_options_and_its_error_is_the_commands(python):
    code = BEGIN + """
Command.election = "relay"
try:
    call_command(Command(), count=2)
except OSError as error:
    print(error)
"""
    settings = f'{{"INCUMBENT_STORE": "memory:", "INCUMBENT_SETTINGS": {CAMPAIGN}}}'
    assert python(code, settings).ended() == (0, "relay [False, False]\nTrue\nno disk\n", "")


@pytest.mark.parametrize("module", ["relay", "shop.management.commands.relay"])
def test_the_election_is_named_after_the_command(python, module):
    code = BEGIN + f"""
Command.__module__ = {module!r}
try:
    call_command(Command(), store="memory:")
except OSError:
    pass
"""
    settings = f'{{"INCUMBENT_SETTINGS": {CAMPAIGN}}}'
    assert python(code, settings).ended() == (0, "relay [False, False, False]\nTrue\n", "")


def test_without_a_store_the_command_says_where_to_set_it(python):
    code = BEGIN + """
try:
    call_command(Command())
except CommandError as error:
    print(error)
"""
    assert python(code, "{}").ended() == (0, "no store: set INCUMBENT_STORE in the settings, or give --store\n", "")
