/** A program that hangs does not keep leading: its event loop is watched while it leads. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';

import { InvalidSettingError, connect, type CampaignSettings, type Candidate } from '../dist/index.js';
import { until } from '../dist/testing.js';
import { FAST, NATS, NATS_LEASE_MS, block, bucket, program, won } from './support.js';

const DRAIN_MS = 500;
/** The largest delay of a rival on a busy machine. The hangs are longer than all of it. */
const LATE_MS = 10_000;

/** A candidate of this process, behind the hanging one. */
async function rival<T>(url: string, act: (candidate: Candidate) => Promise<T>): Promise<T> {
  await using store = await connect(url);
  await using candidate = await store.campaign('jobs', { ...NATS, name: 'rival' });
  return await act(candidate);
}

test.each([
  ['a lease', {}, NATS_LEASE_MS],
  ['the limit that is set', { watchLoop: 1000 }, 1000],
])('while a loop is blocked for longer than %s another leads and it campaigns again when it turns', async (...[, settings, limit]) => {
  const url = bucket();
  const bound = 1.25 * limit + DRAIN_MS + NATS_LEASE_MS;
  // Before the win, because the loop is probed from then on.
  const began = performance.now();
  const worker = program('hangs.mjs', url, String(bound + LATE_MS), JSON.stringify(settings));
  const before = await worker.expect('won');
  await worker.expect('hangs');
  const hung = performance.now();
  const token = await rival(url, async (candidate) => {
    const term = await won(candidate);
    const led = performance.now();
    expect(term.token > before).toBe(true);
    expect(led - began).toBeGreaterThan(limit);
    expect(led - hung).toBeLessThan(bound + LATE_MS);
    // The candidate knows it in its first line after the hang.
    expect(await worker.expect('turns')).toBe('false true UNHEALTHY');
    return term.token;
  });
  expect((await worker.expect('won')) > token).toBe(true);
});

test('a loop that is not watched keeps its term while it is blocked', async () => {
  const url = bucket();
  const worker = program('hangs.mjs', url, String(2 * NATS_LEASE_MS), '{"watchLoop":false}');
  await worker.expect('won');
  await worker.expect('hangs');
  await rival(url, async (candidate) => {
    expect(await worker.expect('turns')).toBe('true false null');
    expect(candidate.state).toBe('WAITING');
  });
});

test('a loop that turns keeps its term for many limits', async () => {
  await using store = await connect('memory:');
  const candidate = await store.campaign('jobs', { ...FAST, watchLoop: '4s' });
  const term = await won(candidate);
  await sleep(14_000);
  expect(term.isCurrent()).toBe(true);
});

test('a loop that hung is watched again in its next term', async () => {
  await using store = await connect('memory:');
  const candidate = await store.campaign('jobs', { ...FAST, watchLoop: 200 });
  for (let round = 0; round < 2; round += 1) {
    const term = await won(candidate);
    const end = performance.now() + 60_000;
    block(() => !term.isCurrent() || performance.now() > end);
    expect(term.reason).toBe('UNHEALTHY');
  }
  // The candidate's own report is independent of the watch.
  candidate.setHealthy(false);
  await until('it has stood down', () => candidate.state === 'IDLE');
});

test.each([50, 'often', -1, [1]])('a limit that cannot be is refused: %s', async (watchLoop) => {
  await using store = await connect('memory:');
  const campaign = store.campaign('jobs', { watchLoop } as unknown as CampaignSettings);
  await expect(campaign).rejects.toBeInstanceOf(InvalidSettingError);
  await expect(campaign).rejects.toThrow(/^watchLoop is .*, and must be true for the lease, false for off, or at least 100 ms/);
});
