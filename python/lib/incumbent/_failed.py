"""Reports an error of a function of the program, which no caller can catch."""

from __future__ import annotations


def failed(error: BaseException, source: object) -> None:
    """Reports it to ``sys.unraisablehook``, and to the logger if logging is configured."""
    # Imported late: logging takes longer to import than this package.
    from incumbent import _log

    _log.failed(error, source)
