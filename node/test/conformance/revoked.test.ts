/** A group that takes the leader's partition away: only Kafka does that, so no scenario of every store has it. */

import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';

import { connect, type Event } from '../../dist/index.js';

const BROKER = process.env['INCUMBENT_KAFKA'];

async function next<T extends Event['type']>(events: AsyncIterator<Event>, type: T): Promise<Extract<Event, { type: T }>> {
  for (;;) {
    const { done, value } = await events.next();
    if (done === true) {
      throw new Error(`no ${type}`);
    }
    if (value.type === type) {
      return value as Extract<Event, { type: T }>;
    }
  }
}

test.skipIf(BROKER === undefined)('a revocation lets the work drain', { timeout: 240_000 }, async () => {
  // goNELI's assignors revoke every partition when a member joins.
  const url = `kafka://${BROKER}/${randomUUID()}?goneli=true`;
  const [store, other] = await Promise.all([connect(url), connect(url)]);
  try {
    const leader = await store.campaign('jobs', { preset: 'fast', lease: 5_000, drain: 60_000 });
    const events = leader.events();
    const { term } = await next(events, 'won');
    const hold = term.hold();
    const newcomer = await other.campaign('jobs', { preset: 'fast', lease: 5_000 });
    const draining = await next(events, 'draining');
    expect([draining.term.token, draining.reason]).toEqual([term.token, 'REVOKED']);
    expect([term.isCurrent(), leader.isLeader, newcomer.isLeader]).toEqual([true, true, false]);
    hold.release();
    const lost = await next(events, 'lost');
    expect([lost.term.token, lost.reason, term.isCurrent()]).toEqual([term.token, 'REVOKED', false]);
  } finally {
    await Promise.all([store.close(), other.close()]);
  }
});
