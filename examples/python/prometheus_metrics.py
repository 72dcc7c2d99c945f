"""Serves a candidate's metrics to Prometheus, with the names of `incumbent run --listen`.

    python prometheus_metrics.py sqlite:elections.db 9464
"""

import asyncio
import signal
import sys
from collections.abc import Iterator

from prometheus_client import REGISTRY, CollectorRegistry, Counter, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

import incumbent

LABELS = ("election", "candidate")


class Election(Collector):
    """Measures one candidate. Reads current values at each scrape, so that they are right even after a pause."""

    def __init__(self, candidate: incumbent.Candidate, registry: CollectorRegistry = REGISTRY) -> None:
        self.candidate = candidate
        self.labels = (candidate.election, candidate.name)
        self.terms = Counter("incumbent_terms", "Terms that began", LABELS, registry=registry)
        self.ended = Counter("incumbent_terms_ended", "Terms that ended", (*LABELS, "reason"), registry=registry)
        self.warnings = Counter("incumbent_warnings", "Warnings for a person", LABELS, registry=registry)
        registry.register(self)
        candidate.attach(
            on_won=lambda term: self.terms.labels(*self.labels).inc(),
            on_lost=lambda term, reason: self.ended.labels(*self.labels, reason.value.lower()).inc(),
            on_warning=lambda warning: self.warnings.labels(*self.labels).inc(),
        )

    def collect(self) -> Iterator[GaugeMetricFamily]:
        leader = GaugeMetricFamily("incumbent_leader", "1 while this candidate leads", labels=LABELS)
        leader.add_metric(self.labels, float(self.candidate.is_leader))
        yield leader
        term = self.candidate.term
        left = GaugeMetricFamily("incumbent_lease_remaining_seconds", "Time to the deadline", labels=LABELS)
        left.add_metric(self.labels, term.remaining if term else 0.0)
        yield left
        token = GaugeMetricFamily("incumbent_token_sequence", "The part of the token that grows", labels=LABELS)
        token.add_metric(self.labels, term.token.sequence if term else 0)
        yield token


async def main(url: str, port: str) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with incumbent.connect(url) as store, store.campaign("report", name="worker-7") as candidate:
        Election(candidate)
        server, serving = start_http_server(int(port), addr="127.0.0.1")
        print(f"http://127.0.0.1:{server.server_port}/metrics", flush=True)
        # The leader's work belongs here: `candidate.lead(work)`.
        await stopped.wait()
        server.shutdown()
        serving.join()
        server.server_close()


if __name__ == "__main__":
    asyncio.run(main(*(sys.argv[1:] or ["memory:", "9464"])))
