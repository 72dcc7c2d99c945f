// Exports a candidate's metrics with OpenTelemetry, here for Prometheus to read.
//
//     node opentelemetry-metrics.mjs sqlite:elections.db 9464

import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { connect } from 'incumbent';

/** Measures a candidate. Reads current values at each collection, so that they are right even after a pause. */
function measure(candidate, meter) {
  const about = { election: candidate.election, candidate: candidate.name };
  meter
    .createObservableGauge('incumbent.leader', { description: '1 while this candidate leads' })
    .addCallback((result) => result.observe(candidate.isLeader ? 1 : 0, about));
  meter
    .createObservableGauge('incumbent.lease.remaining', { description: 'Time to the deadline', unit: 's' })
    .addCallback((result) => result.observe((candidate.term?.remainingMs ?? 0) / 1000, about));
  const terms = meter.createCounter('incumbent.terms', { description: 'Terms that began' });
  const ended = meter.createCounter('incumbent.terms.ended', { description: 'Terms that ended' });
  const warnings = meter.createCounter('incumbent.warnings', { description: 'Warnings for a person' });
  candidate.on('won', () => terms.add(1, about));
  candidate.on('lost', (term, reason) => ended.add(1, { ...about, reason: reason.toLowerCase() }));
  candidate.on('warning', ({ code }) => warnings.add(1, { ...about, code }));
}

const [url = 'memory:', port = '9464'] = process.argv.slice(2);
const exporter = new PrometheusExporter({ host: '127.0.0.1', port: Number(port) });
const provider = new MeterProvider({ readers: [exporter] });
const store = await connect(url);
const candidate = await store.campaign('report', { name: 'worker-7' });
measure(candidate, provider.getMeter('incumbent'));
console.log(`http://127.0.0.1:${port}/metrics`);

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => candidate.close());
}
await candidate.lead((term) => {
  console.log('leading with token', term.token);
  // The leader's work belongs here.
});
await store.close();
await provider.shutdown();
