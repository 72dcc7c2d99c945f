/** The scenarios of all languages, played through this package. */

import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test, type TestContext } from 'vitest';

import { play, type Scenario } from './runner.js';
import { Harness } from './harness.js';

const FOLDER = resolve(__dirname, '../../../lab/conformance/scenarios');
const scenarios = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .map((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Scenario);

/** The shortest lease of a candidate, if the store has one: three times the shortest that an etcd server grants by default. */
const LEAST_LEASE_MS: Record<string, number> = { etcd: 6_000 };

async function on(store: string, file: Scenario, context?: TestContext): Promise<void> {
  const scenario = { ...file, lease_ms: Math.max(file.lease_ms, LEAST_LEASE_MS[store] ?? 0) };
  const harness = await Harness.start();
  try {
    const connections = Object.entries(scenario.candidates).map(([id, part]) => part.connection ?? id);
    const prepared = await harness.prepare(store, scenario.lease_ms, [...new Set(connections)]);
    const lacking = (scenario.needs ?? []).filter((need) => !prepared.offers.includes(need));
    if (lacking.length > 0) {
      context?.skip(`${store} has no ${lacking.join(', ')}`);
    }
    await play(scenario, prepared, harness);
    await harness.ask({ do: 'clean_up' });
  } finally {
    await harness.end();
  }
}

/** The stores to play on; by default all, and Kafka where `INCUMBENT_KAFKA` has the address of a broker. */
const ALL = `memory,sqlite,nats,etcd${process.env['INCUMBENT_KAFKA'] ? ',kafka' : ''}`;
const STORES = (process.env['INCUMBENT_STORES'] || ALL).split(',');

describe.each(STORES)('%s', { timeout: 240_000, concurrent: true }, (store) => {
  for (const scenario of scenarios.filter(({ not_on = {} }) => !(store in not_on))) {
    test(scenario.name, (context) => on(store, scenario, context));
  }
});

const WRONG: Scenario = {
  name: 'wrong',
  lease_ms: 10_000,
  candidates: { a: {} },
  steps: [{ do: 'campaign', candidate: 'a' }, { do: 'expect_won', candidate: 'a' }],
};

test.each([
  ['a leader that should not lead', { do: 'expect_is_leader', candidate: 'a', leads: false }, 'step 3, .*whether it leads is true'],
  ['a call that should have failed', { do: 'expect_returned', candidate: 'a' }, 'step 3, .*there is no call'],
])('a scenario that is wrong fails: %s', async (_, step, message) => {
  await expect(on('memory', { ...WRONG, steps: [...WRONG.steps, step] })).rejects.toThrow(new RegExp(message));
});

test('a scenario that leaves something unread fails', async () => {
  const wrong = { ...WRONG, steps: WRONG.steps.slice(0, 1).concat({ do: 'expect_state', candidate: 'a', state: 'LEADING' }) };
  await expect(on('memory', wrong)).rejects.toThrow('what a received besides is 1');
});
