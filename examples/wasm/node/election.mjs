// node election.mjs FOLDER: three candidates on the engine component that `transpile.mjs` wrote to FOLDER, on a store of
// a few lines and a clock that is set by hand. The leader is stopped for good; another follows when its lease is over.

import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";

const engine = await import(pathToFileURL(path.resolve(process.argv[2], "engine.js")));
const { Candidate } = engine.candidates;

const MILLISECOND = 1_000_000n;
const SECOND = 1_000n * MILLISECOND;
const LEASE = 5n * SECOND;

let now = 3_600n * SECOND;

/** One key: compare-and-swap, revisions that grow, and records that expire. */
class Key {
  message = undefined;
  sequence = 0n;
  expires = 0n;

  read() {
    if (this.message?.kind === "live" && now >= this.expires) this.message = undefined;
    return this.message;
  }

  write({ expect, action }) {
    const current = this.read()?.revision ?? 0n;
    const expected = expect.tag === "absent" ? 0n : expect.val;
    if (current !== expected) return { tag: "refused", val: current };
    this.sequence += 1n;
    const revision = this.sequence;
    if (action.tag === "release") {
      this.message = { revision, kind: "tombstone", value: new Uint8Array(), headers: action.val };
    } else {
      const { value, headers, lease } = action.val;
      this.message = { revision, kind: "live", value: new TextEncoder().encode(value), headers };
      this.expires = now + lease;
    }
    return { tag: "applied", val: { revision, incarnation: 7n } };
  }
}

const capabilities = {
  ownLease: true,
  leaseStep: 0n,
  shortest: 0n,
  longest: 3_600n * SECOND,
  granularity: 0n,
  expiryPushed: false,
  incarnationAcked: true,
  failOver: 0n,
};

const info = { incarnation: 7n, age: undefined, neverUsed: true, maxAge: undefined, newest: undefined };

const settings = (name) => ({
  name,
  preset: "standard",
  lease: LEASE,
  skew: undefined,
  driftPpm: undefined,
  slack: undefined,
  winDelay: { tag: "automatic" },
  splay: 0n,
  drain: undefined,
  interval: undefined,
  backOff: { tag: "standard" },
  metadata: [],
});

/** A candidate and its loop of events. */
class Contender {
  wake = undefined;
  events = [];

  constructor(name, key, number) {
    this.name = name;
    this.key = key;
    const nonce = { high: 0n, low: BigInt(number) };
    this.candidate = Candidate.create(settings(name), capabilities, info, now, nonce, BigInt(number), now);
    this.give({ tag: "campaign" });
  }

  give(input) {
    const inputs = [input];
    while (inputs.length > 0) {
      this.candidate.handle(now, inputs.shift());
      for (let output = this.candidate.poll(); ; output = this.candidate.poll()) {
        if (output.tag === "wake-at") {
          this.wake = output.val?.at;
          break;
        }
        const answer = this.carryOut(output);
        if (answer) inputs.push(answer);
      }
    }
  }

  carryOut({ tag, val }) {
    switch (tag) {
      case "write":
        return { tag: "wrote", val: { attempt: val.attempt, outcome: this.key.write(val) } };
      case "read":
        return { tag: "answered", val: { read: val, answer: { tag: "ok", val: this.key.read() } } };
      case "inspect":
        return { tag: "inspected", val: { askedAt: now, answer: { tag: "ok", val: info } } };
      case "reconnect":
        return { tag: "reconnected" };
      case "event":
        this.events.push(val);
    }
  }
}

const key = new Key();
let contenders = ["a", "b", "c"].map((name, place) => new Contender(name, key, place + 1));

/** Runs until `done`, from one wake-up to the next; at most one leads at any instant. */
function until(done) {
  for (let turns = 0; turns < 10_000; turns += 1) {
    const leaders = contenders.filter(({ candidate }) => candidate.isLeader(now));
    assert.ok(leaders.length <= 1, `${leaders.map(({ name }) => name)} lead`);
    if (done(leaders[0])) return leaders[0];
    const wakes = contenders.map(({ wake }) => wake).filter((wake) => wake !== undefined);
    const next = wakes.reduce((one, other) => (other < one ? other : one));
    now = next > now ? next : now;
    for (const contender of contenders) {
      if (contender.wake !== undefined && contender.wake <= now) contender.give({ tag: "tick" });
    }
  }
  assert.fail("it never happens");
}

const first = until((leader) => leader !== undefined);
const token = first.candidate.lease().token;
console.log(`${first.name} leads with token ${token.incarnation}-${token.sequence}`);

const renewed = now + 3n * LEASE;
until(() => now >= renewed);
assert.ok(first.candidate.isLeader(now), "it renews");

contenders = contenders.filter((contender) => contender !== first);
const stopped = now;
const second = until((leader) => leader !== undefined);
const next = second.candidate.lease().token;
console.log(`${first.name} was stopped; ${second.name} leads with token ${next.incarnation}-${next.sequence}`);
assert.ok(next.sequence > token.sequence, "a larger token");
assert.ok(now - stopped <= LEASE + SECOND, "no later than a lease and a second");
assert.ok(!first.candidate.isLeader(now), "its clock alone shows it");

// An odd input is an error, and does not trap.
assert.throws(
  () => second.candidate.handle(now, { tag: "hand-over", val: "" }),
  (error) => (error.payload ?? error).tag === "not-a-name",
);
assert.ok(second.candidate.isLeader(now));
