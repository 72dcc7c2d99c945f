"""Whether code runs inside the work that a drain waits for.

Code that resigns inside that work must not wait for the drain: it would wait for itself.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from incumbent import _incumbent
    from incumbent._base import BaseTerm


class Work:
    """Work that holds a term, until it is over."""

    __slots__ = ("face", "hold", "outer", "term")

    def __init__(self, term: _incumbent.Term, face: BaseTerm, hold: _incumbent.Hold | None = None) -> None:
        self.term = term
        self.face = face
        """The term as the program sees it."""
        self.hold: _incumbent.Hold | None = term.hold() if hold is None else hold
        self.outer: Work | None = _unfinished(_WORK.get())
        _WORK.set(self)

    def finish(self) -> None:
        """Ends the work and releases its hold. Finishing it twice is not an error."""
        hold, self.hold = self.hold, None
        if hold is not None:
            hold.release()
        if _WORK.get() is self:
            _WORK.set(_unfinished(self.outer))


def _unfinished(work: Work | None) -> Work | None:
    """Returns that work, or the first around it that is not over."""
    while work is not None and work.hold is None:
        work = work.outer
    return work


_WORK: ContextVar[Work | None] = ContextVar("incumbent_work", default=None)


def current() -> BaseTerm | None:
    """Returns the term of the innermost work that the caller is part of. A task, or a context that was copied, may outlive
    that work: it gets the same term, so that a check there fails."""
    work = _WORK.get()
    return None if work is None else work.face


def is_inside(term: _incumbent.Term | None) -> bool:
    """Whether the caller is part of work that holds this term, or any term if none is given."""
    work = _WORK.get()
    while work is not None:
        if work.hold is not None and (term is None or work.term == term):
            return True
        work = work.outer
    return False


def hand_on(term: _incumbent.Term, owner: object) -> None:
    """Begins a body inside a loop's turn: the turn, which held the term until now, releases it.

    Only a turn of the same owner, a task or a thread: for other owners the turn may contain more work.
    """
    work = _WORK.get()
    while work is not None:
        if isinstance(work, Turn) and work.owner == owner and work.hold is not None and work.term == term:
            work.finish()
            return
        work = work.outer


def left_too_often() -> RuntimeError:
    """Returns the error for leaving a term that was not entered: there is nothing to release."""
    return RuntimeError("the term is left more often than it was entered")


class Turn(Work):
    """One turn of a loop over terms."""

    __slots__ = ("owner",)

    def __init__(self, hold: _incumbent.Hold, owner: object, face: BaseTerm) -> None:
        super().__init__(hold.term, face, hold)
        self.owner = owner
