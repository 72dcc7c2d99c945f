"""The public names of classes and functions, whose private modules are not part of the API."""

from __future__ import annotations

from types import FunctionType
from typing import Any


def publish(module: dict[str, Any], *others: str) -> None:
    """Has everything that the module exports from private modules named after it: in reprs, pickles and documentation."""
    for name in (*module["__all__"], *others):
        thing = module[name]
        if isinstance(thing, (type, FunctionType)) and "._" in thing.__module__:
            thing.__module__ = module["__name__"]
