// One process that campaigns: the engine, and the loop that hands inputs in and carries outputs out.

import { candidacy } from './settings.js';
import { capabilities } from './store.js';
import { micros, nanos } from './time.js';

export class Process {
  /** When the engine wants to be woken, by the candidate's own clock, and for which timer; none for never. */
  wake = undefined;
  #engine;
  #host;
  #said = new Map();

  /**
   * `host` carries out what the engine wants: `leads()` after every input, then `write`, `read`, `inspect`, `reconnect`
   * and `event`, each with what goes with it.
   */
  constructor({ Engine, name, lease, facts, askedAt, nonce, seed, reading, host }) {
    this.lease = lease;
    this.#host = host;
    const settings = candidacy(name, lease);
    this.#engine = Engine.create(settings, capabilities, facts, nanos(askedAt), nonce, seed, nanos(reading));
  }

  /** Hands in what happened when the candidate's clock showed `reading`. */
  give(reading, input) {
    this.#engine.handle(nanos(reading), input);
    this.#said.clear();
    // The lease is made known before anything is carried out.
    this.#host.leads();
    for (;;) {
      const { tag, val } = this.#engine.poll();
      if (tag === 'wake-at') {
        this.wake = val && { at: micros(val.at), timer: val.timer };
        return;
      }
      this.#host[tag](val);
    }
  }

  /** Whether it leads when its clock shows `reading`: the engine compares with its deadline and asks nobody. */
  isLeader(reading) {
    return this.#engine.isLeader(nanos(reading));
  }

  /** Its lease: the token, and the deadline by its own clock; none outside a term. */
  get held() {
    return this.#kept('held', () => {
      const lease = this.#engine.lease();
      return lease && { token: lease.token.sequence, deadline: micros(lease.deadline) };
    });
  }

  get state() {
    return this.#kept('state', () => this.#engine.state());
  }

  /** The name of the holder, as far as it has seen. */
  get holder() {
    return this.#kept('holder', () => this.#engine.leader()?.name);
  }

  /** Only an input changes what the engine says of itself, so it is asked once after each: that crosses a border. */
  #kept(name, ask) {
    if (!this.#said.has(name)) this.#said.set(name, ask());
    return this.#said.get(name);
  }
}
