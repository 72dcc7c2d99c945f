"""Exports a candidate's metrics with OpenTelemetry, here to standard output.

    python opentelemetry_metrics.py sqlite:elections.db

Ends on SIGTERM and Ctrl-C, after a last export.
"""

import asyncio
import signal
import sys
from collections.abc import Iterator

from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader

import incumbent


def measure(candidate: incumbent.Candidate, meter: Meter) -> None:
    """Measures one candidate. Reads current values at each collection, so that they are right even after a pause."""
    about = {"election": candidate.election, "candidate": candidate.name}

    def leader(options: CallbackOptions) -> Iterator[Observation]:
        yield Observation(int(candidate.is_leader), about)

    def remaining(options: CallbackOptions) -> Iterator[Observation]:
        term = candidate.term
        yield Observation(term.remaining if term else 0.0, about)

    meter.create_observable_gauge("incumbent.leader", [leader], description="1 while this candidate leads")
    meter.create_observable_gauge("incumbent.lease.remaining", [remaining], "s", "Time to the deadline")
    terms = meter.create_counter("incumbent.terms", description="Terms that began")
    ended = meter.create_counter("incumbent.terms.ended", description="Terms that ended")
    warnings = meter.create_counter("incumbent.warnings", description="Warnings for a person")
    candidate.attach(
        on_won=lambda term: terms.add(1, about),
        on_lost=lambda term, reason: ended.add(1, {**about, "reason": reason.value.lower()}),
        on_warning=lambda warning: warnings.add(1, {**about, "code": warning.code}),
    )


async def main(url: str) -> None:
    exporter = ConsoleMetricExporter(formatter=lambda data: data.to_json(indent=None) + "\n")
    provider = MeterProvider([PeriodicExportingMetricReader(exporter, export_interval_millis=1000)])
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with incumbent.connect(url) as store, store.campaign("report", name="worker-7") as candidate:
        measure(candidate, provider.get_meter("incumbent"))
        # The leader's work belongs here: `candidate.lead(work)`.
        await stopped.wait()
    provider.shutdown()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory:"))
