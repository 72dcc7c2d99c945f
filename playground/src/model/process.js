// One process that campaigns: the engine, and the loop that hands in inputs and carries out outputs.

import { campaignSettings } from './settings.js';
import { capabilities } from './store.js';
import { micros, nanos } from './time.js';

/** The states in which a candidate has a lease, or is about to have one. */
const SEATED = ['holding', 'leading', 'draining'];

export class Process {
  /** The time of the engine's next wake-up by the candidate's own clock, and its timer; none if there is none. */
  wake = undefined;
  /** The state of the campaign, as the engine reported it. */
  state = 'idle';
  /** The name of the holder, as far as the candidate has observed. */
  holder = undefined;
  /** Its lease: the token, and the deadline by its own clock; none outside a term. */
  held = undefined;
  #engine;
  #host;

  /**
   * `host` carries out the engine's requests: `leads()` when its lease may have changed, then `write`, `read`,
   * `inspect`, `reconnect` and `event`, each with its arguments.
   */
  constructor({ Engine, name, lease, info, askedAt, nonce, seed, reading, host }) {
    this.lease = lease;
    this.#host = host;
    const settings = campaignSettings(name, lease);
    this.#engine = Engine.create(settings, capabilities, info, nanos(askedAt), nonce, seed, nanos(reading));
  }

  /** Hands in an input at the reading `reading` of the candidate's clock. */
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
    // The lease is published before anything is carried out.
    if (this.held || SEATED.includes(this.state)) {
      this.held = held(this.#engine);
      this.#host.leads();
    }
    for (const { tag, val } of wants) this.#host[tag](val);
  }

  /** True if it leads when its clock shows `reading`: the engine compares with its deadline and sends no request. */
  isLeader(reading) {
    return this.#engine.isLeader(nanos(reading));
  }

  /** The same values, from the engine itself. */
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
