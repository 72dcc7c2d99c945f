"""What is refused in Python itself, and why: from ``bindings/schema/refusals.toml``."""

from __future__ import annotations


# generated: refusals
def two_drains() -> str:
    """Refuses two lengths of a drain."""
    return "drain and drain_time both give a length of time; give one of them"


def drain_function(value: str) -> str:
    """Refuses a function where a thread cannot call one."""
    return f"drain is {value}, and must be a length of time; for a function see attach(on_draining=…)"


def no_health(value: str) -> str:
    """Refuses a health check that is not a function."""
    return f"health is {value}, and must be a function that returns whether this candidate is healthy"


def interval_alone() -> str:
    """Refuses an interval of health checks without a check."""
    return "health_interval is for a health check; give one as health"


def otherwise(value: str) -> str:
    """Refuses a call that is neither to raise nor to be skipped."""
    return f"otherwise is {value}, and must be 'raise' or 'skip'"


# end of refusals
