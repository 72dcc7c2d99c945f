/** `runAsLeader`, in this process and as a program that supervisors stop. */

import { afterEach, beforeEach, expect, test } from 'vitest';

import { TimedOutError, connect, runAsLeader, type Candidate, type Store, type Term } from '../dist/index.js';
import { until } from '../dist/testing.js';
import { FAST, bucket, program } from './support.js';

let store: Store;

beforeEach(async () => {
  store = await connect('memory:');
});

afterEach(() => store.close());

test('leadership is given back when the function returns, and its result is that of the run', async () => {
  let led: Candidate | undefined;
  const result = await runAsLeader(store, 'jobs', async (term, candidate) => {
    led = candidate;
    return [term.isCurrent(), candidate.isLeader];
  }, FAST);
  expect(result).toEqual([true, true]);
  expect([led!.state, await store.leader('jobs')]).toEqual(['CLOSED', null]);
});

test('leadership is kept where that is wanted, until the run is stopped', async () => {
  const stop = new AbortController();
  let led: Candidate | undefined;
  const running = runAsLeader(store, 'jobs', (_, candidate) => ((led = candidate), 7), {
    ...FAST,
    keepLeading: true,
    signal: stop.signal,
  });
  await until('the work is done', () => led !== undefined);
  await led!.resign();
  await until('it leads again', () => led!.isLeader);
  stop.abort();
  expect([await running, led!.state]).toEqual([7, 'CLOSED']);
});

test('a function that throws ends the term and the run with its error', async () => {
  let term: Term | undefined;
  const error = new Error('no disk');
  const running = runAsLeader(store, 'jobs', (mine) => {
    term = mine;
    throw error;
  }, FAST);
  await expect(running).rejects.toBe(error);
  expect([term!.reason, await store.leader('jobs')]).toEqual(['HANDLER_FAILED', null]);
});

test('a term that ends before the work does is followed by another', async () => {
  const tokens: string[] = [];
  const result = await runAsLeader(store, 'jobs', async (term) => {
    tokens.push(term.token);
    if (tokens.length < 3) {
      term.fail();
      await term.ended();
      term.signal.throwIfAborted();
    }
    return tokens.length;
  }, FAST);
  expect(result).toBe(3);
  expect(tokens).toEqual([...new Set(tokens)].sort());
});

/** Waits until the term drains, without the work's notice. */
async function drains(candidate: Candidate): Promise<void> {
  void candidate.resign();
  await until('it drains', () => candidate.toJSON().term?.drainRemainingMs !== null);
}

test.each([['a value', 'done'], ['nothing', undefined]])('a job that returns %s while its term drains is done', async (_, result) => {
  let calls = 0;
  const done = await runAsLeader(store, 'jobs', async (_, candidate) => {
    calls += 1;
    await drains(candidate);
    return result;
  }, { ...FAST, drain: 60_000 });
  expect([done, calls, await store.leader('jobs')]).toEqual([result, 1, null]);
});

test.each([
  ['drainSignal', async (term: Term) => void term.drainSignal],
  ['draining', async (term: Term) => term.draining()],
  ['drainRemainingMs', async (term: Term) => void term.drainRemainingMs],
  ['an abort', async () => Promise.reject(new DOMException('stopped', 'AbortError'))],
] as const)('work that stops because its term drains is called in the next one: %s', async (_, notice) => {
  const tokens: string[] = [];
  const result = await runAsLeader(store, 'jobs', async (term, candidate) => {
    tokens.push(term.token);
    if (tokens.length === 2) {
      return 'in the next term';
    }
    await drains(candidate);
    await notice(term);
    return undefined;
  }, { ...FAST, drain: 60_000 });
  expect(result).toBe('in the next term');
  expect(tokens).toEqual([...new Set(tokens)].sort());
});

test('work that returns nothing while a handler finishes for it is called in the next term', async () => {
  let calls = 0;
  const stopped: (() => void)[] = [];
  const finish = (): Promise<void> => new Promise((end) => {
    stopped.forEach((stop) => stop());
    // The term lasts until the work has returned.
    setImmediate(end);
  });
  const result = await runAsLeader(store, 'jobs', async (_, candidate) => {
    calls += 1;
    if (calls === 2) {
      return 'in the next term';
    }
    const told = new Promise<void>((stop) => stopped.push(stop));
    void candidate.resign();
    await told;
    return undefined;
  }, { ...FAST, drain: finish, drainTime: 60_000 });
  expect([result, calls]).toEqual(['in the next term', 2]);
});

test('a run that is stopped drains: the work finishes before the lease is released', async () => {
  const stop = new AbortController();
  const seen: unknown[] = [];
  const running = runAsLeader(store, 'jobs', async (term) => {
    stop.abort();
    await term.draining();
    seen.push(term.isCurrent(), term.drainSignal.aborted, term.signal.aborted);
    return 'finished';
  }, { ...FAST, signal: stop.signal });
  expect(await running).toBe('finished');
  expect(seen).toEqual([true, true, false]);
});

test('a run that is stopped while it waits for its term ends without a result', async () => {
  const leader = await store.campaign('jobs', FAST);
  await until('the other leads', () => leader.isLeader);
  const stop = new AbortController();
  const running = runAsLeader(store, 'jobs', () => 7, { ...FAST, signal: stop.signal });
  await until('it is a candidate', async () => (await store.candidates('jobs'))?.length === 2);
  stop.abort();
  expect(await running).toBeUndefined();
  expect(await runAsLeader(store, 'jobs', () => 7, { ...FAST, signal: stop.signal })).toBeUndefined();
});

test('a run that opens its store closes it, and waits for it no longer than it may', async () => {
  const waiting = runAsLeader('nats://127.0.0.1:1/JOBS', 'jobs', () => 7, { timeout: 50 });
  await expect(waiting).rejects.toBeInstanceOf(TimedOutError);
  expect(await runAsLeader('memory:', 'jobs', () => 7, { ...FAST, store: { failFast: true } })).toBe(7);
});

test('settings that do not exist are refused, and listeners are left nowhere', async () => {
  const before = process.listenerCount('SIGTERM');
  const refused = (settings: object): Promise<unknown> => runAsLeader(store, 'jobs', () => 7, settings);
  await expect(refused({ leese: 1 })).rejects.toThrow('leese');
  await expect(refused({ keepLeading: 1 })).rejects.toThrow('keepLeading is 1, and must be true or false');
  await expect(refused({ stopOn: ['SIGWHAT'] })).rejects.toThrow('stopOn is a list, and must be a list of signals');
  await expect(refused({ signal: 7 })).rejects.toThrow('signal is 7, and must be an AbortSignal');
  expect(process.listenerCount('SIGTERM')).toBe(before);
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s lets the work finish, gives the lease back and ends the process', async (signal) => {
  const url = bucket();
  const leader = program('run.mjs', url, 'finish');
  await leader.expect('leading');
  leader.child.kill(signal);
  await leader.expect('finishing');
  leader.child.kill(signal);
  expect([await leader.ended, leader.errors]).toEqual([0, '']);
  await using other = await connect(url);
  expect(await other.leader('jobs')).toBeNull();
});

test('a second signal of a person who cannot wait ends the process at once', async () => {
  const leader = program('run.mjs', bucket(), 'hang');
  await leader.expect('leading');
  leader.child.kill('SIGINT');
  await leader.expect('finishing');
  await leader.expect('a second later');
  leader.child.kill('SIGINT');
  expect(await leader.ended).toBe(130);
});

test('any number of runs listen to each signal once, and all of them end by it', async () => {
  const leaders = program('many.mjs', 'runs');
  expect(await leaders.expect('leading')).toBe('1 1');
  leaders.child.kill('SIGTERM');
  expect(await leaders.expect('ended')).toBe('true 0 0');
  expect([await leaders.ended, leaders.errors, leaders.lines]).toEqual([0, '', []]);
});

test('any number of waits listen to one AbortSignal once, and all of them end by it', async () => {
  const waits = program('many.mjs', 'waits');
  expect(await waits.expect('ended')).toBe('true 48');
  expect([await waits.ended, waits.errors, waits.lines]).toEqual([0, '', []]);
});

test.each([
  ['default', ['warned INCUMBENT_NO_SIGNALS']],
  ['signal', []],
  ['none', []],
])('a run in a worker thread is warned once that no signal of the process ends it: %s', async (settings, warnings) => {
  const leaders = program('run-thread.mjs', settings);
  expect(await leaders.ended).toBe(0);
  const of = (what: string): string[] => leaders.lines.filter((line) => line.startsWith(what));
  expect([of('warned'), of('leading').length, of('ended').length]).toEqual([warnings, 2, 1]);
});
