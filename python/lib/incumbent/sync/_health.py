"""The health check of a candidate, called at each interval on a separate thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from incumbent import _incumbent, _thread
from incumbent._failed import failed
from incumbent.sync._wait import Stream

HealthCheck = Callable[[], bool]
"""``def health() -> bool``: whether this candidate is healthy."""


def start(candidate: _incumbent.Candidate, check: HealthCheck) -> None:
    """Answers the health questions of a candidate. Does not keep the candidate alive."""
    feed = candidate.questions()
    if feed is not None:
        questions = Stream(feed, lambda question: question)
        _thread.start(partial(_run, questions, check), f"incumbent-health-{candidate.name}")


def _run(questions: Stream[_incumbent.Question], check: HealthCheck) -> None:
    for question in questions:
        question.answer(_ask(check))


def _ask(check: HealthCheck) -> bool:
    try:
        return bool(check())
    except Exception as error:
        failed(error, check)
        return False
