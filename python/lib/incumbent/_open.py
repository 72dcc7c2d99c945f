"""Handles of a program's stores and candidates. Like asyncio's transports, they warn if they are dropped unclosed."""

from __future__ import annotations

import warnings
from typing import Any

from incumbent import _exit, _incumbent

# In both classes `_opened` was allocated where the handle was created: tracemalloc shows that place with the warning. A
# recorded warning must not keep the handle, because that would keep its connection or campaign. For the same reason a
# frame that raises the warning has no `self`. Globals are passed as default arguments, because they are gone at the end
# of the interpreter's exit. A process that exits closes everything itself.


class OpenStore(_incumbent.Store):
    """An open store. Its candidates and observers share the connection: the last of them drops it."""

    __slots__ = ("__weakref__", "_opened")

    def __init__(self, store: _incumbent.Store) -> None:
        self._opened = object()
        _exit.stores.add(self)

    def __del__(self, at_exit: Any = _exit, warn: Any = warnings.warn, kind: Any = ResourceWarning) -> None:
        if self.is_left_open and at_exit.has_left is False:
            opened = self._opened
            del self
            warn("unclosed store", kind, stacklevel=2, source=opened)


class OpenCandidate(_incumbent.Candidate):
    """A candidate of an open store; iterators over its terms share it."""

    __slots__ = ("_opened", "_store")

    def __new__(cls, candidate: _incumbent.Candidate, store: _incumbent.Store) -> OpenCandidate:
        return super().__new__(cls, candidate)

    def __init__(self, candidate: _incumbent.Candidate, store: _incumbent.Store) -> None:
        self._opened = object()
        self._store = store

    def __del__(self, at_exit: Any = _exit, warn: Any = warnings.warn, kind: Any = ResourceWarning) -> None:
        if self.is_left_open and at_exit.has_left is False:
            opened, message = self._opened, f"unclosed candidate {self.name!r} for {self.election!r}"
            del self
            warn(message, kind, stacklevel=2, source=opened)
