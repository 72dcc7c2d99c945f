"""What is refused in Python itself, and why: from ``bindings/schema/refusals.toml``."""

from __future__ import annotations


# generated: refusals
def two_drains() -> str:
    """Refuses two durations for one drain."""
    return "drain and drain_time both set a duration; keep one of them"


def drain_function(value: str) -> str:
    """Refuses a drain function where no thread can call it."""
    return f"drain is {value}, and must be a duration; for a function use attach(on_draining=…)"


def no_health(value: str) -> str:
    """Refuses a health check that is not a function."""
    return f"health is {value}, and must be a function that returns whether this candidate is healthy"


def interval_alone() -> str:
    """Refuses an interval of health checks without a check."""
    return "health_interval needs a health check; give one as health"


def otherwise(value: str) -> str:
    """Refuses an unknown choice for calls without leadership."""
    return f"otherwise is {value}, and must be 'raise' or 'skip'"


# end of refusals
