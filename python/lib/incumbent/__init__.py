"""Leader election on the infrastructure you already run.

Several processes want to do a job that only one may do at a time. Each becomes a *candidate* in an *election*, and one
becomes the *leader* for a *term*. When it resigns, crashes, hangs or is cut off, another takes over, and the two never
overlap. The election is kept in a store that you already have: a NATS JetStream key-value bucket, an etcd cluster, or a
SQLite file for the processes of one machine::

    import asyncio, incumbent

    async def work(term):                 # cancelled the moment the term ends
        await send_invoices(term.token)   # a fencing token, larger for every later term

    asyncio.run(incumbent.run("nats://localhost:4222/ELECTIONS", "billing-cron", work))

- :func:`run` is that program in one call. It leaves gracefully on SIGTERM and Ctrl-C.
- :func:`current_term` is the term that the caller works for, in code deep inside of that work.
- :func:`init` creates the bucket or the file, and checks one that exists.
- :func:`connect` opens a :class:`Store`, and ``store.campaign`` makes a :class:`Candidate`.
- ``candidate.is_leader`` compares a proven deadline with the clock at every call. It is right even after the event
  loop was blocked, or the process stopped, for longer than the lease; and it is never true in a forked child.
- An event loop that hangs for a lease makes its candidates resign, and another process leads (``watch_loop``). A thread
  that hangs keeps leading, unless ``health`` reports otherwise.
- :mod:`incumbent.sync` has the same API for threads.
- :data:`STORES` has the stores that this build can open, by the schemes of their URLs; Kafka needs a special build.
- :mod:`incumbent.errors` has the errors, all under :class:`IncumbentError`.
- :mod:`incumbent.testing` has a scripted election and a store with faults, for your own tests.

Log records go to the logger ``incumbent``; if logging is not configured, Python prints its warnings. Importing this
package starts nothing; opening the first store starts the threads that it needs. A process that exits resigns first.
Handles inherited across a fork do not lead: open a store in the child.
"""

from incumbent import _exit as _exit
from incumbent._aio import (
    Candidate,
    DrainHandler,
    Event,
    HealthCheck,
    Observer,
    Opening,
    Store,
    Stream,
    Term,
    Terms,
    connect,
    current_term,
    init,
    leader_only,
    run,
)
from incumbent._incumbent import STORES, __version__
from incumbent._public import publish as _publish
from incumbent._settings import CampaignSettings, InitSettings, Length, StoreSettings
from incumbent._types import (
    StateChanged,
    Draining,
    Leader,
    LeaderChanged,
    CandidateInfo,
    ElectionInfo,
    InitReport,
    Lost,
    Observation,
    Reason,
    State,
    Token,
    Warning as Warning,
    Won,
)
from incumbent.errors import (
    Cause,
    IncumbentError,
    # generated: errors
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
    # end of errors
)

__all__ = [
    "StateChanged",
    "CampaignSettings",
    "Candidate",
    "Cause",
    "DrainHandler",
    "Draining",
    "Event",
    "HealthCheck",
    "IncumbentError",
    "InitReport",
    "InitSettings",
    "Leader",
    "LeaderChanged",
    "Length",
    "CandidateInfo",
    "ElectionInfo",
    "Lost",
    "Observation",
    "Observer",
    "Opening",
    "Reason",
    "STORES",
    "State",
    "Store",
    "StoreSettings",
    "Stream",
    "Term",
    "Terms",
    "Token",
    "Won",
    "__version__",
    "connect",
    "current_term",
    "init",
    "leader_only",
    "run",
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

# `from incumbent import *` leaves `Warning` out: Python has a class of that name.
_publish(globals(), "Warning")
