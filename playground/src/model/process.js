// One process that campaigns: the engine, and the loop that hands inputs in and carries outputs out.

import { campaignSettings } from './settings.js';
import { capabilities } from './store.js';
import { micros, nanos } from './time.js';

/** The states in which a candidate has a lease, or is about to. */
const SEATED = ['holding', 'leading', 'draining'];

export class Process {
  /** When the engine wants to be woken, by the candidate's own clock, and for which timer; none for never. */
  wake = undefined;
  /** Where the campaign stands, as the engine told. */
  state = 'idle';
  /** The name of the holder, as far as it has seen. */
  holder = undefined;
  /** Its lease: the token, and the deadline by its own clock; none outside a term. */
  held = undefined;
  #engine;
  #host;

  /**
   * `host` carries out what the engine wants: `leads()` when its lease may be another, then `write`, `read`, `inspect`,
   * `reconnect` and `event`, each with what goes with it.
   */
  constructor({ Engine, name, lease, info, askedAt, nonce, seed, reading, host }) {
    this.lease = lease;
    this.#host = host;
    const settings = campaignSettings(name, lease);
    this.#engine = Engine.create(settings, capabilities, info, nanos(askedAt), nonce, seed, nanos(reading));
  }

  /** Hands in what happened when the candidate's clock showed `reading`. */
  give(reading, input) {
    this.#engine.handle(nanos(reading), input);
    const wants = [];
    for (;;) {
      const output = this.#engine.poll();
      if (output.tag === 'wake-at') {
        this.wake = output.val && { at: micros(output.val.at), timer: output.val.timer };
        break;
      }
      if (output.tag === 'event') this.#note(output.val);
      wants.push(output);
    }
    // The lease is made known before anything is carried out.
    if (this.held || SEATED.includes(this.state)) {
      this.held = held(this.#engine);
      this.#host.leads();
    }
    for (const { tag, val } of wants) this.#host[tag](val);
  }

  /** Whether it leads when its clock shows `reading`: the engine compares with its deadline and asks nobody. */
  isLeader(reading) {
    return this.#engine.isLeader(nanos(reading));
  }

  /** The same as is noted, from the engine itself. */
  ask() {
    return { state: this.#engine.state(), holder: this.#engine.leader()?.name, held: held(this.#engine) };
  }

  #note({ tag, val }) {
    if (tag === 'state-changed') this.state = val;
    if (tag === 'leader-changed') this.holder = val?.name;
  }
}

function held(engine) {
  const lease = engine.lease();
  return lease && { token: lease.token.sequence, deadline: micros(lease.deadline) };
}
