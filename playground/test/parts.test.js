// The world's parts, each by itself.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Clock } from '../src/model/clock.js';
import { Dice } from '../src/model/dice.js';
import { Network } from '../src/model/network.js';
import { Queue } from '../src/model/queue.js';
import { LEASES, margin } from '../src/model/settings.js';
import { Store } from '../src/model/store.js';
import { SECOND, micros, nanos } from '../src/model/time.js';
import { Watchman } from '../src/model/watchman.js';
import { list, moment, rate, span } from '../src/story/words.js';

test('a clock that is made slow does not jump, and reaches a reading later', () => {
  const clock = new Clock(0, 1_000);
  clock.setRate(10 * SECOND, -500_000);
  assert.equal(clock.at(10 * SECOND), 10 * SECOND + 1_000);
  assert.equal(clock.at(14 * SECOND), 12 * SECOND + 1_000);
  assert.equal(clock.when(12 * SECOND + 1_000), 14 * SECOND);
});

test('the moment a reading is reached is the first', () => {
  for (const ppm of [-500_000, -10_000, -7, 0, 3, 10_000, 500_000]) {
    const clock = new Clock(1_000, 77);
    clock.setRate(1_000, ppm);
    for (const reading of [78, 1_003, 10_000_007]) {
      const when = clock.when(reading);
      assert.ok(clock.at(when) >= reading, `${ppm} ${reading}`);
      assert.ok(clock.at(when - 1) < reading, `${ppm} ${reading}`);
    }
  }
});

test('tasks come by their moment, and of one moment in order', () => {
  const queue = new Queue();
  const done = [];
  for (const [at, name] of [[3, 'c'], [1, 'a'], [3, 'd'], [2, 'b'], [9, 'e']]) queue.put(at, () => done.push(name));
  for (let next = queue.take(5); next; next = queue.take(5)) next.task();
  assert.deepEqual(done, ['a', 'b', 'c', 'd']);
});

test('the same seed draws the same numbers, and another seed others', () => {
  const drawn = (seed) => {
    const dice = new Dice(seed);
    return Array.from({ length: 8 }, () => dice.between(1, 1_000_000));
  };
  assert.deepEqual(drawn(7), drawn(7));
  assert.notDeepEqual(drawn(7), drawn(8));
  assert.ok(drawn(7).every((number) => number >= 1 && number <= 1_000_000));
});

const record = (value, lease) => ({ value, headers: [['a', 'b']], lease: nanos(lease) });

test('the store accepts a write that names the newest revision, and refuses everything else', () => {
  const changes = [];
  const store = new Store((how) => changes.push(how));
  const acquire = (expect) => store.write(0, { expect, action: { tag: 'acquire', val: record('Ada', SECOND) } });
  assert.deepEqual(acquire({ tag: 'revision', val: 4n }), { tag: 'refused', val: 0n });
  assert.deepEqual(acquire({ tag: 'absent' }), { tag: 'applied', val: { revision: 1n, incarnation: 1n } });
  assert.deepEqual(acquire({ tag: 'absent' }), { tag: 'refused', val: 1n });
  assert.equal(store.holder, 'Ada');
  assert.equal(store.taken, 1n);
  const release = { expect: { tag: 'revision', val: 1n }, action: { tag: 'release', val: [['x', 'y']] } };
  assert.deepEqual(store.write(0, release), { tag: 'applied', val: { revision: 2n, incarnation: 1n } });
  assert.equal(store.message.kind, 'tombstone');
  assert.equal(store.holder, undefined);
  assert.deepEqual(changes, ['written', 'released']);
});

test('a record that reaches its age leaves a marker, and one that is deleted a tombstone', () => {
  const store = new Store(() => {});
  const acquire = (expect) => store.write(0, { expect, action: { tag: 'acquire', val: record('Ada', SECOND) } });
  acquire({ tag: 'absent' });
  store.expire(SECOND - 1);
  assert.equal(store.holder, 'Ada');
  store.expire(SECOND);
  assert.equal(store.message.kind, 'expired');
  acquire({ tag: 'revision', val: 2n });
  store.remove();
  assert.deepEqual([store.message.kind, store.message.revision], ['tombstone', 4n]);
  store.remove();
  assert.equal(store.message.revision, 4n, 'there was nothing to delete');
});

test('a line keeps the order of messages, and loses them while it is cut', () => {
  const queue = new Queue();
  const network = new Network(queue, new Dice(1));
  const arrived = [];
  network.kind = 'rough';
  for (let number = 0; number < 50; number += 1) network.toStore(0, 'Ada', () => arrived.push(number));
  for (let next = queue.take(SECOND); next; next = queue.take(SECOND)) next.task();
  const before = arrived.length;
  assert.ok(before > 0 && before < 50, `${before}`);
  network.cut('Ada');
  network.toStore(SECOND, 'Ada', () => arrived.push('sent while it was cut'));
  for (let next = queue.take(2 * SECOND); next; next = queue.take(2 * SECOND)) next.task();
  network.heal('Ada');
  network.toStore(2 * SECOND, 'Ada', () => arrived.push('after'));
  for (let next = queue.take(9 * SECOND); next; next = queue.take(9 * SECOND)) next.task();
  assert.deepEqual(arrived, [...Array(before).keys(), 'after']);
});

test('the margin that is shown is the engine’s default', () => {
  assert.deepEqual(LEASES.map(margin), [550_000, 850_000, 1_450_000, 1_550_000]);
});

test('the engine’s instants are rounded up, so that nothing is done too early', () => {
  assert.equal(micros(nanos(7)), 7);
  assert.equal(micros(7_001n), 8);
});

test('two leaders at once are a violation, unless a clock is beyond the settings', () => {
  const heard = [];
  const watchman = new Watchman((happening) => heard.push(happening));
  const candidate = (name, ppm) => ({ name, isAlive: true, clock: { ppm }, isLeader: () => true });
  watchman.look(0, [candidate('Ada', 0)], SECOND);
  assert.equal(watchman.violations, 0);
  watchman.look(1, [candidate('Ada', 0), candidate('Ben', -5_000)], SECOND);
  watchman.look(2, [candidate('Ada', 0), candidate('Ben', -5_000)], SECOND);
  assert.deepEqual([watchman.violations, watchman.overlaps], [1, 0], 'one and the same is counted once');
  watchman.look(3, [candidate('Ada', 0)], SECOND);
  watchman.look(4, [candidate('Ada', 0), candidate('Ben', -5_001)], SECOND);
  assert.deepEqual([watchman.violations, watchman.overlaps, watchman.looks], [1, 1, 5]);
  assert.deepEqual(heard.map(({ kind, isExcused }) => [kind, isExcused]), [
    ['two', false],
    ['two-no-more', undefined],
    ['two', true],
  ]);
});

test('times and names are written for readers', () => {
  assert.equal(moment(0), '0:00.0');
  assert.equal(moment(83 * SECOND + 499_999), '1:23.4');
  assert.equal(span(2_345_678), '2.3 s');
  assert.equal(span(-5), '0.0 s');
  assert.equal(rate(-500_000), '50 % slow');
  assert.equal(rate(10_000), '1 % fast');
  assert.equal(list(['Ada', 'Ben', 'Cleo']), 'Ada, Ben and Cleo');
});
