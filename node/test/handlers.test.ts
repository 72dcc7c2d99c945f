/** The candidate as an event emitter, and handlers that throw. */

import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { InvalidSettingError, TermEndedError, connect, type Store, type Term, type Warning } from '../dist/index.js';
import { ScriptedElection, until } from '../dist/testing.js';
import { FAST, won } from './support.js';

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

test('listeners receive the events of a term in order', async () => {
  const { candidate } = election;
  const received: unknown[] = [];
  candidate.on('won', (term) => received.push(['won', term.token]));
  candidate.on('draining', (term, reason) => received.push(['draining', term.token, reason]));
  candidate.on('lost', (term, reason) => received.push(['lost', term.token, reason]));
  candidate.on('leaderChanged', (leader) => received.push(['leader', leader?.name]));
  const token = election.acquire();
  await until('the win is reported', () => received.some((one) => (one as string[])[0] === 'won'));
  election.drain('RESIGNED');
  await until('the loss is reported', () => received.some((one) => (one as string[])[0] === 'lost'));
  election.leader('another');
  await until('the leader is reported', () => received.some((one) => (one as string[])[1] === 'another'));
  expect(received.filter((one) => (one as string[])[0] !== 'leader')).toEqual([
    ['won', token],
    ['draining', token, 'RESIGNED'],
    ['lost', token, 'RESIGNED'],
  ]);
});

test('a listener that is added late receives the present term', async () => {
  const token = election.acquire();
  const received = await new Promise((resolve) => election.candidate.once('won', (term) => resolve(term.token)));
  expect(received).toBe(token);
});

test('a drain that begins before the win was read waits for the listeners all the same', async () => {
  const { candidate } = election;
  let finish = (): void => undefined;
  const drained = new Promise<void>((resolve) => (finish = resolve));
  const received: unknown[] = [];
  candidate.on('draining', async (term) => {
    received.push(['draining', term.isCurrent()]);
    await drained;
  });
  candidate.on('lost', (term, reason) => received.push(['lost', term.isCurrent(), reason]));
  election.acquire();
  // The drain begins in the same turn of the event loop, so the win has not been read yet.
  election.drain('RESIGNED');
  await until('the drain is reported', () => received.length === 1);
  finish();
  await until('the loss is reported', () => received.length === 2);
  expect(received).toEqual([
    ['draining', true],
    ['lost', false, 'RESIGNED'],
  ]);
});

test('a draining term lasts until the listeners are done', async () => {
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
  await until('the win is reported', () => isWon);
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
  await until('the win is reported', () => isWon);
  election.drain('RESIGNED');
  await until('it is closed', () => isClosed);
});

test('listeners that throw or reject are reported as warnings, and harm no other', async () => {
  const { candidate } = election;
  const warnings: Warning[] = [];
  const received: string[] = [];
  const thrown = new Error('thrown');
  candidate.on('warning', (warning) => warnings.push(warning));
  candidate.on('won', () => {
    throw thrown;
  });
  candidate.on('won', () => Promise.reject(new Error('rejected')));
  candidate.on('won', () => received.push('won'));
  candidate.on('lost', () => received.push('lost'));
  election.acquire();
  await until('both are reported', () => warnings.length === 2);
  expect(candidate.isLeader).toBe(true);
  election.revoke('EXPIRED');
  await until('the loss is reported', () => received.includes('lost'));
  expect(received).toEqual(['won', 'lost']);
  expect(warnings.map(({ code, message }) => [code, message])).toEqual([
    ['HANDLER_FAILED', 'a handler failed: thrown'],
    ['HANDLER_FAILED', 'a handler failed: rejected'],
  ]);
  expect(warnings[0]?.cause).toBe(thrown);
  expect(unhandled).not.toHaveBeenCalled();
});

test('without a listener for warnings a failure is a warning', async () => {
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

test('a listener for warning that throws is a warning', async () => {
  election.candidate.on('warning', () => Promise.reject(new Error('warning')));
  election.warning();
  election.warning();
  await until('the warnings are there', () => warned.mock.calls.length >= 1);
  expect(unhandled).not.toHaveBeenCalled();
});

test('work that fails ends the term, and the next one is worked for', async () => {
  const { candidate } = election;
  const warnings: Warning[] = [];
  candidate.on('warning', (warning) => warnings.push(warning));
  const tokens: string[] = [];
  // Not awaited.
  void candidate.lead((term) => {
    tokens.push(term.token);
    if (tokens.length === 1) {
      throw new Error('no work today');
    }
  });
  election.acquire();
  await until('it has failed', () => warnings.length === 1 && !candidate.isLeader);
  expect(election.asked).toContainEqual({ what: 'fail' });
  election.acquire();
  await until('the next one is worked for', () => tokens.length === 2);
  expect(candidate.isLeader).toBe(true);
  expect(unhandled).not.toHaveBeenCalled();
});

test('what work throws because its term is over is no failure', async () => {
  const { candidate } = election;
  const warnings: Warning[] = [];
  const reasons: unknown[] = [];
  candidate.on('warning', (warning) => warnings.push(warning));
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
  expect(warnings).toEqual([]);
});

test('an unknown event is refused by name', async () => {
  const { candidate } = election;
  const on = (name: string | symbol): unknown => candidate.on(name as 'won', () => undefined);
  expect(() => on('wno')).toThrow(InvalidSettingError);
  expect(() => on('wno')).toThrow('a candidate has no event "wno": choose one of won, draining, lost, leaderChanged');
  expect(() => on('toString')).toThrow('no event "toString"');
  expect(candidate.eventNames()).not.toContain('wno');
  on(Symbol('of some tool'));
  // `once` also listens for errors.
  const won = once(candidate, 'won');
  const token = election.acquire();
  expect((await won)[0].token).toBe(token);
});

test('listeners are taken off as they are put on', async () => {
  const { candidate } = election;
  const received: string[] = [];
  const off = (): unknown => received.push('off');
  candidate.on('won', off).once('won', () => received.push('once')).on('lost', () => received.push('lost'));
  candidate.off('won', off);
  for (const count of [1, 2]) {
    election.acquire();
    election.revoke('DELETED');
    await until('the loss is reported', () => received.filter((one) => one === 'lost').length === count);
  }
  expect(received).toEqual(['once', 'lost', 'lost']);
});

test('listeners that fall behind learn how many events they do not get, before the next one', async () => {
  const { candidate } = election;
  const received: unknown[] = [];
  // The candidate's first event, its present state, is read at once.
  candidate.on('missed', (count) => received.push(['missed', count]));
  candidate.on('won', (term) => received.push(['won', term.token]));
  candidate.on('lost', (term, reason) => received.push(['lost', term.token, reason]));
  candidate.on('stateChanged', (state) => received.push(state));
  const overrun = async (rounds: number): Promise<string[]> => {
    const tokens: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      tokens.push(election.acquire());
      election.revoke('USURPED');
    }
    const last = tokens.at(-1);
    await until('the last loss is reported', () => received.some((one) => (one as string[])[1] === last && (one as string[])[0] === 'lost'));
    return tokens;
  };
  // Each round has four events, and 1024 events are kept: 512 wins and their losses.
  const kept = (tokens: string[]): unknown[] =>
    tokens.slice(-512).flatMap((token) => [['won', token], ['lost', token, 'USURPED']]);
  const first = await overrun(600);
  expect(received.splice(0)).toEqual([['missed', 4 * 600 - 1024], 'WAITING', ...kept(first)]);
  const second = await overrun(700);
  expect(received.splice(0)).toEqual([['missed', 4 * 700 - 1024], ...kept(second)]);
});

describe('with a store', () => {
  let store: Store;
  beforeEach(async () => {
    store = await connect('memory:');
  });
  afterEach(() => store.close());

  test('a drain handler has its deadline, and when it is done the term ends', async () => {
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const called: [Term, number, number][] = [];
    const drain = async (term: Term, deadline: number): Promise<void> => {
      called.push([term, deadline, performance.now()]);
      await finished;
    };
    const candidate = await store.campaign('jobs', { ...FAST, drain, drainTime: '30s' });
    const term = await won(candidate);
    const resigned = candidate.resign();
    await until('it is called', () => called.length === 1);
    const [drained, deadline, at] = called[0]!;
    expect([drained, candidate.isLeader, deadline > at, deadline <= at + 30_000]).toEqual([term, true, true, true]);
    finish();
    await resigned;
    expect([term.reason, called.length]).toEqual(['RESIGNED', 1]);
  });

  test('a drain handler that takes too long has its signal aborted', async () => {
    const reasons: unknown[] = [];
    const drain = async ({ signal }: Term): Promise<void> => {
      // On a busy machine its time may be over when it begins.
      if (!signal.aborted) {
        await once(signal, 'abort');
      }
      reasons.push(signal.reason.reason);
    };
    const candidate = await store.campaign('jobs', { ...FAST, drain, drainTime: 50 });
    await won(candidate);
    await candidate.resign();
    await until('it has noticed', () => reasons.length === 1);
    expect(reasons).toEqual(['RESIGNED']);
  });

  test.each([
    [false, 'RESIGNED'],
    [true, 'HANDLER_FAILED'],
  ])('a drain handler that fails is reported, and with errorEndsTerm %o the reason is %s', async (errorEndsTerm, reason) => {
    const drain = (): Promise<void> => Promise.reject(new Error('not today'));
    const candidate = await store.campaign('jobs', { ...FAST, drain, errorEndsTerm });
    const warnings: Warning[] = [];
    candidate.on('warning', (warning) => warnings.push(warning));
    const term = await won(candidate);
    await candidate.resign();
    expect(term.reason).toBe(reason);
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([['HANDLER_FAILED', 'a handler failed: not today']]);
  });

  test.each([
    ['throws', (): unknown => {
      throw new Error('no');
    }],
    ['rejects', (): unknown => Promise.reject(new Error('no'))],
  ])('with errorEndsTerm a listener that %s ends the term', async (_, fail) => {
    const candidate = await store.campaign('jobs', { ...FAST, errorEndsTerm: true });
    const reasons: string[] = [];
    candidate.once('won', fail);
    candidate.on('warning', () => undefined);
    candidate.on('lost', (term, reason) => reasons.push(reason));
    await until('the term is over', () => reasons.length === 1);
    expect(reasons).toEqual(['HANDLER_FAILED']);
    // The candidate campaigns for the next term.
    await won(candidate);
  });
});
