"""The signals that ask runs to stop, and their handler while there are runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from types import FrameType, TracebackType
from typing import Any

STOP_ON = (signal.SIGINT, signal.SIGTERM)
"""The signals that end a run gracefully, unless others are given."""

SAME_REQUEST = 1.0
"""The seconds within which a repeated signal counts as the same request: GNU's ``timeout`` sends two. Any other ends
the process."""

_runs: list[StopSignals] = []
"""The runs on the main thread that are not over, in the order in which they began."""
_kept: list[BaseException] = []
"""Errors of the program's own handlers, until the runs that were asked are over."""
_handling: set[int] = set()
"""The signals that are being handled: a handler of the program may call an earlier one of ours."""


class StopSignals:
    """Calls ``ask`` when the process is asked to stop, as a context manager. Off the main thread, where Python handles no
    signals, it does nothing.

    Runs may overlap and end in any order: one signal asks them all, and with the last of them the earlier handler is
    restored. That handler is called too, unless it is one of the system or Python's own; an error that it raises is raised
    at the end of the last run that was asked.
    """

    __slots__ = ("_ask", "_process", "first", "numbers")

    def __init__(self, numbers: Iterable[int], ask: Callable[[], object]) -> None:
        self.numbers = frozenset(signal.Signals(number) for number in numbers)
        self.first: tuple[int, float] | None = None
        """The first request, and its time; None before it."""
        self._ask = ask
        self._process = os.getpid()

    @property
    def is_asked(self) -> bool:
        """Whether the process was asked to stop."""
        return self.first is not None

    @property
    def is_here(self) -> bool:
        """Whether it is a run of this process, and not of one that forked it."""
        return self._process == os.getpid()

    def ask(self, number: int, at: float) -> None:
        """Asks the run to stop, once."""
        if self.first is None:
            self.first = (number, at)
            self._ask()

    def is_asked_again_by(self, number: int, at: float) -> bool:
        """Whether that is another request than the first."""
        return self.first is not None and (number != self.first[0] or at - self.first[1] >= SAME_REQUEST)

    def __enter__(self) -> StopSignals:
        if _is_handled_by(self.numbers):
            _runs.append(self)
            try:
                for number in self.numbers:
                    present = signal.getsignal(number)
                    if not isinstance(present, _Handler):
                        signal.signal(number, _Handler(present))
            except BaseException:
                self._leave()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self not in _runs:
            return
        self._leave()
        if self.is_asked and _kept and not any(run.is_asked and run.is_here for run in _runs):
            raised = _kept[0]
            _kept.clear()
            raise raised

    def _leave(self) -> None:
        _runs.remove(self)
        for number in self.numbers:
            present = signal.getsignal(number)
            # A handler that the program has installed meanwhile remains.
            if isinstance(present, _Handler) and not _asked_by(number):
                present.restore(number)


def _is_handled_by(numbers: frozenset[signal.Signals]) -> bool:
    """Whether Python handles these signals on this thread, the main one. Asks `signal`, because `threading` does not know
    where gevent or eventlet have replaced it."""
    for number in numbers:
        try:
            signal.signal(number, signal.getsignal(number))
        except ValueError:
            return False
        except TypeError:
            # The handler was not installed by Python, which shows only on the main thread.
            return True
        return True
    return False


def _asked_by(number: int) -> list[StopSignals]:
    """Returns the runs of this process that the signal asks to stop."""
    return [run for run in _runs if number in run.numbers and run.is_here]


class _Handler:
    """Our handler of a signal, and the handler before it."""

    __slots__ = ("_before",)

    def __init__(self, before: Any) -> None:
        # `before` is None for a handler that Python did not install, which can be neither called
        # nor restored.
        self._before: Any = signal.SIG_DFL if before is None else before

    def restore(self, number: int) -> None:
        """Installs the handler before it."""
        signal.signal(number, self._before)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        runs = _asked_by(number)
        if number in _handling:
            # Called by a handler of the program that was installed over this one.
            if self._is_of_the_program():
                self._before(number, frame)
        elif runs:
            _handling.add(number)
            try:
                self._ask(runs, number, frame)
            finally:
                _handling.discard(number)
        elif callable(self._before):
            self._before(number, frame)
        elif id(signal.getsignal(number)) == id(self):
            # Left by a handler that was installed meanwhile, or inherited from the process that forked this one.
            self.restore(number)
            signal.raise_signal(number)

    def _ask(self, runs: list[StopSignals], number: int, frame: FrameType | None) -> None:
        at = time.monotonic()
        is_again = any(run.is_asked_again_by(number, at) for run in runs)
        for run in runs:
            run.ask(number, at)
        if self._is_of_the_program():
            try:
                self._before(number, frame)
            except BaseException as error:
                if is_again:
                    raise
                _kept.append(error)
        elif is_again:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def _is_of_the_program(self) -> bool:
        """Whether the handler before it is neither the system's nor Python's own for Ctrl-C."""
        if not callable(self._before) or self._before is signal.default_int_handler:
            return False
        # The handler of `asyncio.Runner`, and of anyio's runner for older versions, cancels the main task and raises
        # KeyboardInterrupt.
        return getattr(getattr(self._before, "func", None), "__name__", "") != "_on_sigint"
