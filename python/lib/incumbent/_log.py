"""What is logged goes to the logger ``incumbent``; nothing is shown unless the program asks for it."""

from __future__ import annotations

import logging

from incumbent import _incumbent, _thread

logger = logging.getLogger("incumbent")
logger.addHandler(logging.NullHandler())


def start() -> None:
    """Begins to forward what is logged; done when the first store is opened, in a forked child too.

    On a thread that Python made: one that Python does not know would have to make and end a state of the interpreter for
    each record, and a fork at that moment leaves the child with a lock that is held for good.
    """
    if _incumbent.keep_logs():
        _thread.start(_forward, "incumbent-log")
    refresh()


def refresh() -> None:
    """Has the compiled part log what the logger is enabled for, and nothing else."""
    _incumbent.set_log_threshold(min(logger.getEffectiveLevel(), 255))


def _forward() -> None:
    while records := _incumbent.take_logs():
        for record in records:
            try:
                _emit(*record)
            except Exception as error:
                _incumbent.report(error, _emit)


def _emit(level: int, target: str, message: str, fields: list[tuple[str, str]]) -> None:
    ours = target.split("::")[0].startswith("incumbent")
    to = logger if ours else logger.getChild(target.split("::")[0].replace("async_", ""))
    if to.isEnabledFor(level):
        about = " ".join(f"{name}={value}" for name, value in fields)
        shown = f"{message} ({about})" if about else message
        to.log(level, "%s", shown, extra={"incumbent": dict(fields)})
    refresh()
