/** The API of `incumbent/testing`, in vitest and in node:test. */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';

import { InvalidSettingError, TimedOutError } from '../dist/index.js';
import { ManualClock, ScriptedElection, faultyStore, until } from '../dist/testing.js';
import { SHORT, event, won } from './support.js';

test('an election follows its script, and lists the requests', async () => {
  const { candidate } = new ScriptedElection({ election: 'cron', name: 'me' });
  const election = new ScriptedElection({ name: 'me' });
  expect([candidate.election, candidate.name, candidate.isLeader, candidate.term]).toEqual(['cron', 'me', false, null]);
  const tokens = [election.acquire()];
  expect(election.candidate.term?.token).toBe(tokens[0]);
  election.revoke('DELETED');
  expect(election.candidate.isLeader).toBe(false);
  tokens.push(election.acquire());
  expect(tokens[1]! > tokens[0]!).toBe(true);
  await election.candidate.handOver('other');
  election.candidate.setHealthy(false);
  election.candidate.acceptReset();
  await election.candidate.close();
  expect(election.asked).toEqual([
    { what: 'handOver', to: 'other' },
    { what: 'setHealthy', isWell: false },
    { what: 'acceptReset' },
    { what: 'close' },
  ]);
});

test('on a manual clock a lease lasts until the clock is advanced', () => {
  const clock = new ManualClock();
  const election = new ScriptedElection({ clock });
  election.acquire(5000);
  const term = election.candidate.term!;
  expect([term.remainingMs, term.isCurrent()]).toEqual([5000, true]);
  clock.advance(4999);
  expect([term.remainingMs, term.isCurrent()]).toEqual([1, true]);
  clock.advance(1);
  expect([term.remainingMs, term.isCurrent(), term.signal.aborted]).toEqual([0, false, true]);
  expect(() => clock.advance(-1)).toThrow('milliseconds is -1, and must be a number of milliseconds');
});

test.each([
  ['the clock of the machine', undefined],
  ['a manual clock', new ManualClock()],
])('a lease that runs out ends its term, on %s', async (_, clock) => {
  const { candidate, ...election } = scripted(clock);
  const lost = once(candidate, 'lost');
  const won = once(candidate, 'won');
  election.acquire();
  const [term] = await won;
  election.acquire(20);
  clock?.advance(20);
  expect((await lost)[1]).toBe('EXPIRED');
  expect([term.signal.aborted, term.reason, candidate.term]).toEqual([true, 'EXPIRED', null]);
  // A term that has expired is not continued.
  expect(election.acquire() > term.token).toBe(true);
});

function scripted(clock?: ManualClock): { candidate: ScriptedElection['candidate']; acquire: (ms?: number) => string } {
  const election = new ScriptedElection(clock === undefined ? {} : { clock });
  return { candidate: election.candidate, acquire: (ms) => election.acquire(ms) };
}

test.each([
  [() => new ScriptedElection({ nme: 'a' } as object), 'a scripted election has no option "nme"'],
  [() => new ScriptedElection({ clock: 7 as never }), 'clock is 7, and must be a ManualClock'],
  [() => new ScriptedElection(null as never), 'the options for a scripted election must be an object, not null'],
  [() => new ScriptedElection().acquire('5s' as never), 'leaseMs is "5s", and must be a number of milliseconds'],
  [() => new ScriptedElection().acquire(-1), 'leaseMs is -1, and must be a number of milliseconds, not negative'],
  [() => new ScriptedElection().leader(7 as never), 'name is 7, and must be a string'],
])('what cannot be meant is refused by name: %o', (act, message) => {
  expect(act).toThrow(InvalidSettingError);
  expect(act).toThrow(message);
});

test('a store has the faults that the test asks for', async () => {
  await using faulty = await faultyStore();
  const candidate = await faulty.store.campaign('jobs', SHORT);
  const term = await won(candidate);
  faulty.loseAnswers(1);
  faulty.busy(1);
  const events = candidate.events();
  faulty.partition();
  expect((await event(events, 'lost')).reason).toBe('EXPIRED');
  faulty.heal();
  expect((await won(candidate)).token > term.token).toBe(true);
  faulty.denyWrites('no more');
  await until('the term is over', () => !candidate.isLeader);
  faulty.allowWrites();
  await won(candidate);
});

test('an unknown reason is refused', () => {
  expect(() => new ScriptedElection().revoke('BORED' as 'CLOSED')).toThrow('"BORED" is not a reason');
});

test('until waits in a test with fake timers, and so does the time limit of a call', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const election = new ScriptedElection();
  let asked = 0;
  await until('it was asked for the third time', () => (asked += 1) === 3);
  await expect(until('never', () => false, 20)).rejects.toThrow('waited 20 ms for: never');
  await expect(election.candidate.nextTerm({ timeout: 20 })).rejects.toBeInstanceOf(TimedOutError);
});

test('node:test runs with it, and ends though nothing was closed', () => {
  const output = execFileSync(process.execPath, ['--test', join(__dirname, 'programs/node-test.mjs')], {
    encoding: 'utf8',
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  });
  expect(output).toMatch(/pass 1\n/);
});
