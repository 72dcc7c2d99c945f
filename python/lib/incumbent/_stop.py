"""The signals that ask a run to stop, and their handlers during the run."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType, TracebackType
from typing import Any

STOP_ON = (signal.SIGINT, signal.SIGTERM)
"""The signals that end a run gracefully, unless others are given."""

SAME_REQUEST = 1.0
"""The seconds within which a repeated signal counts as the same request: GNU's ``timeout`` sends two. Any other ends
the process."""


class StopSignals:
    """Calls a function when the process is asked to stop, as a context manager. Off the main thread, where Python
    handles no signals, it does nothing."""

    __slots__ = ("_ask", "_before", "_first", "_numbers")

    def __init__(self, numbers: Iterable[int], ask: Callable[[], object]) -> None:
        self._numbers = [signal.Signals(number) for number in numbers]
        self._ask = ask
        self._before: dict[signal.Signals, Any] = {}
        self._first: tuple[int, float] | None = None

    @property
    def is_asked(self) -> bool:
        """Whether the process was asked to stop."""
        return self._first is not None

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in self._numbers:
                self._before[number] = signal.signal(number, self._received)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            # None for a handler that Python did not install and cannot restore.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _received(self, number: int, frame: FrameType | None) -> None:
        at = time.monotonic()
        if self._first is None:
            self._first = (number, at)
            self._ask()
        elif number != self._first[0] or at - self._first[1] >= SAME_REQUEST:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
