"""The settings of a store and of a campaign, for type checkers; the compiled part validates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Literal, TypedDict, Union

from incumbent import _refusals

Length = Union[float, timedelta, str]
"""A length of time: seconds, a timedelta, or a string such as ``"10s"`` or ``"500ms"``."""


HEALTH_INTERVAL = 5.0
"""The default interval of the health check, in seconds."""


def interval_of(health: object, interval: Length | None) -> Length | None:
    """Returns the interval of a health check; None without a check."""
    if health is None:
        if interval is not None:
            raise TypeError(_refusals.interval_alone())
        return None
    if not callable(health):
        raise TypeError(_refusals.no_health(repr(health)))
    return HEALTH_INTERVAL if interval is None else interval


class _UrlSettings(TypedDict, total=False):
    # generated: parameters
    create: bool
    """SQLite and Kafka: whether a missing file or topic is created; by default it is."""
    tls_ca: str | PathLike[str]
    """NATS and etcd: a file with the certificates to trust; by default the system's."""
    tls_cert: str | PathLike[str]
    """NATS and etcd: a file with the client's certificate."""
    tls_key: str | PathLike[str]
    """NATS and etcd: a file with the client's key."""
    connect_timeout: Length
    """NATS and etcd: the time limit for connecting; by default 2 s."""
    poll: Length
    """
    SQLite: the interval at which the file is checked for changes, from 1 ms to 1 s; by default a tenth of the shortest
    lease after the last check, from 10 ms to 1 s.
    """
    fuse: bool
    """SQLite: states that only this machine reaches the file on FUSE, and that file locks work there."""
    context: str
    """
    NATS: a context of the `nats` tool, for settings that the URL leaves out; by default none; without a host
    (`nats:///BUCKET`) `$NATS_CONTEXT`, or the selected context. It is in `$XDG_CONFIG_HOME/nats/context/` or
    `~/.config/nats/context/`.
    """
    creds: str | PathLike[str]
    """NATS: a file with credentials, a JWT and an nkey seed."""
    nkey: str | PathLike[str]
    """NATS: a file with an nkey seed."""
    token: str
    """NATS: a token."""
    tls_first: bool
    """NATS: whether TLS starts before the server's greeting, for servers that are configured so."""
    inbox_prefix: str
    """NATS: the subject prefix for answers, if permissions require one; by default `_INBOX`."""
    domain: str
    """NATS: the JetStream domain that holds the bucket."""
    api_prefix: str
    """NATS: the subject prefix of the JetStream API, if it is imported from another account; by default `$JS.API`."""
    discover: bool
    """
    NATS: whether to also use other servers of the cluster, as reported by the connected one; by default true; false
    over websockets. `false` if they advertise addresses that cannot be reached from here.
    """
    ping_interval: Length
    """
    NATS: the interval of pings on the connection, which ends after three unanswered ones; by default a tenth of the
    lease, from 100 ms to 20 s.
    """
    topic: str
    """
    Kafka: the name of the leader topic; {group} in it is replaced by the group's name; by default {group}.neli. In a
    URL the braces are `%7B` and `%7D`.
    """
    session: Length
    """
    Kafka: the session timeout of a member, after which a crash is noticed; by default three leases. At least two
    leases.
    """
    protocol: str
    """
    Kafka: the protocol, classic or consumer (KIP-848), the same for all members of a group; by default classic. With
    consumer the brokers set the session.
    """
    instance_id: str
    """
    Kafka: a static member id; a process that restarts within its session keeps its partition. Each process needs its
    own.
    """
    goneli: bool
    """Kafka: whether members that use goNELI share the groups."""
    sasl: str
    """
    Kafka: the SASL mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER; by default PLAIN with a password, and
    none without.
    """
    # end of parameters


class StoreSettings(_UrlSettings, total=False):
    """The settings of a store; a parameter of its URL can also be a setting."""

    # generated: store
    fail_fast: bool
    """Whether a store that does not answer is an error; by default candidates wait for it."""
    expected_lease: Length
    """
    The shortest lease that candidates will have, from which a connection to NATS derives the interval of its pings and
    the time that it gives a server to answer; by default 30 s.
    """
    markers: bool
    """memory: whether watches report expiry."""
    # end of store


class InitSettings(_UrlSettings, total=False):
    """The settings for preparing a store; a parameter of its URL can also be a setting."""

    # generated: init
    new: bool
    """
    States that no election ever ran there. Otherwise no candidate leads until the store is one lease old, because it
    may replace another in which a candidate still leads. Only by hand, or in a test: if a program recreates a store
    under a leader, there can be two leaders. Refused for a store that has been written to.
    """
    lease: Length
    """
    NATS: the lease of the bucket's elections, which is its TTL; by default 30 s for a new bucket; an existing one keeps
    its own.
    """
    replicas: int
    """
    NATS: the number of servers that keep the bucket: 1, 3 or 5; by default 1 for a new bucket; an existing one keeps
    its own.
    """
    max_bytes: int
    """
    NATS: the bucket's size limit in bytes, if the account requires one; at least 65536; by default none for a new
    bucket; an existing one keeps its own.
    """
    markers: bool
    """
    NATS: whether watches report expiry, for a fail-over without a poll (2.11 or newer). Not for a bucket that
    candidates of the Go library share.
    """
    own_leases: bool
    """NATS: whether each election can have its own lease, in whole seconds and below the bucket's (2.11 or newer)."""
    update: bool
    """
    NATS: whether to change an existing bucket that differs; by default the differences are reported, outside Rust as
    the error UNSAFE_STORE, and nothing is changed.
    """
    election: str
    """Kafka: the election whose topic is created."""
    # end of init


class CampaignSettings(TypedDict, total=False):
    """The settings of a candidate, except for its drain."""

    # generated: candidate
    name: str
    """
    The candidate's name, which other candidates see: 1 to 255 bytes, one line without surrounding spaces; by default
    HOST-PID, from the host and the process. Each candidate of an election has a different one.
    """
    preset: Literal["standard", "fast", "go_compatible"]
    """The bounds and defaults of all timing settings; by default the standard one, with leases of 5 s and more."""
    lease: Length
    """
    The lease duration: the time for which no other candidate leads after a leader crashes; by default the store's
    maximum age if all its records share it, else the preset's lease, never longer than the store's maximum age.
    """
    skew: Length
    """
    The largest disagreement between the clocks of the store's servers; by default a twentieth of the lease, at most
    1 s; none on etcd and Kafka. It is a part of the margin, because another server may expire the record.
    """
    drift_ppm: int
    """
    The largest gain or loss of each clock, in parts per million; by default 5,000, which is 0.5 %. The margin counts it
    twice: for the leader's clock, and for that of the store or of a waiting candidate.
    """
    slack: Length
    """
    The time between reading the clock and acting on it; by default a twentieth of the lease, at most 250 ms. It is a
    part of the margin.
    """
    win_delay: Literal["automatic", "cautious"] | Length
    """
    The time that a new holder waits before it leads; by default automatic, which is as long as a previous leader may
    still believe that it leads. With cautious it also waits a lease if no previous leader is known; a time is a
    minimum.
    """
    splay: Length
    """
    The longest random wait before the first campaign, so that a fleet that starts together does not campaign together;
    by default a tenth of the lease, at most 1 s. Zero for no wait.
    """
    interval: Length
    """
    The interval between a candidate's reads of the key while the watch is silent; by default it reads when the last
    record that it saw should have expired.
    """
    backoff: Length | Sequence[Length]
    """
    The wait of a candidate after a failure; by default 100 ms, doubled up to 1 s, 20 % more or less. It does not apply
    to a leader, which repeats a failed renewal as fast as its deadline demands.
    """
    metadata: Mapping[str, str]
    """
    What the leader publishes about itself: keys of alphanumeric ASCII characters and '-', and texts of one line, 4,096
    bytes in all; by default nothing.
    """
    # end of candidate
