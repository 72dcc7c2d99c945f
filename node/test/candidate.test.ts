/** A candidate on a store in this process. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { ClosedError, NotLeaderError, connect, type Store, type Term } from '../dist/index.js';
import { until } from '../dist/testing.js';
import { FAST, event, won } from './support.js';

let store: Store;

beforeEach(async () => {
  store = await connect('memory:');
});

afterEach(() => store.close());

test('a lone candidate leads, and all its readings show it', async () => {
  const candidate = await store.campaign('jobs', { ...FAST, name: 'a', metadata: { address: 'x' } });
  const term = await won(candidate);
  expect([candidate.isLeader, candidate.state, candidate.name, candidate.election]).toEqual([
    true,
    'LEADING',
    'a',
    'jobs',
  ]);
  expect(candidate.term).toBe(term);
  expect(candidate.leader).toMatchObject({ name: 'a', metadata: { address: 'x' } });
  expect(await store.leader('jobs')).toMatchObject({ name: 'a', metadata: { address: 'x' } });
  expect((await store.list()).map(({ election, leader }) => [election, leader?.name])).toEqual([['jobs', 'a']]);
});

test('the candidates of an election are listed, the longest standing first', async () => {
  const first = await store.campaign('jobs', { ...FAST, name: 'a' });
  await won(first);
  await using second = await store.campaign('jobs', { ...FAST, name: 'b' });
  const candidates = await store.candidates('jobs');
  expect(candidates?.map(({ election, name }) => [election, name])).toEqual([
    ['jobs', 'a'],
    ['jobs', second.name],
  ]);
  expect(candidates?.[0]?.nonce).toBe(first.leader?.nonce);
  expect(candidates?.[0]?.standingForMs).toBeGreaterThanOrEqual(candidates?.[1]?.standingForMs ?? Infinity);
  expect(await store.candidates('others')).toEqual([]);
});

test('an election without candidates has no leader', async () => {
  expect(await store.leader('jobs')).toBeNull();
});

test('a loop over terms has each once, and tokens that grow', async () => {
  const candidate = await store.campaign('jobs', FAST);
  const terms: Term[] = [];
  for await (const term of candidate.terms()) {
    terms.push(term);
    await (terms.length < 3 ? candidate.resign() : candidate.close());
  }
  const tokens = terms.map(({ token }) => token);
  expect(tokens).toEqual([...new Set(tokens)].sort());
  expect(terms.map((term) => term.reason)).toEqual(['RESIGNED', 'RESIGNED', 'CLOSED']);
  expect(terms.every(({ sequence }, at) => at === 0 || sequence > terms[at - 1]!.sequence)).toBe(true);
});

test('a drain waits for the turn of the loop', async () => {
  const candidate = await store.campaign('jobs', FAST);
  const terms = candidate.terms();
  const { value: term } = await terms.next();
  let isOver = false;
  // Called from outside of the work.
  const resigned = outside(() => candidate.resign().then(() => (isOver = true)));
  await term!.draining();
  expect([term!.isCurrent(), candidate.isLeader, isOver]).toEqual([true, true, false]);
  expect(term!.drainRemainingMs).toBeGreaterThan(0);
  await terms.return();
  await resigned;
  expect([term!.isCurrent(), isOver]).toEqual([false, true]);
});

const queue: (() => void)[] = [];
setInterval(() => queue.shift()?.(), 1).unref();

/** Calls a function outside of the work around it. */
function outside<T>(act: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => queue.push(() => void act().then(resolve, reject)));
}

test('a hold is waited for as well', async () => {
  const candidate = await store.campaign('jobs', FAST);
  const term = await won(candidate);
  const hold = term.hold();
  const resigned = candidate.resign();
  await term.draining();
  expect(term.isCurrent()).toBe(true);
  hold.release();
  hold.release();
  await resigned;
  expect(term.reason).toBe('RESIGNED');
});

test('lead runs the work of each term, and one at a time', async () => {
  const candidate = await store.campaign('jobs', FAST);
  const seen: string[] = [];
  let running = 0;
  await candidate.lead(async (term) => {
    running += 1;
    seen.push(`${running} ${term.isCurrent()}`);
    await (seen.length < 3 ? candidate.resign() : candidate.close());
    running -= 1;
  });
  expect(seen).toEqual(['1 true', '1 true', '1 true']);
});

test('work that returns leaves the term as it is', async () => {
  const candidate = await store.campaign('jobs', FAST);
  const done: Term[] = [];
  const leading = candidate.lead((term) => done.push(term));
  await until('the work is done', () => done.length === 1);
  expect(candidate.isLeader).toBe(true);
  await candidate.close();
  await leading;
  expect(done).toHaveLength(1);
});

test('a signal is aborted with the reason, and stops what listens to it', async () => {
  const candidate = await store.campaign('jobs', FAST);
  const term = await won(candidate);
  expect(term.signal).toBe(term.signal);
  expect(term.signal.aborted).toBe(false);
  const stopped = new Promise((resolve) => term.signal.addEventListener('abort', resolve, { once: true }));
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const request = fetch(`http://127.0.0.1:${port}/`, { signal: term.signal });
  // The request is left without an answer.
  await once(server, 'request');
  term.fail();
  await expect(request).rejects.toMatchObject({ code: 'TERM_ENDED', reason: 'HANDLER_FAILED' });
  server.closeAllConnections();
  server.close();
  await stopped;
  expect(term.signal.reason).toMatchObject({ code: 'TERM_ENDED', reason: 'HANDLER_FAILED' });
  expect(() => term.signal.throwIfAborted()).toThrow('the term ended');
});

test('a hand-over goes to the named candidate', async () => {
  const first = await store.campaign('jobs', { ...FAST, name: 'first' });
  await won(first);
  const others = await Promise.all(['b', 'c', 'd'].map((name) => store.campaign('jobs', { ...FAST, name })));
  await until('all are waiting', () => others.every(({ state }) => state === 'WAITING'));
  await first.handOver('c');
  await until('another candidate leads', () => others.some(({ isLeader }) => isLeader));
  expect(others.find(({ isLeader }) => isLeader)?.name).toBe('c');
});

test('who does not lead cannot hand over', async () => {
  await won(await store.campaign('jobs', FAST));
  const second = await store.campaign('jobs', FAST);
  await expect(second.handOver('x')).rejects.toBeInstanceOf(NotLeaderError);
});

test('events tell the story of a term', async () => {
  const candidate = await store.campaign('jobs', { ...FAST, name: 'a' });
  const events = candidate.events();
  const { term } = await event(events, 'won');
  await candidate.close();
  const types: unknown[] = [];
  for await (const one of events) {
    if (one.type !== 'stateChanged') {
      types.push('reason' in one ? [one.type, one.reason, one.term === term] : one.type);
    }
  }
  expect(types.filter((one) => Array.isArray(one))).toEqual([
    ['draining', 'CLOSED', true],
    ['lost', 'CLOSED', true],
  ]);
});

test('an observer sees leaders and vacancies, and ends with its store', async () => {
  const seen: (string | undefined)[] = [];
  const observed = (async () => {
    for await (const { leader } of store.observe('jobs')) {
      seen.push(leader?.name);
    }
  })();
  const candidate = await store.campaign('jobs', { ...FAST, name: 'a' });
  await until('the leader is seen', () => seen.includes('a'));
  await candidate.close();
  await until('the vacancy is seen', () => seen.at(-1) === undefined);
  await store.close();
  await observed;
});

test('an unhealthy leader resigns, and comes back', async () => {
  const candidate = await store.campaign('jobs', FAST);
  const term = await won(candidate);
  candidate.setHealthy(false);
  expect(await term.ended()).toBe('UNHEALTHY');
  candidate.setHealthy(true);
  expect((await won(candidate)).token > term.token).toBe(true);
});

test('a store that is closed takes no campaign, and closes what it had', async () => {
  const candidate = await store.campaign('jobs', FAST);
  const term = await won(candidate);
  await store.close();
  expect([candidate.state, candidate.isLeader, term.reason]).toEqual(['CLOSED', false, 'CLOSED']);
  await expect(store.campaign('jobs', FAST)).rejects.toBeInstanceOf(ClosedError);
  await store.close();
  await candidate.close();
});

test('await using closes stores and candidates at the end', async () => {
  let kept;
  {
    await using mine = await connect('memory:');
    await using candidate = await mine.campaign('jobs', FAST);
    kept = candidate;
    await won(candidate);
  }
  expect(kept.state).toBe('CLOSED');
});

test('a wait for a store that is not there ends with its signal or at its time limit, and leaves no wait behind', async () => {
  const noServer = 'nats://127.0.0.1:1/JOBS';
  const reason = new Error('enough');
  const stop = new AbortController();
  const waiting = connect(noServer, { signal: stop.signal });
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(connect(noServer, { signal: stop.signal })).rejects.toBe(reason);
  await expect(connect(noServer, { timeout: 20 })).rejects.toThrow('opening the store took longer than 20 ms');
  await expect(connect(noServer, { signal: 7 as never })).rejects.toThrow('signal is 7, and must be an AbortSignal');
  await expect(connect(noServer, { timeout: -1 })).rejects.toThrow('timeout is -1, and must be a number of milliseconds');
  await expect(store.campaign('jobs', { ...FAST, signal: stop.signal })).rejects.toBe(reason);
  expect(await store.candidates('jobs')).toEqual([]);
});

test('a signal ends the wait for a term, and the campaign continues', async () => {
  const leader = await store.campaign('jobs', FAST);
  await won(leader);
  const candidate = await store.campaign('jobs', FAST);
  const stop = new AbortController();
  const { signal } = stop;
  const waiting = [candidate.terms({ signal }).next(), candidate.lead(() => undefined, { signal })];
  stop.abort(new Error('enough'));
  for (const one of waiting) {
    await expect(one).rejects.toThrow('enough');
  }
  await expect(candidate.terms({ signal }).next()).rejects.toThrow('enough');
  await leader.close();
  const term = await won(candidate);
  const resigned = performance.now();
  await candidate.resign();
  expect([term.reason, performance.now() - resigned < 5000]).toEqual(['RESIGNED', true]);
  expect(() => candidate.terms({ signal: 7 as never })).toThrow('signal is 7, and must be an AbortSignal');
});

test('a drain aborts one signal, and the end of the term the other', async () => {
  const candidate = await store.campaign('jobs', FAST);
  const term = await won(candidate);
  const hold = term.hold();
  expect([term.drainSignal, term.ended(), term.draining()]).toEqual([term.drainSignal, term.ended(), term.draining()]);
  expect(term.drainSignal.aborted).toBe(false);
  const resigned = candidate.resign();
  await term.draining();
  expect([term.drainSignal.aborted, term.signal.aborted, term.drainSignal.reason.name]).toEqual([true, false, 'AbortError']);
  hold.release();
  await resigned;
  expect(term.signal.reason).toMatchObject({ code: 'TERM_ENDED', reason: 'RESIGNED' });
});

test('a term that ends without a drain aborts both signals with its reason', async () => {
  const candidate = await store.campaign('jobs', FAST);
  const term = await won(candidate);
  const { drainSignal } = term;
  term.fail();
  await term.ended();
  expect(() => drainSignal.throwIfAborted()).toThrow('the term ended');
  expect(drainSignal.reason).toMatchObject({ code: 'TERM_ENDED', reason: 'HANDLER_FAILED' });
});

test('all returned values can be written as JSON, and printed', async () => {
  const candidate = await store.campaign('jobs', { ...FAST, name: 'a', metadata: { rack: '7' } });
  const term = await won(candidate);
  await until('it sees itself', () => candidate.leader !== null);
  const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  const { token, sequence, incarnation } = term;
  const { revision, nonce } = candidate.leader!;
  const leader = { name: 'a', revision: String(revision), nonce, metadata: { rack: '7' } };
  expect(json(candidate.leader)).toEqual(leader);
  expect(json(await store.list())).toEqual([{ election: 'jobs', leader }]);
  expect(json(term)).toEqual({
    election: 'jobs',
    token,
    sequence: String(sequence),
    incarnation: String(incarnation),
    isCurrent: true,
    remainingMs: expect.any(Number) as number,
    drainRemainingMs: null,
    reason: null,
  });
  expect(json(candidate)).toMatchObject({ election: 'jobs', name: 'a', state: 'LEADING', isLeader: true, leader, term: { token } });
  expect(json(await store.candidates('jobs'))).toMatchObject([{ name: 'a' }]);
  expect(inspect(candidate)).toMatch(/^Candidate \{\n +election: 'jobs',\n +name: 'a'/);
  expect(inspect(term)).toContain(`token: '${token}'`);
});

test('a signal whose engine reads aborted while it aborts is aborted once', async () => {
  const candidate = await store.campaign('jobs', FAST);
  const { signal, ended } = { signal: (await won(candidate)).signal, ended: candidate.term!.ended() };
  let read: boolean | undefined;
  const abort = vi.spyOn(AbortController.prototype, 'abort').mockImplementation(function (this: AbortController, reason) {
    // As Deno's does.
    read = this.signal.aborted;
    abort.mockRestore();
    this.abort(reason);
  });
  candidate.term!.fail();
  await ended;
  expect([signal.aborted, read]).toEqual([true, true]);
  abort.mockRestore();
});
