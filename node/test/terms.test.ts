/** Iterators over terms whose `next` is called early. */

import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';

import { connect, type Candidate, type Store, type Term } from '../dist/index.js';
import { until } from '../dist/testing.js';
import { FAST } from './support.js';

/** Settings with a drain that lasts longer than any step of a test. */
const LEAVING = { ...FAST, drainTime: 60_000 };

let store: Store;

beforeEach(async () => {
  store = await connect('memory:');
});

afterEach(() => store.close());

const soon = (milliseconds: number): Promise<undefined> =>
  new Promise((resolve) => setTimeout(() => resolve(undefined), milliseconds));

/** Returns a candidate that waits for its first term, and a function that makes it the leader. */
async function waiting(): Promise<{ candidate: Candidate; begins: () => Promise<void> }> {
  const leader = await store.campaign('jobs', { ...FAST, name: 'leader' });
  await until('the other leads', () => leader.isLeader);
  const candidate = await store.campaign('jobs', { ...LEAVING, name: 'candidate' });
  await until('it waits', () => candidate.state === 'WAITING');
  return { candidate, begins: () => leader.close() };
}

/** Returns the time that a resignation takes: a hold that is left extends it to the drain time, a minute. */
async function resigning(candidate: Candidate): Promise<number> {
  const began = performance.now();
  await candidate.resign();
  return performance.now() - began;
}

test('however often it is asked while it waits, it gives each term once and leaves no hold', async () => {
  const { candidate, begins } = await waiting();
  const terms = candidate.terms();
  const given: Term[] = [];
  for (let asked = 0; asked < 5; asked += 1) {
    void terms.next().then(({ value }) => value && given.push(value));
    await soon(10);
  }
  await begins();
  await until('the first is given', () => given.length >= 1);
  await terms.return();
  expect(await resigning(candidate)).toBeLessThan(30_000);
  await until('it leads again', () => candidate.isLeader);
  expect(given).toHaveLength(1);
});

test('simultaneous requests are answered in order, with one term after another', async () => {
  // Each term is held until the next is given, so that its lease has to run out.
  const candidate = await store.campaign('jobs', { ...LEAVING, lease: 5000 });
  const terms = candidate.terms();
  const asked = [terms.next(), terms.next(), terms.next()];
  const given: Term[] = [];
  for (const one of asked) {
    const { value } = await one;
    given.push(value!);
    value!.fail();
  }
  const tokens = given.map(({ token }) => token);
  expect(tokens).toEqual([...new Set(tokens)].sort());
  await until('the last term has ended', () => given.every(({ reason }) => reason !== null));
  expect(given.map(({ reason }) => reason)).toEqual(['HANDLER_FAILED', 'HANDLER_FAILED', 'HANDLER_FAILED']);
  await terms.return();
});

test('the current term is held, although the next is already requested', async () => {
  const candidate = await store.campaign('jobs', LEAVING);
  const terms = candidate.terms();
  const [first] = [terms.next(), terms.next()];
  const { value: term } = await first!;
  let isOver = false;
  void outside(() => candidate.resign().then(() => (isOver = true)));
  await term!.draining();
  await soon(50);
  expect([term!.isCurrent(), isOver]).toEqual([true, false]);
  await terms.return();
  await until('it has left', () => isOver);
});

test('a resignation in a turn of the terms does not wait for itself, although the next term is already requested', async () => {
  const candidate = await store.campaign('jobs', LEAVING);
  const terms = candidate.terms();
  const turn = async (): Promise<number> => {
    const first = terms.next();
    void terms.next();
    await first;
    return resigning(candidate);
  };
  expect(await turn()).toBeLessThan(30_000);
  await terms.return();
});

test('an iteration that is ended settles what is waited for', async () => {
  const { candidate, begins } = await waiting();
  const terms = candidate.terms();
  const asked = [terms.next(), terms.next()];
  expect(await terms.return()).toEqual({ done: true, value: undefined });
  const over = { done: true, value: undefined };
  expect(await Promise.race([Promise.all(asked), soon(50_000)])).toEqual([over, over]);
  expect(await terms.next()).toEqual(over);
  // A later term is held by no code.
  await begins();
  await until('it leads', () => candidate.isLeader);
  expect(await resigning(candidate)).toBeLessThan(30_000);
});

test('an iteration that is disposed of settles it too', async () => {
  const { candidate } = await waiting();
  let asked: Promise<IteratorResult<Term, undefined>>;
  {
    await using terms = candidate.terms();
    asked = terms.next();
  }
  expect(await Promise.race([asked, soon(50_000)])).toEqual({ done: true, value: undefined });
});

test('a campaign that is over answers every request', async () => {
  const { candidate } = await waiting();
  const terms = candidate.terms();
  const asked = [terms.next(), terms.next(), terms.next()];
  await candidate.close();
  const over = { done: true, value: undefined };
  expect(await Promise.all(asked)).toEqual([over, over, over]);
});

const queue: (() => void)[] = [];
setInterval(() => queue.shift()?.(), 1).unref();

/** Calls a function outside of the work around it. */
function outside<T>(act: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => queue.push(() => void act().then(resolve, reject)));
}

/** Returns the codes of the process' warnings from now on. */
function warnings(): unknown[] {
  const codes: unknown[] = [];
  const warned = (warning: Error & { code?: string }): unknown => codes.push(warning.code);
  process.on('warning', warned);
  onTestFinished(() => void process.off('warning', warned));
  return codes;
}

/** Waits until the warnings so far have been emitted, which is in a later turn of the event loop. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test.each(['terms', 'lead', 'draining'])('work that waits for the end of its own term is warned about: %s', async (where) => {
  const codes = warnings();
  const candidate = await store.campaign('jobs', { ...FAST, drain: 50 });
  let isAsked = where === 'draining';
  const waits = async (term: Term): Promise<unknown> => {
    isAsked = true;
    return term.ended();
  };
  if (where === 'draining') {
    candidate.on('draining', waits);
  } else if (where === 'lead') {
    void candidate.lead(waits);
  } else {
    void (async () => {
      for await (const term of candidate.terms()) {
        await waits(term);
      }
    })();
  }
  await until('it leads, and waits', () => candidate.isLeader && isAsked);
  const { term } = candidate;
  await candidate.resign();
  expect(await term!.ended()).toBe('RESIGNED');
  await turn();
  expect(codes).toEqual(['INCUMBENT_WORK_AWAITS_END']);
});

test('work that is done within the drain time may have asked for the end of its term', async () => {
  const codes = warnings();
  const candidate = await store.campaign('jobs', LEAVING);
  const reasons: string[] = [];
  let isAsked = false;
  const leading = candidate.lead(async (term) => {
    void term.ended().then((reason) => reasons.push(reason));
    isAsked = true;
    await term.draining();
  });
  // A candidate that closes as soon as it leads may have nothing to drain: its work never begins.
  await until('the work has begun', () => isAsked);
  await candidate.close();
  await leading;
  await until('the end is known', () => reasons.length === 1);
  await turn();
  expect([reasons, codes]).toEqual([['CLOSED'], []]);
});

test('a term that ends without a drain warns of no work that waits for its end', async () => {
  const codes = warnings();
  const candidate = await store.campaign('jobs', LEAVING);
  const reasons: string[] = [];
  let isAsked = false;
  void candidate.lead(async (term) => {
    isAsked = true;
    reasons.push(await term.ended());
  });
  await until('it waits', () => isAsked);
  candidate.term!.fail();
  await until('the end is known', () => reasons.length === 1);
  await turn();
  expect([reasons, codes]).toEqual([['HANDLER_FAILED'], []]);
});

test('work that asks for the end of its term only when the term is over is not warned about', async () => {
  const codes = warnings();
  const candidate = await store.campaign('jobs', { ...FAST, drain: 50 });
  let isWorking = false;
  let asked: Promise<string> | undefined;
  void candidate.lead(async (term) => {
    isWorking = true;
    await until('the term is over', () => !term.isCurrent());
    asked = term.ended();
    await asked;
    await turn();
  });
  await until('it works', () => isWorking);
  await candidate.resign();
  await until('the work has asked', () => asked !== undefined);
  expect(await asked).toBe('RESIGNED');
  await turn();
  expect(codes).toEqual([]);
});
