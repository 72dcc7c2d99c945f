"""A project of Django in one file, with the application `shop`."""

import sys

import work
from django.conf import settings
from django.core.management import execute_from_command_line

settings.configure(
    INSTALLED_APPS=["shop"],
    INCUMBENT_STORE=work.STORE,
    INCUMBENT_SETTINGS={"splay": 0},
)
execute_from_command_line(sys.argv)
