"""The settings of a store and of a campaign, for type checkers; the compiled part validates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Literal, TypedDict, Union

Length = Union[float, timedelta, str]
"""A length of time: seconds, a timedelta, or a text such as ``"10s"`` or ``"500ms"``."""


HEALTH_INTERVAL = 5.0
"""The default interval of the health check, in seconds."""


def interval_of(health: object, interval: Length | None) -> Length | None:
    """Returns the interval of a health check; None where there is no check."""
    if health is None:
        if interval is not None:
            message = "health_interval is for a health check; give one as health"
            raise TypeError(message)
        return None
    if not callable(health):
        message = f"health is {health!r}, and must be a function that says whether this candidate is well"
        raise TypeError(message)
    return HEALTH_INTERVAL if interval is None else interval


class _UrlSettings(TypedDict, total=False):
    # sqlite:
    poll: Length
    create: bool
    # nats:
    context: str
    creds: str | PathLike[str]
    nkey: str | PathLike[str]
    token: str
    tls_ca: str | PathLike[str]
    tls_cert: str | PathLike[str]
    tls_key: str | PathLike[str]
    tls_first: bool
    inbox_prefix: str
    domain: str
    api_prefix: str
    connect_timeout: Length
    ping_interval: Length


class StoreSettings(_UrlSettings, total=False):
    """The settings of a store; a parameter of its URL can also be a setting."""

    fail_fast: bool
    expected_lease: Length
    # memory:
    markers: bool


class InitSettings(_UrlSettings, total=False):
    """The settings with which a store is prepared; a parameter of its URL can also be a setting."""

    lease: Length
    replicas: int
    markers: bool
    own_leases: bool
    new: bool
    update: bool
    election: str


class CampaignSettings(TypedDict, total=False):
    """The settings of a candidate, except for its drain."""

    name: str
    preset: Literal["standard", "fast", "go_compatible"]
    lease: Length
    skew: Length
    drift_ppm: int
    slack: Length
    win_delay: Literal["automatic", "cautious"] | Length
    splay: Length
    interval: Length
    backoff: Length | Sequence[Length]
    metadata: Mapping[str, str]
