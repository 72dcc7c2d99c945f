"""What is logged goes to the logger ``incumbent``; nothing is shown unless the program asks for it."""

from __future__ import annotations

import logging

from incumbent import _incumbent

logger = logging.getLogger("incumbent")
logger.addHandler(logging.NullHandler())


def _emit(level: int, target: str, message: str, fields: list[tuple[str, str]]) -> None:
    ours = target.split("::")[0].startswith("incumbent")
    to = logger if ours else logger.getChild(target.split("::")[0].replace("async_", ""))
    if to.isEnabledFor(level):
        about = " ".join(f"{name}={value}" for name, value in fields)
        shown = f"{message} ({about})" if about else message
        to.log(level, "%s", shown, extra={"incumbent": dict(fields)})
    refresh()


def refresh() -> None:
    """Has the compiled part log what the logger is enabled for, and nothing else."""
    _incumbent.set_log_threshold(min(logger.getEffectiveLevel(), 255))


def start() -> None:
    """Begins to forward what is logged; done when the first store is opened."""
    _incumbent.forward_logs(_emit)
    refresh()
