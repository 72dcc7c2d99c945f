"""The files of ``lab/conformance/scenarios``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Literal, NamedTuple

from incumbent._settings import CampaignSettings

FILES = Path(__file__).resolve().parents[3] / "lab/conformance/scenarios"
"""The folder of the scenarios."""

PRESETS: dict[str, Literal["standard", "fast", "go_compatible"]] = {
    "standard": "standard",
    "fast": "fast",
    "go_compatible": "go_compatible",
}
WIN_DELAYS: dict[str, Literal["automatic", "cautious"]] = {"automatic": "automatic", "cautious": "cautious"}
LEAST_LEASE_MS = {"etcd": 6000.0}
"""The shortest lease of a candidate, if the store has one: three times the shortest that an etcd server grants by default."""
_REQUIRED = object()


class Fields:
    """An object of a file. Each of its fields has to be read: an unread field was not understood."""

    def __init__(self, raw: object, what: str) -> None:
        if not isinstance(raw, dict):
            raise ValueError(f"{what} is not an object: {raw!r}")
        self._raw: dict[str, object] = raw
        self._what = what
        self._asked: set[str] = set()

    def __str__(self) -> str:
        return json.dumps(self._raw, separators=(",", ":"), ensure_ascii=False)

    def value(self, name: str, default: object = _REQUIRED) -> object:
        self._asked.add(name)
        value = self._raw.get(name, default)
        if value is _REQUIRED:
            raise ValueError(f"{self._what} has no {name!r}")
        return value

    def has(self, name: str) -> bool:
        return name in self._raw

    def text(self, name: str, default: object = _REQUIRED) -> str:
        value = self.value(name, default)
        if not isinstance(value, str):
            raise ValueError(f"{name!r} of {self._what} is not a text: {value!r}")
        return value

    def perhaps_text(self, name: str) -> str | None:
        return None if self.value(name, None) is None else self.text(name)

    def nullable_text(self, name: str) -> str | None:
        return None if self.value(name) is None else self.text(name)

    def flag(self, name: str, default: object = _REQUIRED) -> bool:
        value = self.value(name, default)
        if not isinstance(value, bool):
            raise ValueError(f"{name!r} of {self._what} is neither true nor false: {value!r}")
        return value

    def number(self, name: str) -> float:
        value = self.value(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{name!r} of {self._what} is not a number: {value!r}")
        return value

    def texts(self, name: str, default: object = _REQUIRED) -> Sequence[str]:
        value = self.value(name, default)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise ValueError(f"{name!r} of {self._what} is not a list of texts: {value!r}")
        return value

    def fields(self, name: str) -> Fields:
        return Fields(self.value(name, {}), f"{name!r} of {self._what}")

    def pairs(self, name: str) -> Mapping[str, str]:
        pairs = self.fields(name)
        return {key: pairs.text(key) for key in pairs._raw}

    def each(self, name: str) -> dict[str, Fields]:
        inner = self.fields(name)
        return {key: inner.fields(key) for key in inner._raw}

    def done(self) -> None:
        """Raises if a field is unread."""
        unknown = sorted(self._raw.keys() - self._asked)
        if unknown:
            raise ValueError(f"{self._what} has {', '.join(unknown)}, which this runner does not know")


class Moment(NamedTuple):
    """An instant: a number of leases after a mark."""

    mark: str
    leases: float


def moment(step: Fields, name: str) -> Moment | None:
    """Reads the instant that a step names, if it does."""
    if not step.has(name):
        return None
    raw = step.fields(name)
    moment = Moment(raw.text("mark"), raw.number("leases"))
    raw.done()
    return moment


class Options(NamedTuple):
    """The settings of a candidate: those of every candidate, and its own in the scenario."""

    settings: CampaignSettings
    drain: timedelta | None


class Part(NamedTuple):
    """A participant."""

    name: str
    election: str
    connection: str
    works: bool
    options: Options


class Scenario(NamedTuple):
    """A scenario."""

    name: str
    needs: Sequence[str]
    not_on: Mapping[str, str]
    """The stores that it does not apply to, each with the reason."""
    lease: float
    """In seconds."""
    parts: Mapping[str, Part]
    steps: Sequence[Fields]


def read(path: Path, store: str = "memory") -> Scenario:
    """Reads a scenario from a file, with a lease that the store can have."""
    return parse(path.read_text(encoding="utf-8"), LEAST_LEASE_MS.get(store, 0.0))


def parse(text: str, least_lease_ms: float = 0.0) -> Scenario:
    """Parses a scenario; ``ValueError`` where this runner does not understand all of it."""
    raw = Fields(json.loads(text), "the scenario")
    for name in ("$schema", "purpose", "shows"):
        raw.value(name)
    lease = max(raw.number("lease_ms"), least_lease_ms)
    steps = raw.value("steps")
    if not isinstance(steps, list):
        raise ValueError(f"the steps are not a list: {steps!r}")
    scenario = Scenario(
        name=raw.text("name"),
        needs=raw.texts("needs", []),
        not_on=raw.pairs("not_on"),
        lease=lease / 1000,
        parts={key: _part(key, part, lease) for key, part in raw.each("candidates").items()},
        steps=[Fields(step, f"step {number}") for number, step in enumerate(steps, 1)],
    )
    raw.done()
    return scenario


def _part(key: str, raw: Fields, lease: float) -> Part:
    name = raw.text("name", key)
    part = Part(
        name=name,
        election=raw.text("election", "jobs"),
        connection=raw.text("connection", key),
        works=raw.flag("works", False),
        options=_options(raw.fields("options"), name, lease),
    )
    raw.done()
    return part


def _options(raw: Fields, name: str, lease: float) -> Options:
    def length(field: str) -> timedelta:
        return timedelta(milliseconds=raw.number(field))

    settings: CampaignSettings = {
        "name": name,
        "preset": "fast",
        "lease": timedelta(milliseconds=lease),
        "splay": 0,
    }
    if raw.has("preset"):
        settings["preset"] = PRESETS[raw.text("preset")]
    if raw.has("lease_ms"):
        settings["lease"] = length("lease_ms")
    if raw.has("splay_ms"):
        settings["splay"] = length("splay_ms")
    if raw.has("skew_ms"):
        settings["skew"] = length("skew_ms")
    if raw.has("slack_ms"):
        settings["slack"] = length("slack_ms")
    if raw.has("interval_ms"):
        settings["interval"] = length("interval_ms")
    if raw.has("drift_ppm"):
        settings["drift_ppm"] = int(raw.number("drift_ppm"))
    if raw.has("metadata"):
        settings["metadata"] = raw.pairs("metadata")
    if raw.has("win_delay"):
        _win_delay(raw.fields("win_delay"), settings)
    drain = length("drain_ms") if raw.has("drain_ms") else None
    raw.done()
    return Options(settings, drain)


def _win_delay(raw: Fields, settings: CampaignSettings) -> None:
    if raw.text("kind") == "fixed":
        settings["win_delay"] = timedelta(milliseconds=raw.number("ms"))
    else:
        settings["win_delay"] = WIN_DELAYS[raw.text("kind")]
    raw.done()
