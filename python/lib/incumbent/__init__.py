"""Leader election on the infrastructure you already run.

Several processes want to do a job that exactly one of them may do at a time. Each becomes a *candidate* in an
*election*; one becomes the *leader* for a *term*; when it resigns, crashes, hangs or is cut off, another takes over,
and the two never overlap. The election lives in a store that you have anyway: a NATS JetStream key-value bucket, or
a SQLite file for the processes of one machine::

    import incumbent

    async with await incumbent.connect("nats://localhost:4222/ELECTIONS") as store:
        async with store.campaign("billing-cron", name="worker-7") as candidate:
            async for term in candidate.terms():
                async with term:                  # cancelled the moment the term ends
                    await work(term.token)        # a fencing token, larger for every later term

- :func:`connect` opens a :class:`Store`, and ``store.campaign`` makes a :class:`Candidate`.
- ``candidate.is_leader`` compares a proven deadline with the clock at every call. It is right even after the event
  loop was blocked, or the process stopped, for longer than the lease; and it is never true in a forked child.
- An event loop that hangs for a lease makes its candidates leave, and another leads (``watch_loop``). A thread that hangs
  keeps leading, unless ``health`` says otherwise.
- :mod:`incumbent.sync` has the same nouns and verbs for threads.
- :mod:`incumbent.errors` has what can go wrong, all under :class:`IncumbentError`.
- :mod:`incumbent.testing` has a scripted election and a store with faults, for your own tests.

What happens is logged to the logger ``incumbent``: nothing is shown unless the program configures logging. Nothing is
started by importing this package; the first store that is opened starts what it needs. A process that exits resigns
first. What a fork inherits does not lead: open a store in the child.
"""

from incumbent import _exit as _exit
from incumbent._aio import Candidate, DrainHandler, Event, Observer, Store, Stream, Term, Terms, connect
from incumbent._incumbent import __version__
from incumbent._types import (
    StateChanged,
    Draining,
    Leader,
    LeaderChanged,
    ElectionInfo,
    Lost,
    Observation,
    Reason,
    State,
    Token,
    Warning,
    Won,
)
from incumbent.errors import (
    BrokenError,
    Cause,
    ClosedError,
    AuthenticationError,
    PermissionDeniedError,
    ForkedError,
    IncumbentError,
    InternalError,
    InvalidNameError,
    InvalidSettingError,
    InvalidUrlError,
    NotFoundError,
    NotLeaderError,
    TermEnded,
    TimedOutError,
    StoreUnavailableError,
    UnsafeStoreError,
    UnsupportedError,
)

__all__ = [
    "BrokenError",
    "StateChanged",
    "Candidate",
    "Cause",
    "ClosedError",
    "AuthenticationError",
    "PermissionDeniedError",
    "DrainHandler",
    "Draining",
    "Event",
    "ForkedError",
    "IncumbentError",
    "InternalError",
    "InvalidNameError",
    "InvalidSettingError",
    "InvalidUrlError",
    "Leader",
    "LeaderChanged",
    "ElectionInfo",
    "Lost",
    "NotFoundError",
    "NotLeaderError",
    "Observation",
    "Observer",
    "Reason",
    "State",
    "Store",
    "Stream",
    "Term",
    "TermEnded",
    "Terms",
    "TimedOutError",
    "Token",
    "Warning",
    "StoreUnavailableError",
    "UnsafeStoreError",
    "UnsupportedError",
    "Won",
    "__version__",
    "connect",
]
