// The world in virtual time: what each button does, exactly.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NETWORKS } from '../src/model/network.js';
import { cut, heal, kill, pause, removeRecord, resign, restart, resume, setLease, setRate } from '../src/model/orders.js';
import { SCENES, play } from '../src/model/scenes.js';
import { WORK, margin } from '../src/model/settings.js';
import { MILLISECOND, SECOND } from '../src/model/time.js';
import { Book } from '../src/story/book.js';
import { status, why } from '../src/story/status.js';
import { LEASE, led, told, unstarted, until } from './help.js';

/** The longest that a question, its answer and one more message take on the quick network. */
const MESSAGES = 3 * NETWORKS.quick.most;

const leaders = (world) => world.candidates.filter((candidate) => candidate.isLeader()).map(({ name }) => name);

test('one candidate leads after the splay, with the first token', () => {
  const world = unstarted().start();
  assert.deepEqual(leaders(world), []);
  world.advance(SECOND + 2 * MESSAGES);
  assert.equal(leaders(world).length, 1);
  assert.deepEqual(told(world, 'won').map(({ token }) => token), [1n]);
  assert.equal(world.watchman.violations, 0);
});

test('a leader renews three times in a lease, and the other candidates write nothing', () => {
  const world = led();
  const before = world.store.revision;
  const first = world.leader.name;
  world.advance(3 * LEASE);
  const renewed = Number(world.store.revision - before);
  assert.ok(renewed === 8 || renewed === 9, `${renewed}`);
  assert.deepEqual(leaders(world), [first]);
});

test('after a leader was killed the next leads when the record is gone, with a larger token', () => {
  const world = led();
  const { name } = world.leader;
  const { expires } = world.store;
  world.order(kill(name));
  assert.deepEqual(leaders(world), []);
  world.advance(expires - world.now + MESSAGES);
  const [won] = told(world, 'won', expires);
  assert.notEqual(won.who, name);
  assert.ok(won.token > 1n);
  assert.equal(told(world, 'won').length, 2, 'and none before');
});

test('a process that is started again takes part as a new one', () => {
  const world = led();
  const { name } = world.leader;
  world.order(kill(name));
  world.order(restart(name));
  until(world, () => world.leader);
  assert.equal(world.watchman.violations, 0);
  assert.ok(['waiting', 'leading'].includes(status(world.candidate(name))));
});

test('a leader that resigns finishes its work, then another leads at once', () => {
  const world = led();
  const { name } = world.leader;
  const asked = world.now;
  world.order(resign(name));
  assert.equal(status(world.candidate(name)), 'draining');
  world.advance(WORK - 1);
  assert.deepEqual(leaders(world), [name]);
  world.advance(1 + MESSAGES);
  const [lost] = told(world, 'lost');
  assert.deepEqual([lost.who, lost.reason, lost.at], [name, 'resigned', asked + WORK]);
  const [won] = told(world, 'won', asked);
  assert.notEqual(won.who, name);
  assert.ok(won.at - lost.at <= MESSAGES, `${won.at - lost.at}`);
});

test('a leader that was frozen past its lease knows at its first look at the clock that it no longer leads', () => {
  const world = led();
  const leader = world.leader;
  world.order(pause(leader.name));
  const { leadsUntil } = leader;
  world.advance(leadsUntil - world.now - 1);
  assert.equal(leader.isLeader(), true, 'to its last microsecond');
  world.advance(1);
  assert.equal(leader.isLeader(), false, 'though it has not run since');
  world.advance(LEASE);
  assert.equal(leaders(world).length, 1);
  const thawed = world.now;
  world.order(resume(leader.name));
  const [resumed] = told(world, 'resumed');
  assert.deepEqual([resumed.believed, resumed.leads, resumed.leadsUntil], [true, false, leadsUntil]);
  assert.deepEqual(told(world, 'lost', thawed).map(({ who, reason }) => [who, reason]), [[leader.name, 'expired']]);
  assert.equal(world.watchman.violations, 0);
});

test('a leader that was frozen for less than its lease keeps leading', () => {
  const world = led();
  const { name } = world.leader;
  world.order(pause(name));
  world.advance(5 * SECOND);
  world.order(resume(name));
  world.advance(LEASE);
  assert.deepEqual(leaders(world), [name]);
  assert.equal(told(world, 'won').length, 1);
});

test('a leader that is cut off doubts, and stops by itself before the store removes its record', () => {
  const world = led();
  const leader = world.leader;
  world.order(cut(leader.name));
  const { leadsUntil } = leader;
  const { expires } = world.store;
  world.advance(leadsUntil - world.now - 1);
  assert.equal(status(leader), 'doubting');
  assert.deepEqual(leaders(world), [leader.name]);
  world.advance(1);
  assert.deepEqual(leaders(world), []);
  assert.ok(expires - leadsUntil >= margin(LEASE), 'the margin is kept');
  assert.ok(expires - leadsUntil <= margin(LEASE) + NETWORKS.quick.most);
  world.advance(expires + MESSAGES - world.now);
  assert.equal(leaders(world).length, 1);
  assert.notEqual(leaders(world)[0], leader.name);
  world.order(heal(leader.name));
  world.advance(LEASE);
  assert.equal(status(leader), 'waiting');
  assert.equal(world.watchman.violations, 0);
});

test('a leader that is cut off for a moment keeps leading in the same term', () => {
  const world = led();
  const { name } = world.leader;
  world.order(cut(name));
  world.advance(4 * SECOND);
  world.order(heal(name));
  world.advance(2 * LEASE);
  assert.deepEqual(leaders(world), [name]);
  assert.equal(told(world, 'won').length, 1);
});

test('when the record is deleted the leader stops, and its successor holds the record for a lease before it leads', () => {
  const world = led();
  const { name } = world.leader;
  const deleted = world.now;
  world.order(removeRecord);
  world.advance(2 * MESSAGES);
  assert.deepEqual(told(world, 'lost').map(({ who, reason }) => [who, reason]), [[name, 'deleted']]);
  const holder = world.candidates.find((candidate) => status(candidate) === 'holding');
  assert.ok(holder, 'a candidate holds the lease');
  assert.match(why(holder, world), /^Has the record, and waits 9\.\d s more/);
  world.advance(deleted + LEASE - world.now);
  assert.deepEqual(leaders(world), []);
  world.advance(MESSAGES);
  assert.deepEqual(leaders(world), [holder.name]);
  const [won] = told(world, 'won', deleted);
  assert.ok(won.at >= deleted + LEASE && won.at <= deleted + LEASE + MESSAGES, `${won.at}`);
});

test('a frozen leader whose record is deleted never leads at the same time as its successor', () => {
  const world = led();
  const leader = world.leader;
  world.order(pause(leader.name));
  world.order(removeRecord);
  world.advance(leader.leadsUntil - world.now - 1);
  assert.deepEqual(leaders(world), [leader.name], 'it may be asked at any moment');
  world.advance(LEASE);
  assert.equal(leaders(world).length, 1);
  world.order(resume(leader.name));
  assert.equal(leader.isLeader(), false);
  assert.equal(world.watchman.violations, 0);
});

for (const ppm of [-5_000, 5_000]) {
  test(`a clock that is ${ppm} parts per million out is within the margin`, () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const world = led({ seed });
      const { name } = world.leader;
      world.order(setRate(name, ppm));
      world.order(cut(name));
      world.advance(2 * LEASE);
      assert.notEqual(world.leader?.name, name);
      assert.deepEqual([world.watchman.violations, world.watchman.overlaps], [0, 0], `seed ${seed}`);
    }
  });
}

test('a clock beyond the settings can make two leaders, which are counted apart, and whose tokens are in order', () => {
  const world = led();
  const old = world.leader;
  play(world, 'break');
  until(world, () => leaders(world).length === 2);
  assert.equal(world.watchman.isExcused(world.now), true);
  assert.deepEqual([world.watchman.violations, world.watchman.overlaps], [0, 1]);
  const tokens = told(world, 'won').map(({ token }) => token);
  assert.ok(tokens[1] > tokens[0], `${tokens}`);
  until(world, () => leaders(world).length === 1);
  assert.equal(old.isLeader(), false);
  until(world, () => !world.watchman.isExcused(world.now));
  assert.equal(old.clock.ppm, 0, 'repaired by the scene');
  assert.equal(world.watchman.overlaps, 1);
});

test('with another lease all candidates start again, and the lease is released before', () => {
  const world = led();
  const before = world.leader.name;
  world.order(setLease(5 * SECOND));
  assert.deepEqual(leaders(world), []);
  world.advance(SECOND + 2 * MESSAGES);
  assert.equal(leaders(world).length, 1, `${before} released its lease`);
  assert.equal(world.leader.process.lease, 5 * SECOND);
  assert.ok(world.store.expires - world.now <= 5 * SECOND);
});

for (const scene of Object.keys(SCENES)) {
  test(`after the scene “${scene}” a candidate leads again, and all five take part`, () => {
    const world = led({ seed: 3 });
    play(world, scene);
    world.advance(4 * LEASE);
    assert.equal(leaders(world).length, 1);
    assert.ok(world.candidates.every((candidate) => ['leading', 'waiting'].includes(status(candidate))));
    assert.equal(world.watchman.violations, 0);
  });
}

test('a scene without a leader does nothing', () => {
  const world = unstarted();
  world.start();
  const before = world.told.length;
  for (const scene of Object.keys(SCENES)) play(world, scene);
  assert.equal(world.told.length, before);
});

test('the same seed and orders give the same run', () => {
  const run = (seed) => {
    const world = led({ seed });
    for (const scene of Object.keys(SCENES)) {
      play(world, scene);
      world.advance(2 * LEASE + 137 * MILLISECOND);
    }
    return world.told;
  };
  assert.deepEqual(run(11), run(11));
  assert.notDeepEqual(run(11), run(12));
});

test('the story says why', () => {
  const world = unstarted({ seed: 7 });
  const book = new Book(world);
  world.start();
  world.advance(5 * SECOND);
  const { name } = world.leader;
  play(world, 'freeze');
  world.advance(20 * SECOND);
  const said = book.entries.map(({ text }) => text).join('\n');
  assert.match(said, new RegExp(`^${name} leads\\. Its token is 1,`, 'm'));
  assert.match(said, new RegExp(`^${name} is frozen in the middle of its work\\. It cannot renew, so its lease ends at 0:1\\d\\.\\d\\.$`, 'm'));
  assert.match(said, new RegExp(`^${name}’s record has not been renewed for a whole lease: the store removes it\\.`, 'm'));
  assert.match(said, /^\w+, \w+ and \w+ tried to acquire the lease too, and were refused/m);
  assert.match(said, new RegExp(`^${name} resumes, and never believes that it leads:.*ended \\d\\.\\d s ago\\.$`, 'm'));
});

test('with a broken clock the story promises nothing that the clock decides', () => {
  const world = unstarted({ seed: 7 });
  const book = new Book(world);
  world.start();
  world.advance(5 * SECOND);
  const { name } = world.leader;
  play(world, 'break');
  world.advance(20 * SECOND);
  const said = book.entries.map(({ text }) => text).join('\n');
  assert.doesNotMatch(said, /no other candidate can acquire the lease/);
  assert.match(said, new RegExp(`^${name} is cut off from the store\\. By its own clock its lease is proved for`, 'm'));
  assert.match(said, new RegExp(`^${name} gets no answer to its renewal\\. By its own clock it leads for`, 'm'));
  assert.match(said, new RegExp(`^${name} and \\w+ lead at once|^\\w+ and ${name} lead at once`, 'm'));
});

test('the engine’s reports agree with its answers when it is asked', () => {
  const world = led();
  const asked = new Map();
  for (const scene of Object.keys(SCENES)) {
    play(world, scene);
    for (let turn = 0; turn < 80; turn += 1) {
      world.advance(SECOND / 2);
      for (const { name, process } of world.candidates) {
        if (!process) continue;
        const { state, holder, held } = process.ask();
        assert.deepEqual([process.state, process.holder, process.held], [state, holder, held], name);
        asked.set(state, true);
      }
    }
  }
  for (const state of ['waiting', 'holding', 'leading', 'draining']) assert.ok(asked.has(state), state);
});
