/** An event loop that is blocked for longer than the lease. */

import { once } from 'node:events';
import { expect, test } from 'vitest';

import { ScriptedElection, faultyStore } from '../dist/testing.js';
import { SHORT, block, won } from './support.js';

test('the first look afterwards knows that the term is over', () => {
  const { election, candidate } = scripted();
  election.acquire();
  const { signal, ...term } = leading(candidate);
  election.acquire(50);
  const end = performance.now() + 60;
  block(() => performance.now() > end);
  expect([term.isCurrent(), candidate.isLeader, signal.aborted]).toEqual([false, false, true]);
  expect(signal.reason).toMatchObject({ reason: 'EXPIRED' });
});

test('a callback that was due before the event finds the signal aborted', async () => {
  const { election, candidate } = scripted();
  election.acquire();
  const { signal } = leading(candidate);
  election.acquire(50);
  let heard = 0;
  signal.addEventListener('abort', () => (heard += 1));
  const turn = new Promise<boolean>((resolve) => setTimeout(() => resolve(signal.aborted), 0));
  const end = performance.now() + 60;
  block(() => performance.now() > end);
  expect(await turn).toBe(true);
  expect(heard).toBe(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(heard).toBe(1);
});

test('a listener hears of it without asking', async () => {
  await using faulty = await faultyStore();
  const candidate = await faulty.store.campaign('jobs', SHORT);
  const { signal } = await won(candidate);
  faulty.partition();
  await once(signal, 'abort');
  expect(signal.reason).toMatchObject({ code: 'TERM_ENDED', reason: 'EXPIRED' });
});

test('a real lease that ran out while the loop was blocked is over at the first look', async () => {
  await using faulty = await faultyStore();
  const candidate = await faulty.store.campaign('jobs', SHORT);
  const term = await won(candidate);
  const { signal } = term;
  faulty.partition();
  block(() => term.remainingMs === 0);
  expect([term.isCurrent(), signal.aborted, candidate.isLeader]).toEqual([false, true, false]);
});

function scripted(): { election: ScriptedElection; candidate: ScriptedElection['candidate'] } {
  const election = new ScriptedElection();
  return { election, candidate: election.candidate };
}

function leading(candidate: ScriptedElection['candidate']): { signal: AbortSignal; isCurrent: () => boolean } {
  const term = candidate.term!;
  return { signal: term.signal, isCurrent: () => term.isCurrent() };
}
