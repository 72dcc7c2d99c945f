"""The errors: one base, one class for each kind, and the same codes in every language.

Catch :class:`IncumbentError` for all of them. Programs act on the class or on ``code``; the message is for people, and
contains the remedy. The cause of an error is its ``__cause__``.
"""

from __future__ import annotations

from typing import ClassVar

from incumbent._types import Reason

__all__ = [
    "Cause",
    "IncumbentError",
    # generated: names
    "InvalidUrlError",
    "InvalidSettingError",
    "InvalidNameError",
    "AuthenticationError",
    "StoreUnavailableError",
    "PermissionDeniedError",
    "NotFoundError",
    "UnsafeStoreError",
    "UnsupportedError",
    "ClosedError",
    "ForkedError",
    "NotLeaderError",
    "BrokenError",
    "TermEnded",
    "TimedOutError",
    "InternalError",
    # end of names
]


class IncumbentError(Exception):
    """The base of every error of this package."""

    code: ClassVar[str] = ""
    """A stable name of the kind, the same in every language."""

    is_temporary: ClassVar[bool] = False
    """Whether the same call can succeed later without a change by the caller or an operator."""


# generated: errors
class InvalidUrlError(IncumbentError, ValueError):
    """A store's URL cannot be read, or names a parameter that does not exist."""

    code = "INVALID_URL"


class InvalidSettingError(IncumbentError, ValueError):
    """A setting is refused; the message names it, its value, what is accepted and the remedy."""

    code = "INVALID_SETTING"


class InvalidNameError(IncumbentError, ValueError):
    """The store cannot hold this key or candidate name."""

    code = "INVALID_NAME"


class AuthenticationError(IncumbentError):
    """Credentials cannot be read, or are malformed."""

    code = "AUTHENTICATION"


class StoreUnavailableError(IncumbentError, ConnectionError):
    """The store does not answer."""

    code = "STORE_UNAVAILABLE"
    is_temporary = True


class PermissionDeniedError(IncumbentError, PermissionError):
    """The store refuses the credentials, or they lack a permission."""

    code = "PERMISSION_DENIED"


class NotFoundError(IncumbentError, LookupError):
    """The bucket, file or topic does not exist; preparing the store creates it."""

    code = "NOT_FOUND"


class UnsafeStoreError(IncumbentError):
    """An election on a store with these settings would be unsafe."""

    code = "UNSAFE_STORE"


class UnsupportedError(IncumbentError):
    """This build, store or server version does not support the request."""

    code = "UNSUPPORTED"


class ClosedError(IncumbentError):
    """The candidate or the store is closed."""

    code = "CLOSED"


class ForkedError(IncumbentError):
    """The handle was made, or the file opened, before the process forked; the child is never the leader."""

    code = "FORKED"


class NotLeaderError(IncumbentError):
    """Only the leader may do this."""

    code = "NOT_LEADER"


class BrokenError(IncumbentError):
    """The store answers but cannot serve: it is full, locked or damaged."""

    code = "BROKEN"
    is_temporary = True


class TimedOutError(IncumbentError, TimeoutError):
    """The wait ended at its time limit."""

    code = "TIMED_OUT"
    is_temporary = True


class InternalError(IncumbentError):
    """A bug in incumbent; please report it."""

    code = "INTERNAL"


# end of errors


class TermEnded(IncumbentError):  # noqa: N818, it is news rather than an error
    """The term ended before the work that ran in it."""

    code = "TERM_ENDED"

    reason: Reason
    """The reason for which the term ended."""

    def __init__(self, reason: Reason, message: str | None = None) -> None:
        super().__init__(message if message is not None else f"the term ended: {reason.description}")
        self.reason = reason

    def __reduce__(self) -> tuple[type[TermEnded], tuple[Reason, str]]:
        return type(self), (self.reason, str(self))


class Cause(Exception):  # noqa: N818, it is only ever the cause of one
    """The cause of an error that was not a Python exception: the ``__cause__`` of a raised error."""


_CLASSES: dict[str, type[IncumbentError]] = {
    kind.code: kind
    for kind in (
        # generated: classes
        InvalidUrlError,
        InvalidSettingError,
        InvalidNameError,
        AuthenticationError,
        StoreUnavailableError,
        PermissionDeniedError,
        NotFoundError,
        UnsafeStoreError,
        UnsupportedError,
        ClosedError,
        ForkedError,
        NotLeaderError,
        BrokenError,
        TermEnded,
        TimedOutError,
        InternalError,
        # end of classes
    )
}


def _make(code: str, message: str, causes: list[str], reason: str | None) -> IncumbentError:
    """Makes the exception for an error of the compiled part."""
    error = TermEnded(Reason(reason), message) if reason is not None else _CLASSES[code](message)
    below: BaseException = error
    for cause in causes:
        below.__cause__ = Cause(cause)
        below = below.__cause__
    return error
