"""One call for a program with work for the leader, for asyncio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from incumbent._aio._candidate import Candidate
from incumbent._aio._loop import running
from incumbent._aio._store import Store, connect
from incumbent._aio._term import Term
from incumbent._stop import STOP_ON, StopSignals

if TYPE_CHECKING:
    from incumbent import _incumbent

T = TypeVar("T")


async def run(
    store: str | Store,
    election: str,
    work: Callable[[Term], Awaitable[T]],
    *,
    keep_leading: bool = False,
    stop_on: Iterable[int] = STOP_ON,
    cancel_on_stop: bool = True,
    store_settings: Mapping[str, Any] | None = None,
    **settings: Any,
) -> T | None:
    """Campaigns in the election of that key, and calls ``work(term)`` when this process leads::

        asyncio.run(incumbent.run("nats://localhost:4222/ELECTIONS", "billing-cron", work))

    The store is a URL, with ``store_settings`` as the keywords of :func:`connect`, or an open store. Other keywords are
    the same as for :meth:`Store.campaign`.

    - When ``work`` returns, leadership is given back, and its result is returned. With ``keep_leading`` the process leads
      on until it is stopped. Work that returns None because it has noticed that its term drains, as after an operator's
      hand-over, is called in the next term; any other result counts in a term that drains, too.
    - When the term ends before that, ``work`` is cancelled, and called in the next term of this process.
    - When it raises, the term ends with :attr:`Reason.HANDLER_FAILED`, and the error is raised here.
    - The signals ``stop_on``, SIGINT and SIGTERM by default, end the run: the term drains, ``work`` is cancelled, and the
      lease is released when it has returned, or the drain time is over. The last result is returned, or None. With
      ``cancel_on_stop=False`` the work is not cancelled before the drain time is over: it finishes when
      :meth:`Term.draining` returns. The same signal a second later, or another one, ends the process at once. A handler
      that the program has installed before is called too, for every signal, and decides then what a second one does; an
      error that it raises for the first is raised here, when the drain is over. With ``stop_on=()`` signals are left to
      the program. Python handles signals on the main thread only; on others, cancel this call instead.

    Cancelling this call cancels the work and releases leadership. Raises the errors of :func:`connect` and
    :meth:`Store.campaign`.
    """
    # Imported late: it takes longer to import than this package.
    import asyncio

    loop = running()
    # The candidate of the campaign, while there is one.
    natives: list[_incumbent.Candidate] = []

    async def campaign() -> T | None:
        async with AsyncExitStack() as stack:
            opened = store
            if isinstance(opened, str):
                opened = await stack.enter_async_context(connect(opened, **(store_settings or {})))
            candidate = await stack.enter_async_context(opened.campaign(election, **settings))
            natives.append(candidate._native)
            told = callable(settings.get("drain"))
            return await _lead(candidate, work, keep_leading=keep_leading, told=told)

    leading = loop.create_task(campaign(), name=f"incumbent-run-{election}")

    def stop() -> None:
        for native in natives:
            # Sent at once; the task waits for it at its end.
            native.close(inside=True)
        if cancel_on_stop or not natives:
            leading.cancel()

    # Python runs the handler of a signal between any two steps of this thread, and not as a callback of the loop.
    with StopSignals(stop_on, partial(loop.call_soon_threadsafe, stop)) as asked:
        try:
            await asyncio.wait([leading])
        except asyncio.CancelledError:
            leading.cancel()
            await asyncio.wait([leading])
            raise
        if leading.cancelled() and asked.is_asked:
            return None
        return leading.result()


async def _lead(
    candidate: Candidate, work: Callable[[Term], Awaitable[T]], *, keep_leading: bool, told: bool
) -> T | None:
    result: T | None = None
    terms = candidate.terms()
    try:
        async for term in terms:
            try:
                async with term:
                    result = await work(term)
                    # Done before the body is left, which may end a draining term.
                    is_done = term._is_done(result, told=told)
            except Exception as error:
                if term._is_failed_by(error):
                    raise
                continue
            if is_done and not keep_leading:
                break
    finally:
        await terms.aclose()
    return result
