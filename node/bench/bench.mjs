// The costs of the package. Prints progress on standard error, and on standard output one JSON array of
// figures.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { connect } from 'incumbent';
import { ScriptedElection } from 'incumbent/testing';

// Not part of the package's interface: the benchmark decides when an event is reported.
import addonModule from '../dist/addon.js';
import candidateModule from '../dist/candidate.js';

const { addon } = addonModule;
const { Candidate } = candidateModule;

const figures = [];

function figure(name, value, unit, samples, goal) {
  figures.push({
    figure: name,
    value,
    unit,
    goal: goal === undefined ? null : { most: goal },
    samples,
  });
}

const progress = (what) => process.stderr.write(`    ${what}\n`);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const percentile = (values, part) => [...values].sort((a, b) => a - b)[Math.floor(values.length * part)];

progress('isLeader');
{
  const { candidate } = new ScriptedElection();
  const CALLS = 100_000;
  const runs = [];
  let leads = 0;
  for (let run = 0; run < 50; run += 1) {
    const start = process.hrtime.bigint();
    for (let call = 0; call < CALLS; call += 1) if (candidate.isLeader) leads += 1;
    runs.push(Number(process.hrtime.bigint() - start) / CALLS);
  }
  figure('isLeader, of a candidate that waits', Math.min(...runs), 'ns', runs.length * CALLS, 150);
  const election = new ScriptedElection();
  election.acquire(3_600_000);
  runs.length = 0;
  for (let run = 0; run < 50; run += 1) {
    const start = process.hrtime.bigint();
    for (let call = 0; call < CALLS; call += 1) if (election.candidate.isLeader) leads += 1;
    runs.push(Number(process.hrtime.bigint() - start) / CALLS);
  }
  if (leads !== 50 * CALLS) throw new Error(`it led ${leads} times`);
  figure('isLeader, of a leader', Math.min(...runs), 'ns', runs.length * CALLS, 150);
}

progress('a term');
{
  // Each reads the clock in the compiled part, through a function of the term. The last is a getter of a
  // native object, as all of them once were.
  const CALLS = 20_000;
  const election = new ScriptedElection();
  election.acquire();
  const { candidate } = election;
  const { term } = candidate;
  const { signal } = term;
  const calls = {
    'term.isCurrent()': () => term.isCurrent(),
    'signal.aborted': () => !signal.aborted,
    'candidate.term': () => candidate.term === term,
    'term.remainingMs, a getter of a native object': () => term.remainingMs > 0,
  };
  for (const [name, call] of Object.entries(calls)) {
    const runs = [];
    for (let run = 0; run < 50; run += 1) {
      let lasts = 0;
      const start = process.hrtime.bigint();
      for (let count = 0; count < CALLS; count += 1) if (call()) lasts += 1;
      runs.push(Number(process.hrtime.bigint() - start) / CALLS);
      if (lasts !== CALLS) throw new Error(`${name} was as expected ${lasts} times`);
    }
    figure(name, Math.min(...runs), 'ns', runs.length * CALLS, name.includes('getter') ? undefined : 300);
  }
}

const EVENTS = 5000;
/** The first are slower: the engine is still compiling the code. */
const WARM = 500;

function latency(name, took, goal) {
  const warm = took.slice(WARM);
  figure(`${name}, p50`, percentile(warm, 0.5), 'µs', warm.length);
  figure(`${name}, p99`, percentile(warm, 0.99), 'µs', warm.length, goal);
}

progress('a message of a worker thread');
{
  // A message to an event loop by other means, to compare with the next figures.
  const code = `const { parentPort, workerData } = require('node:worker_threads');
const cell = new Int32Array(new SharedArrayBuffer(4));
for (let sent = 0; sent < workerData; sent += 1) {
  Atomics.wait(cell, 0, 0, 2);
  parentPort.postMessage(process.hrtime.bigint());
}`;
  const worker = new Worker(code, { eval: true, workerData: EVENTS });
  const took = [];
  worker.on('message', (sent) => took.push(Number(process.hrtime.bigint() - sent) / 1000));
  await once(worker, 'exit');
  latency('a message of a worker thread', took);
}

progress('an event to `for await`');
{
  // Reported by another thread, like the events of a real election, while this thread waits.
  const script = addon.newScript('jobs', 'candidate');
  const candidate = Candidate.of(script.candidate(), false);
  const took = [];
  const alive = setInterval(() => undefined, 60_000);
  const events = candidate.events();
  script.tellLeaders(EVENTS, 2);
  for await (const event of events) {
    if (event.type === 'leaderChanged') {
      took.push((script.ageNs() - Number(event.leader.name)) / 1000);
      if (took.length === EVENTS) break;
    }
  }
  clearInterval(alive);
  if (events.missed > 0) throw new Error(`${events.missed} events were missed`);
  latency('an event to `for await`', took, 300);
}

progress('a thousand idle campaigns');
{
  const CAMPAIGNS = 1000;
  await using_(await connect('memory:'), async (store) => {
    const settle = async () => {
      for (let turn = 0; turn < 5; turn += 1) {
        globalThis.gc();
        await sleep(50);
      }
      return process.memoryUsage().rss;
    };
    await store.campaign('leads', { splay: 0, lease: '1h' });
    const before = await settle();
    for (let at = 0; at < CAMPAIGNS; at += 1) {
      await store.campaign(`jobs-${at}`, { splay: '1h', lease: '1h' });
    }
    const after = await settle();
    figure('memory of a thousand idle campaigns', (after - before) / 1e6, 'MB', CAMPAIGNS, 15);
    await sleep(2000);
    const used = process.cpuUsage();
    await sleep(5000);
    const { user, system } = process.cpuUsage(used);
    figure('processor time of a thousand idle campaigns', ((user + system) / 5e6) * 100, '%', 1, 1);
  });
}

async function using_(store, act) {
  try {
    await act(store);
  } finally {
    await store.close();
  }
}

process.stdout.write(`${JSON.stringify(figures)}\n`);
