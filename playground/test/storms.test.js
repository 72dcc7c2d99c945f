// Buttons pressed at random, within the assumptions of the settings: never two leaders, and one in the end.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dice } from '../src/model/dice.js';
import { NETWORKS } from '../src/model/network.js';
import * as orders from '../src/model/orders.js';
import { DRIFT_PPM, LEASES, NAMES } from '../src/model/settings.js';
import { MILLISECOND, SECOND } from '../src/model/time.js';
import { unstarted } from './help.js';

const SEEDS = 200;
const PRESSES = 25;
/** One storm in this many is followed by a calm, in which a candidate must lead. */
const CALMED = 4;

/** A button, for one candidate or all. */
function press(dice) {
  const name = dice.pick(NAMES);
  return dice.pick([
    () => orders.kill(name),
    () => orders.restart(name),
    () => orders.pause(name),
    () => orders.resume(name),
    () => orders.resume(name),
    () => orders.cut(name),
    () => orders.heal(name),
    () => orders.heal(name),
    () => orders.resign(name),
    () => orders.removeRecord,
    () => orders.setRate(name, dice.pick([-DRIFT_PPM, 0, DRIFT_PPM])),
    () => orders.setNetwork(dice.pick(Object.keys(NETWORKS))),
    () => (dice.between(0, 3) === 0 ? orders.setLease(dice.pick(LEASES)) : orders.restart(name)),
  ])();
}

function storm(seed) {
  const dice = new Dice(seed + 1_000_000);
  const world = unstarted({ seed, lease: dice.pick(LEASES) }).start();
  for (let count = 0; count < PRESSES; count += 1) {
    world.advance(dice.between(1, dice.pick([50, 1_000, 9_000])) * MILLISECOND);
    world.order(press(dice));
  }
  return world;
}

/** Repairs everything. */
function calm(world) {
  world.order(orders.setNetwork('quick'));
  for (const name of NAMES) {
    for (const order of [orders.resume, orders.heal, orders.restart]) world.order(order(name));
    world.order(orders.setRate(name, 0));
  }
  world.advance(2 * Math.max(...LEASES) + SECOND);
}

test(`${SEEDS} storms of ${PRESSES} buttons make no two leaders, and tokens only grow`, () => {
  let terms = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const world = storm(seed);
    const isCalmed = seed % CALMED === 0;
    if (isCalmed) calm(world);
    const { violations, overlaps, leaders } = world.watchman;
    assert.deepEqual({ seed, violations, overlaps }, { seed, violations: 0, overlaps: 0 });
    if (isCalmed) assert.equal(leaders.length, 1, `seed ${seed}: a candidate leads in the end`);
    const tokens = world.told.filter(({ kind }) => kind === 'won').map(({ token }) => token);
    assert.ok(tokens.every((token, place) => place === 0 || token > tokens[place - 1]), `seed ${seed}: ${tokens}`);
    terms += tokens.length;
    const told = world.told.filter(({ kind }) => kind === 'warning').map(({ text }) => text);
    assert.ok(!told.some((text) => /reset|replaced/.test(text)), `seed ${seed}: ${told}`);
  }
  assert.ok(terms > 2 * SEEDS, `${terms} terms: the storms do something`);
});

test('overlaps of storms with a clock far beyond the settings do not count as violations', () => {
  let overlaps = 0;
  for (let seed = 1; seed <= 20; seed += 1) {
    const world = unstarted({ seed, lease: 10 * SECOND }).start();
    world.advance(5 * SECOND);
    const { name } = world.leader;
    world.order(orders.setRate(name, -500_000));
    world.order(orders.cut(name));
    world.advance(20 * SECOND);
    assert.equal(world.watchman.violations, 0, `seed ${seed}`);
    overlaps += world.watchman.overlaps;
  }
  assert.equal(overlaps, 20, 'each of them shows that the assumption is needed');
});
