/** The term of the code that runs, functions for the leader alone, and the wait for one term. */

import { afterEach, beforeEach, expect, test } from 'vitest';

import {
  ClosedError,
  NotLeaderError,
  TermEndedError,
  TimedOutError,
  connect,
  currentTerm,
  leaderOnly,
  runAsLeader,
  type Candidate,
} from '../dist/index.js';
import { ScriptedElection, until } from '../dist/testing.js';
import { FAST, program } from './support.js';

let election: ScriptedElection;
let candidate: Candidate;

beforeEach(() => {
  election = new ScriptedElection();
  ({ candidate } = election);
});

afterEach(() => candidate.close());

/** Deep code that is given no term. */
async function token(): Promise<string | undefined> {
  await new Promise(setImmediate);
  return currentTerm()?.token;
}

test('the function of lead and all that it calls have its term, and code outside has none', async () => {
  const seen: (string | undefined)[] = [];
  const job = candidate.lead(async () => void seen.push(await token()));
  const first = election.acquire();
  await until('the first work is done', () => seen.length === 1);
  election.revoke('DELETED');
  const second = election.acquire();
  await until('the second work is done', () => seen.length === 2);
  expect([seen, currentTerm(), await token()]).toEqual([[first, second], null, undefined]);
  await candidate.close();
  await job;
});

test('a turn of terms has its term, and the code after the loop has none', async () => {
  const won = [election.acquire()];
  const seen: (string | undefined)[] = [];
  for await (const _ of candidate.terms()) {
    seen.push(await token());
    if (seen.length === 2) {
      break;
    }
    election.revoke('DELETED');
    won.push(election.acquire());
  }
  expect([seen, await token()]).toEqual([won, undefined]);
});

test('code that outlives the work of its term still has that term, and sees that it is over', async () => {
  let go = (): void => undefined;
  const gate = new Promise<void>((resolve) => (go = resolve));
  let left: Promise<[string | undefined, boolean | undefined]> | undefined;
  const job = candidate.lead(() => {
    left = gate.then(() => [currentTerm()?.token, currentTerm()?.isCurrent()]);
  });
  const first = election.acquire();
  await until('the work is done', () => left !== undefined);
  election.revoke('DELETED');
  election.acquire();
  go();
  expect(await left).toEqual([first, false]);
  await candidate.close();
  await job;
});

test('what a signal of a term calls works for no term, though a loop over terms was the first to wait', async () => {
  // In a separate process, because a process's first wait creates the object that calls back.
  const waits = program('context.mjs');
  expect(await waits.expect('in the listener')).toBe('null');
  expect([await waits.ended, waits.errors]).toEqual([0, '']);
});

test('a listener of draining and the function of runAsLeader have the term', async () => {
  const draining = new Promise((resolve) => candidate.on('draining', async () => resolve(await token())));
  const first = election.acquire();
  election.drain('RESIGNED');
  expect(await draining).toBe(first);
  await using store = await connect('memory:');
  const [mine, deep] = (await runAsLeader(store, 'jobs', async (term) => [term.token, await token()], FAST))!;
  expect(deep).toBe(mine);
});

test('a function for the leader runs with its arguments, its receiver and its term where the candidate leads', async () => {
  const first = election.acquire();
  const service = {
    factor: 3,
    work: leaderOnly(candidate, async function (this: { factor: number }, one: number) {
      return [this.factor * one, await token()];
    }),
  };
  expect(await service.work(7)).toEqual([21, first]);
  expect([currentTerm(), candidate.isLeader]).toEqual([null, true]);
});

test('elsewhere a call is refused, or skipped where that is asked for', async () => {
  let called = 0;
  const work = (): number => (called += 1);
  const refused = leaderOnly(candidate, work)();
  await expect(refused).rejects.toBeInstanceOf(NotLeaderError);
  await expect(refused).rejects.toThrow('"candidate" does not lead "jobs": only the leader may call this');
  await expect(leaderOnly(() => undefined, work)()).rejects.toThrow('no candidate campaigns yet');
  expect([await leaderOnly(() => candidate, work, { otherwise: 'skip' })(), called]).toEqual([undefined, 0]);
});

test('a drain waits for a function for the leader', async () => {
  await using store = await connect('memory:');
  const leader = await store.campaign('jobs', { ...FAST, drain: 60_000 });
  const term = await leader.nextTerm();
  let finish = (): void => undefined;
  const call = leaderOnly(leader, () => new Promise<void>((resolve) => (finish = resolve)))();
  const leaving = leader.close();
  await term.draining();
  expect(term.isCurrent()).toBe(true);
  finish();
  await leaving;
  expect([await call, term.reason]).toEqual([undefined, 'CLOSED']);
});

test('a call whose term ends before the function does rejects with that end', async () => {
  const done = leaderOnly(candidate, async () => {
    election.revoke('USURPED');
    return 'too late';
  });
  const stopped = leaderOnly(candidate, async () => {
    const { signal } = currentTerm()!;
    election.revoke('EXPIRED');
    signal.throwIfAborted();
  });
  for (const [call, reason] of [[done, 'USURPED'], [stopped, 'EXPIRED']] as const) {
    election.acquire();
    const ended = call();
    await expect(ended).rejects.toBeInstanceOf(TermEndedError);
    await expect(ended).rejects.toMatchObject({ reason });
  }
});

test('an error of the function is that of the call, and ends no term', async () => {
  election.acquire();
  const error = new Error('no paper');
  await expect(leaderOnly(candidate, () => Promise.reject(error))()).rejects.toBe(error);
  expect(candidate.isLeader).toBe(true);
});

test('arguments of leaderOnly that cannot be meant are refused by name', () => {
  const work = (): undefined => undefined;
  expect(() => leaderOnly(7 as never, work)).toThrow('candidate is 7, and must be a candidate, or a function that returns one');
  expect(() => leaderOnly(candidate, 7 as never)).toThrow('work is 7, and must be a function');
  expect(() => leaderOnly(candidate, work, { otherwise: 'raise' as never })).toThrow('otherwise is "raise", and must be "throw" or "skip"');
  expect(() => leaderOnly(candidate, work, { othrwise: 'skip' } as never)).toThrow('leaderOnly has no option "othrwise"');
});

test('the next term is that which lasts, or the first to come, and is not held', async () => {
  const waiting = candidate.nextTerm();
  const first = election.acquire();
  expect((await waiting).token).toBe(first);
  const again = await candidate.nextTerm();
  expect([again.token, again === candidate.term]).toEqual([first, true]);
  election.drain('RESIGNED');
  expect(await again.ended()).toBe('RESIGNED');
});

test('a wait for the next term ends at its limits, and with the campaign', async () => {
  await expect(candidate.nextTerm({ timeout: 20 })).rejects.toBeInstanceOf(TimedOutError);
  const stop = new AbortController();
  const stopped = candidate.nextTerm({ signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(stopped).rejects.toThrow('enough');
  const over = expect(candidate.nextTerm()).rejects.toBeInstanceOf(ClosedError);
  await candidate.close();
  await over;
  await expect(candidate.nextTerm({ timeuot: 7 } as never)).rejects.toThrow('nextTerm has no option "timeuot"');
});
