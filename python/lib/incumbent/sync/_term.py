"""A term, for threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from incumbent import _incumbent, _inside
from incumbent._base import BaseTerm
from incumbent._types import Reason
from incumbent.sync._wait import answer

if TYPE_CHECKING:
    from types import TracebackType


class Term(BaseTerm):
    """One uninterrupted leadership.

    ``with term:`` is the work of a leader. A thread cannot be interrupted from outside, so the work asks: call
    :meth:`check` between its steps, and send the token with every request. When the leader leaves of its own will,
    the term goes on until every such body is left, or the drain time is over.
    """

    __slots__ = ("_works",)

    def __init__(self, native: _incumbent.Term) -> None:
        super().__init__(native)
        self._works: list[tuple[int, _inside.Work]] = []

    def ended(self, timeout: float | None = None) -> Reason:
        """Waits until the term is over, and says why; :class:`TimedOutError` after ``timeout`` seconds.

        It does not hold the term.
        """
        return Reason(answer(self._native.ended(), timeout))

    def draining(self, timeout: float | None = None) -> None:
        """Waits until the leader begins to leave of its own will, or the term is over.

        :class:`TimedOutError` after ``timeout`` seconds. It does not hold the term.
        """
        answer(self._native.draining(), timeout)

    def __enter__(self) -> Term:
        self.check()
        here = threading.get_ident()
        _inside.hand_on(self._native, here)
        self._works.append((here, _inside.Work(self._native)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        here = threading.get_ident()
        # The innermost of this thread's: several threads may work for a term at once.
        place = max(place for place, (owner, _) in enumerate(self._works) if owner == here)
        self._works.pop(place)[1].finish()
