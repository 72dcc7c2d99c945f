"""The report of a scenario that failed."""

from __future__ import annotations

from collections.abc import Sequence


class Lacking(Exception):
    """A store on which the scenario cannot be played."""


class Missed(Exception):
    """A missed expectation of a step."""

    def __init__(self, expected: str, seen: object) -> None:
        super().__init__(expected, str(seen))
        self.expected = expected
        self.seen = str(seen)


class Failure(Exception):
    """A scenario that failed."""

    def __init__(
        self,
        play: str,
        at: str,
        step: int | None,
        expected: str,
        seen: str,
        history: Sequence[str],
    ) -> None:
        super().__init__(play, at, step, expected, seen, history)
        self.play = play
        """The scenario, its store and the API."""
        self.at = at
        """The step as written in the file, or the action instead of one."""
        self.step = step
        """The number of the step, from 1; None: before the first or after the last."""
        self.expected = expected
        self.seen = seen
        self.history = history
        """The events of all candidates, in order."""

    def __str__(self) -> str:
        where = self.at if self.step is None else f"at step {self.step}: {self.at}"
        lines = [f"{self.play} failed {where}", f"  expected: {self.expected}", f"  seen:     {self.seen}"]
        return "\n".join([*lines, "  history:", *(f"    {line}" for line in self.history)])
