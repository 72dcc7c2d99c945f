// Measures what a program for Node waits for, for `cargo xtask bench languages`: the same as
// `runtime/benches/languages.rs`, except that the events do not wait for their reader, as another thread of
// JavaScript cannot report them. Prints one JSON array of figures.
import { ScriptedElection } from 'incumbent/testing';

// Not part of the package's interface: another thread that reports leaders.
import addonModule from '../dist/addon.js';
import candidateModule from '../dist/candidate.js';

const { addon } = addonModule;
const { Candidate } = candidateModule;

const CALLS = 10_000;
const RUNS = 100;
const EVENTS = 2_000;
const WARM = 500;
/** The milliseconds between two events: the reader is idle by then. */
const APART = 2;

/** The time of one call, in the quickest of many short runs. */
function nanoseconds(call) {
  const runs = [];
  for (let run = 0; run < RUNS; run += 1) {
    let leads = 0;
    const start = process.hrtime.bigint();
    for (let count = 0; count < CALLS; count += 1) if (call()) leads += 1;
    runs.push(Number(process.hrtime.bigint() - start) / CALLS);
    if (leads !== CALLS) throw new Error(`it led ${leads} times`);
  }
  return Math.min(...runs);
}

const election = new ScriptedElection();
election.acquire();
const { candidate } = election;
const { term } = candidate;
const isLeader = nanoseconds(() => candidate.isLeader);
const isCurrent = nanoseconds(() => term.isCurrent());

const script = addon.newScript('jobs', 'candidate');
const alive = setInterval(() => undefined, 60_000);
const took = [];
const events = Candidate.of(script.candidate(), false).events();
script.tellLeaders(EVENTS, APART);
for await (const event of events) {
  if (event.type === 'leaderChanged') {
    took.push((script.ageNs() - Number(event.leader.name)) / 1000);
    if (took.length === EVENTS) break;
  }
}
clearInterval(alive);
const sorted = took.slice(WARM).sort((a, b) => a - b);
const percentile = (part) => sorted[Math.floor(sorted.length * part)];

const figures = [
  ['is_leader()', isLeader, 'ns', RUNS],
  ['term.is_current()', isCurrent, 'ns', RUNS],
  ['an event, p50', percentile(0.5), 'µs', sorted.length],
  ['an event, p99', percentile(0.99), 'µs', sorted.length],
];
const row = ([figure, value, unit, samples]) => ({ figure, value, unit, samples });
process.stdout.write(`${JSON.stringify(figures.map(row))}\n`);
