"""A term, for threads."""

from __future__ import annotations

import threading
from types import TracebackType

from incumbent import _incumbent, _inside
from incumbent._base import BaseTerm
from incumbent._types import Reason
from incumbent.sync._wait import answer


class _Body(_inside.Work):
    """The body of one ``with term``."""

    __slots__ = ("owner",)

    def __init__(self, face: Term, owner: int) -> None:
        super().__init__(face._native, face)
        self.owner = owner


class Term(BaseTerm):
    """An uninterrupted leadership.

    ``with term:`` is the work of a leader. A thread cannot be interrupted from outside, so the work calls :meth:`check`
    between its steps, and sends the token with every request. When the leader leaves of its own accord, the term
    continues until every such body is left, or the drain time is over. One thread may enter a term and another leave
    it, as when a web framework runs a dependency.
    """

    __slots__ = ("_bodies",)

    def __init__(self, native: _incumbent.Term) -> None:
        super().__init__(native)
        self._bodies: list[_Body] = []

    def ended(self, timeout: float | None = None) -> Reason:
        """Waits until the term is over, and returns the reason; :class:`TimedOutError` after ``timeout`` seconds.

        Does not hold the term.
        """
        return Reason(answer(self._native.ended(), timeout))

    def draining(self, timeout: float | None = None) -> None:
        """Waits until the leader begins to leave of its own accord, or the term is over.

        :class:`TimedOutError` after ``timeout`` seconds. Does not hold the term.
        """
        answer(self._native.draining(), timeout)
        self._drain.is_noticed = True

    def __enter__(self) -> Term:
        self.check()
        here = threading.get_ident()
        _inside.hand_on(self._native, here)
        self._bodies.append(_Body(self, here))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # There is no lock, because a fork at that moment would leave it held in the child.
        while bodies := list(self._bodies):
            # Several bodies of a thread may work for a term at once: takes the innermost. If this thread has none,
            # another has entered for it: takes the last.
            own = [body for body in bodies if body.owner == threading.get_ident()]
            body = (own or bodies)[-1]
            try:
                self._bodies.remove(body)
            except ValueError:
                # Another thread has just left this body.
                continue
            body.finish()
            return
        raise _inside.left_too_often()


def current_term() -> Term | None:
    """Returns the term whose work the caller is part of; None outside of such work. See :func:`incumbent.current_term`.

    A thread inherits it only from ``asyncio.to_thread``, or by ``contextvars.copy_context().run``.
    """
    return Term._seen_as(_inside.current())
