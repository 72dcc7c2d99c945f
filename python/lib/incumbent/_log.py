"""Hands log records to the logger ``incumbent``.

The logger has no handler of its own: if a program does not configure logging, Python prints warnings and errors.
"""

from __future__ import annotations

import logging

from incumbent import _incumbent, _thread

logger = logging.getLogger("incumbent")


def start() -> None:
    """Begins to forward log records. Called when the first store is opened, in a forked child too.

    Records are taken on a Python thread. Another thread would have to create and delete an interpreter state for each
    record, and a fork at that moment would leave the child with a lock that is held forever.
    """
    if _incumbent.keep_logs():
        _thread.start(_forward, "incumbent-log")
    refresh()


def refresh() -> None:
    """Sets the threshold of the compiled part to the level of the logger."""
    _incumbent.set_log_threshold(min(logger.getEffectiveLevel(), 255))


def _forward() -> None:
    while records := _incumbent.take_logs():
        for record in records:
            try:
                _emit(*record)
            except Exception as error:
                _incumbent.report(error, _emit)


def failed(error: BaseException, source: object) -> None:
    """Reports an error of a function of the program, which no caller can catch.

    ``sys.unraisablehook`` gets it, and the logger if logging is configured: otherwise Python would print it twice.
    """
    if logger.hasHandlers():
        shown = getattr(source, "__qualname__", None) or repr(source)
        logger.error("%s failed", shown, exc_info=error)
    _incumbent.report(error, source)


def _emit(level: int, target: str, message: str, fields: list[tuple[str, str]]) -> None:
    ours = target.split("::")[0].startswith("incumbent")
    to = logger if ours else logger.getChild(target.split("::")[0].replace("async_", ""))
    if to.isEnabledFor(level):
        about = " ".join(f"{name}={value}" for name, value in fields)
        shown = f"{message} ({about})" if about else message
        to.log(level, "%s", shown, extra={"incumbent": dict(fields)})
    refresh()
