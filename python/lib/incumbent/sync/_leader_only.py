"""Functions that only the leader runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar, Union, overload

from incumbent import _leader_only
from incumbent.errors import TermEnded
from incumbent.sync._candidate import Candidate

P = ParamSpec("P")
R = TypeVar("R")

CandidateOrGetter = Union[Candidate, Callable[[], Candidate], Callable[[Any], Candidate]]


@overload
def leader_only(
    candidate: CandidateOrGetter, *, otherwise: Literal["raise"] = ...
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@overload
def leader_only(
    candidate: CandidateOrGetter, *, otherwise: Literal["skip"]
) -> Callable[[Callable[P, R]], Callable[P, R | None]]: ...


def leader_only(
    candidate: CandidateOrGetter, *, otherwise: Literal["raise", "skip"] = "raise"
) -> Callable[[Callable[P, R]], Callable[P, R | None]]:
    """Decorates a function that runs only while ``candidate`` leads, and holds the term while it runs.

    Otherwise a call raises :class:`NotLeaderError`, or with ``otherwise="skip"`` does nothing and returns None. For a
    candidate that is created later, as in a worker that forks first, pass a function that returns it::

        @leader_only(lambda: worker.candidate, otherwise="skip")
        def send_invoices() -> None: ...

    A function of one parameter gets the first argument of the call, which is the object where a method is decorated:
    ``@leader_only(lambda self: self.candidate)``.

    The end of the term does not stop the function: inside, ``candidate.term`` has the token, and ``term.check()``
    raises. For ``async def`` use :func:`incumbent.leader_only`; a generator is refused, because it runs after the call.
    """
    _leader_only.check(otherwise)

    def decorate(function: Callable[P, R]) -> Callable[P, R | None]:
        # Imported late: it takes longer to import than this package.
        import inspect

        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{function!r} is an async function, which runs after the call; use incumbent.leader_only")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function!r} is a generator, which runs after the call; iterate in a guarded function")

        choose = _leader_only.chooser(candidate)

        @functools.wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R | None:
            chosen: Candidate = choose(args)
            term = chosen.term
            if term is not None:
                try:
                    term.__enter__()
                except TermEnded:
                    # The term ended between the two lines.
                    term = None
            if term is None:
                _leader_only.refuse(chosen, otherwise)
                return None
            try:
                return function(*args, **kwargs)
            finally:
                term.__exit__(None, None, None)

        return guarded

    return decorate
