// The store: one key, changed by compare-and-swap only. Every change has a revision, and revisions only grow. A live
// record expires by the store's own clock; an expired record leaves a marker, a deleted one a tombstone.

import { micros, nanos, SECOND } from './time.js';

/** The incarnation of the store; it has only one. */
const INCARNATION = 1n;

/** The capabilities of the store, as the engine asks for them. */
export const capabilities = {
  ownLease: true,
  leaseStep: 0n,
  shortest: 0n,
  longest: nanos(3_600 * SECOND),
  granularity: 0n,
  expiryPushed: true,
  incarnationAcked: true,
  failOver: 0n,
};

export class Store {
  /** The entry under the key, as the engine takes it; none before the first write. */
  message = undefined;
  /** The moment at which the live record expires; none if there is no live record. */
  expires = undefined;
  /** The revision at which the present holder acquired the key: its token, once it leads. */
  taken = 0n;
  #sequence = 0n;
  #changed;

  /** `changed(how)` is called after every change; `how` is `written`, `released`, `expired` or `removed`. */
  constructor(changed) {
    this.#changed = changed;
  }

  /** The answer to an inspection. */
  info() {
    const newest = this.#sequence;
    return { incarnation: INCARNATION, age: undefined, neverUsed: true, maxAge: undefined, newest };
  }

  /** The name in the live record; none if there is no live record. */
  get holder() {
    return this.expires === undefined ? undefined : new TextDecoder().decode(this.message.value);
  }

  get revision() {
    return this.message?.revision ?? 0n;
  }

  /** Writes if the key is as expected; returns the outcome, as the engine takes it. */
  write(now, { expect, action }) {
    const expected = expect.tag === 'absent' ? 0n : expect.val;
    if (this.revision !== expected) return { tag: 'refused', val: this.revision };
    if (action.tag === 'release') {
      this.#put({ kind: 'tombstone', headers: action.val }, undefined, 'released');
    } else {
      const { value, headers, lease } = action.val;
      if (action.tag === 'acquire') this.taken = this.#sequence + 1n;
      const record = { kind: 'live', value: new TextEncoder().encode(value), headers };
      this.#put(record, now + micros(lease), 'written');
    }
    return { tag: 'applied', val: { revision: this.revision, incarnation: INCARNATION } };
  }

  /** Removes the record if it has expired. */
  expire(now) {
    if (this.expires === undefined || now < this.expires) return;
    this.#put({ kind: 'expired' }, undefined, 'expired');
  }

  /** Lets an operator delete the key, without notice to the holder. */
  remove() {
    if (this.expires !== undefined) this.#put({ kind: 'tombstone' }, undefined, 'removed');
  }

  #put(message, expires, how) {
    const before = this.holder;
    this.#sequence += 1n;
    this.message = { revision: this.#sequence, value: new Uint8Array(), headers: [], ...message };
    this.expires = expires;
    this.#changed(how, before);
  }
}
