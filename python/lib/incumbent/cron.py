"""Jobs at the times of a cron expression, on the leader: ``pip install "incumbent[cron]"``.

::

    import incumbent.sync
    from incumbent.cron import Cron

    nightly = Cron("30 2 * * *", tz="Europe/Berlin")

    def work(term):
        for tick in nightly.ticks(term):
            send_report(tick.at, term.token)

    incumbent.sync.run("nats://localhost:4222/ELECTIONS", "reports", work)

With asyncio it is ``async for tick in nightly.ticks(term)``, in the work of :func:`incumbent.run`.

**After a change of leader** the latest time that may have been missed is caught up, and never two: a leader that wins at
2:30:20, after another was killed at 2:29:50, runs the job of 2:30 late. The times before that one are left out;
``tick.skipped`` has them, and so has a warning in the log. The same holds for a job that takes longer than the time to the
next one.

No store says what the leader before has done. It may have run the job of 2:30 and left at 2:30:10, so a new leader runs it
again, as :attr:`Tick.is_late` shows. Where that matters, remember ``tick.at`` with the job's result, in one transaction:

- refuse a time that is not later than the one remembered, or
- pass it: ``nightly.ticks(term, last=remembered)`` begins after it, however long ago that was. Then no time is run twice, and
  none is lost but those before the latest.

Without ``last`` a new leader looks back ``look_back`` seconds, longer than a fail-over takes, and never to before this process
made its :class:`Cron`. With ``look_back=0`` it catches nothing up, and runs nothing again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from itertools import islice, takewhile
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

import incumbent
import incumbent.sync
from incumbent._log import logger
from incumbent.errors import TimedOutError

__all__ = ["Cron", "Tick", "Ticks"]

LOOK_BACK = 60.0
"""The seconds that a new leader looks back: twice the longest default lease, that of a NATS bucket."""

SLICE = 30.0
"""The longest wait, in seconds, before the wall clock is read again: it may have been set."""

MOST_SKIPPED = 1000
"""The most times that are listed as skipped: a job of every second may have rested for a year."""


class Tick(NamedTuple):
    """A time at which the job is due."""

    at: datetime
    """The time, by the cron expression."""

    is_late: bool
    """Whether it was due before this leader began: the leader before may have run the job."""

    skipped: tuple[datetime, ...]
    """The times since the last one that are left out, in order; the latest thousand at most."""


class Cron:
    """The times of a cron expression, and the last of them that this process has run."""

    def __init__(self, expression: str, *, tz: tzinfo | str = timezone.utc, look_back: float = LOOK_BACK) -> None:
        """Reads an expression of five fields, or of six with the seconds first. It means what it means to Debian's cron, at
        changes of daylight saving time too. Its times are those of ``tz``, UTC by default. ``ValueError`` for one that
        cannot be read."""
        self.expression = expression
        self.tz = ZoneInfo(tz) if isinstance(tz, str) else tz
        self.look_back = timedelta(seconds=look_back)
        # The last time for which this process ran the job, or the process's start.
        self._settled = _now()
        try:
            CronSim(expression, self._settled)
        except CronSimError as error:
            message = f"{expression!r} is no cron expression: {error}"
            raise ValueError(message) from error

    def ticks(self, term: incumbent.Term | incumbent.sync.Term, *, last: datetime | None = None) -> Ticks:
        """Waits for the times of the expression, as an iterator, asynchronous or not, until the term drains or ends.

        ``last`` is the last time that was run, where the program remembers it; it has a time zone.
        """
        if last is not None and last.tzinfo is None:
            message = f"last is {last!r}: give it a time zone"
            raise ValueError(message)
        return Ticks(self, term, last)

    def __repr__(self) -> str:
        return f"<Cron {self.expression!r} in {self.tz}>"


class Ticks:
    """The times of an expression while a term lasts; see :meth:`Cron.ticks`."""

    def __init__(self, cron: Cron, term: incumbent.Term | incumbent.sync.Term, last: datetime | None) -> None:
        self._cron = cron
        self._term = term
        self._began = _now()
        self._since = max(cron._settled, self._began - cron.look_back) if last is None else last

    def __iter__(self) -> Iterator[Tick]:
        term = self._term
        if not isinstance(term, incumbent.sync.Term):
            message = "the term is one for asyncio: write `async for`"
            raise TypeError(message)
        while term.is_current() and not term.is_draining:
            if (tick := self._due()) is not None:
                yield tick
                continue
            try:
                term.draining(timeout=self._wait())
            except TimedOutError:
                continue

    def __aiter__(self) -> Ticks:
        if not isinstance(self._term, incumbent.Term):
            message = "the term is one for threads: write `for`"
            raise TypeError(message)
        return self

    async def __anext__(self) -> Tick:
        import asyncio

        term = self._term
        while isinstance(term, incumbent.Term) and term.is_current() and not term.is_draining:
            if (tick := self._due()) is not None:
                return tick
            try:
                await asyncio.wait_for(term.draining(), self._wait())
            except asyncio.TimeoutError:
                continue
        raise StopAsyncIteration

    def _due(self) -> Tick | None:
        """Returns the latest time that is due, and counts it as run."""
        # Going back a microsecond makes the current second the first one.
        now = _now().astimezone(self._cron.tz).replace(microsecond=1)
        backwards = CronSim(self._cron.expression, now, reverse=True)
        missed = takewhile(lambda at: at.astimezone(timezone.utc) > self._since, backwards)
        latest_first = list(islice(missed, MOST_SKIPPED + 1))
        if not latest_first:
            return None
        at, *skipped = latest_first
        self._since = at.astimezone(timezone.utc)
        self._cron._settled = max(self._cron._settled, self._since)
        tick = Tick(at, self._since < self._began, tuple(reversed(skipped)))
        if tick.skipped:
            count = f"{'at least ' if len(skipped) == MOST_SKIPPED else ''}{len(skipped)}"
            first, latest = tick.skipped[0].isoformat(), at.isoformat()
            logger.warning("%r skips %s of its times, from %s on, and runs %s", self._cron.expression, count, first, latest)
        return tick

    def _wait(self) -> float:
        """Returns the seconds to the next time, or to a look at the clock before it."""
        now = _now()
        following = next(CronSim(self._cron.expression, now.astimezone(self._cron.tz)), None)
        # None within fifty years.
        left = SLICE if following is None else (following.astimezone(timezone.utc) - now).total_seconds()
        return min(max(left, 0.0), SLICE)


def _now() -> datetime:
    return datetime.now(timezone.utc)
