// The network between the candidates and the store: messages take time, keep their order on each line, and
// are lost if a line is cut.

import { MILLISECOND } from './time.js';

/** The time that a message takes one way, from and to. */
export const NETWORKS = {
  quick: { least: 5 * MILLISECOND, most: 40 * MILLISECOND },
  slow: { least: 150 * MILLISECOND, most: 350 * MILLISECOND },
  rough: { least: 20 * MILLISECOND, most: 1_500 * MILLISECOND },
};

export class Network {
  kind = 'quick';
  #queue;
  #dice;
  #lines = new Map();

  constructor(queue, dice) {
    this.#queue = queue;
    this.#dice = dice;
  }

  cut(name) {
    this.#line(name).isCut = true;
  }

  heal(name) {
    this.#line(name).isCut = false;
  }

  isCut(name) {
    return this.#line(name).isCut;
  }

  /** Calls `arrives` at the store when the candidate's message gets there, if it does. */
  toStore(now, name, arrives) {
    this.#send(now, name, 'up', arrives);
  }

  /** Calls `arrives` at the candidate when the store's message gets there, if it does. */
  toCandidate(now, name, arrives) {
    this.#send(now, name, 'down', arrives);
  }

  #send(now, name, way, arrives) {
    const line = this.#line(name);
    const { least, most } = NETWORKS[this.kind];
    const at = Math.max(line[way], now + this.#dice.between(least, most));
    line[way] = at;
    if (line.isCut) return;
    this.#queue.put(at, () => {
      if (!line.isCut) arrives();
    });
  }

  #line(name) {
    if (!this.#lines.has(name)) this.#lines.set(name, { isCut: false, up: 0, down: 0 });
    return this.#lines.get(name);
  }
}
