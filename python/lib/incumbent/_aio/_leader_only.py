"""Functions that only the leader runs, for asyncio."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal, ParamSpec, TypeVar, Union, overload

from incumbent import _leader_only
from incumbent._aio._candidate import Candidate
from incumbent.errors import TermEnded

P = ParamSpec("P")
R = TypeVar("R")

CandidateOrGetter = Union[Candidate, Callable[[], Candidate], Callable[[Any], Candidate]]


@overload
def leader_only(
    candidate: CandidateOrGetter, *, otherwise: Literal["raise"] = ...
) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Coroutine[Any, Any, R]]]: ...
@overload
def leader_only(
    candidate: CandidateOrGetter, *, otherwise: Literal["skip"]
) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Coroutine[Any, Any, R | None]]]: ...


def leader_only(
    candidate: CandidateOrGetter, *, otherwise: Literal["raise", "skip"] = "raise"
) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Coroutine[Any, Any, R | None]]]:
    """Decorates an async function that runs only while ``candidate`` leads, and is cancelled the moment the term ends.

    Otherwise a call raises :class:`NotLeaderError`, or with ``otherwise="skip"`` does nothing and returns None. For a
    candidate that is created later pass a function that returns it::

        @leader_only(lambda: app.state.candidate, otherwise="skip")
        async def send_invoices() -> None: ...

    A function of one parameter gets the first argument of the call, which is the object where a method is decorated:
    ``@leader_only(lambda self: self.candidate)``.

    The call holds the term, as ``async with term`` does, and raises :class:`TermEnded` where the term ends before the
    function returns. For threads see :func:`incumbent.sync.leader_only`.
    """
    _leader_only.check(otherwise)

    def decorate(function: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R | None]]:
        # Imported late: it takes longer to import than this package.
        from inspect import iscoroutinefunction

        if not iscoroutinefunction(function):
            message = f"{function!r} is not an async function; for others use incumbent.sync.leader_only"
            raise TypeError(message)

        choose = _leader_only.chooser(candidate)

        @functools.wraps(function)
        async def guarded(*args: P.args, **kwargs: P.kwargs) -> R | None:
            chosen: Candidate = choose(args)
            term = chosen.term
            if term is not None:
                try:
                    await term.__aenter__()
                except TermEnded:
                    # The term ended between the two lines.
                    term = None
            if term is None:
                _leader_only.refuse(chosen, otherwise)
                return None
            try:
                result = await function(*args, **kwargs)
            except BaseException as error:
                await term.__aexit__(type(error), error, error.__traceback__)
                raise
            await term.__aexit__(None, None, None)
            return result

        return guarded

    return decorate
