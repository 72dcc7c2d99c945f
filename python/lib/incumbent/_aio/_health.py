"""The health check of a candidate, called at each interval."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Union

from incumbent import _incumbent
from incumbent._aio import _tasks
from incumbent._aio._stream import Stream
from incumbent._failed import failed

HealthCheck = Callable[[], Union[bool, Awaitable[bool]]]
"""``async def health() -> bool``, or the same without ``async``: whether this candidate is healthy."""


def start(candidate: _incumbent.Candidate, check: HealthCheck) -> None:
    """Answers the health questions of a candidate. Does not keep the candidate alive."""
    feed = candidate.questions()
    if feed is not None:
        questions = Stream(feed, lambda question: question)
        _tasks.start(_run(questions, check), f"incumbent-health-{candidate.name}")


async def _run(questions: Stream[_incumbent.Question], check: HealthCheck) -> None:
    async for question in questions:
        question.answer(await _ask(check))


async def _ask(check: HealthCheck) -> bool:
    try:
        answer = check()
        return bool(await answer if isinstance(answer, Awaitable) else answer)
    except Exception as error:
        failed(error, check)
        return False
