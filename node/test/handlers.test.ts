/** The emitter's face, and handlers that throw. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { TermEndedError, type Trouble } from '../dist/index.js';
import { ScriptedElection, until } from '../dist/testing.js';

let election: ScriptedElection;
const unhandled = vi.fn();
const warned = vi.fn();

beforeEach(() => {
  election = new ScriptedElection();
  unhandled.mockClear();
  warned.mockClear();
  process.on('unhandledRejection', unhandled);
  process.on('warning', warned);
});

afterEach(async () => {
  process.off('unhandledRejection', unhandled);
  process.off('warning', warned);
  await election.candidate.close();
});

test('listeners are told of a term in order', async () => {
  const { candidate } = election;
  const told: unknown[] = [];
  candidate.on('won', (term) => told.push(['won', term.token]));
  candidate.on('draining', (term, reason) => told.push(['draining', term.token, reason]));
  candidate.on('lost', (term, reason) => told.push(['lost', term.token, reason]));
  candidate.on('leaderChanged', (leader) => told.push(['leader', leader?.name]));
  const token = election.acquire();
  await until('the win is told', () => told.some((one) => (one as string[])[0] === 'won'));
  election.drain('RESIGNED');
  await until('the loss is told', () => told.some((one) => (one as string[])[0] === 'lost'));
  election.leader('somebody');
  await until('the leader is told', () => told.some((one) => (one as string[])[1] === 'somebody'));
  expect(told.filter((one) => (one as string[])[0] !== 'leader')).toEqual([
    ['won', token],
    ['draining', token, 'RESIGNED'],
    ['lost', token, 'RESIGNED'],
  ]);
});

test('who listens late is told what holds', async () => {
  const token = election.acquire();
  const told = await new Promise((resolve) => election.candidate.once('won', (term) => resolve(term.token)));
  expect(told).toBe(token);
});

test('a term that drains goes on until the listeners are done', async () => {
  const { candidate } = election;
  let finish = (): void => undefined;
  const drained = new Promise<void>((resolve) => (finish = resolve));
  let isDraining = false;
  candidate.on('draining', async () => {
    isDraining = true;
    await drained;
  });
  let isWon = false;
  candidate.on('won', () => (isWon = true));
  election.acquire();
  await until('the win is told', () => isWon);
  election.drain('RESIGNED');
  await until('it drains', () => isDraining);
  expect(candidate.isLeader).toBe(true);
  finish();
  await until('the term is over', () => !candidate.isLeader);
});

test('a listener may wait for the candidate to be closed', async () => {
  const { candidate } = election;
  let isClosed = false;
  candidate.on('draining', async () => {
    await candidate.close();
    isClosed = true;
  });
  let isWon = false;
  candidate.on('won', () => (isWon = true));
  election.acquire();
  await until('the win is told', () => isWon);
  election.drain('RESIGNED');
  await until('it is closed', () => isClosed);
});

test('listeners that throw or reject are told as trouble, and harm nobody', async () => {
  const { candidate } = election;
  const troubles: Trouble[] = [];
  const told: string[] = [];
  const thrown = new Error('thrown');
  candidate.on('trouble', (trouble) => troubles.push(trouble));
  candidate.on('won', () => {
    throw thrown;
  });
  candidate.on('won', () => Promise.reject(new Error('rejected')));
  candidate.on('won', () => told.push('won'));
  candidate.on('lost', () => told.push('lost'));
  election.acquire();
  await until('both are told', () => troubles.length === 2);
  expect(candidate.isLeader).toBe(true);
  election.revoke('EXPIRED');
  await until('the loss is told', () => told.includes('lost'));
  expect(told).toEqual(['won', 'lost']);
  expect(troubles.map(({ code, message }) => [code, message])).toEqual([
    ['HANDLER_FAILED', 'a handler failed: thrown'],
    ['HANDLER_FAILED', 'a handler failed: rejected'],
  ]);
  expect(troubles[0]?.cause).toBe(thrown);
  expect(unhandled).not.toHaveBeenCalled();
});

test('where nobody listens for trouble a failure is a warning', async () => {
  election.candidate.on('won', () => Promise.reject(new Error('rejected')));
  election.candidate.on('won', () => {
    throw 'no error at all';
  });
  election.acquire();
  await until('the warnings are there', () => warned.mock.calls.length === 2);
  expect(warned.mock.calls.map(([warning]) => String(warning)).sort()).toEqual([
    'Error: no error at all',
    'Error: rejected',
  ]);
  expect(unhandled).not.toHaveBeenCalled();
});

test('a listener for trouble that throws is a warning', async () => {
  election.candidate.on('trouble', () => Promise.reject(new Error('trouble')));
  election.trouble();
  election.trouble();
  await until('the warnings are there', () => warned.mock.calls.length >= 1);
  expect(unhandled).not.toHaveBeenCalled();
});

test('work that fails ends the term, and the next one is worked for', async () => {
  const { candidate } = election;
  const troubles: Trouble[] = [];
  candidate.on('trouble', (trouble) => troubles.push(trouble));
  const tokens: string[] = [];
  // Nobody waits for it.
  void candidate.lead((term) => {
    tokens.push(term.token);
    if (tokens.length === 1) {
      throw new Error('no work today');
    }
  });
  election.acquire();
  await until('it has failed', () => troubles.length === 1 && !candidate.isLeader);
  expect(election.asked).toContainEqual({ what: 'fail' });
  election.acquire();
  await until('the next one is worked for', () => tokens.length === 2);
  expect(candidate.isLeader).toBe(true);
  expect(unhandled).not.toHaveBeenCalled();
});

test('what work throws because its term is over is no failure', async () => {
  const { candidate } = election;
  const troubles: Trouble[] = [];
  const reasons: unknown[] = [];
  candidate.on('trouble', (trouble) => troubles.push(trouble));
  let isWorking = false;
  const leading = candidate.lead(async ({ signal }) => {
    isWorking = true;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    reasons.push(signal.reason);
    signal.throwIfAborted();
  });
  election.acquire();
  await until('it works', () => isWorking);
  election.revoke('USURPED');
  await until('the work has ended', () => reasons.length === 1);
  await candidate.close();
  await leading;
  expect(reasons[0]).toBeInstanceOf(TermEndedError);
  expect(reasons[0]).toMatchObject({ reason: 'USURPED' });
  expect(troubles).toEqual([]);
});
