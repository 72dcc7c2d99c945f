// The world: five candidates that run the engine, a store, a network between them, and time that advances only on
// request. The same seed and the same orders give the same run.

import { Candidate } from './candidate.js';
import { Dice } from './dice.js';
import { Network } from './network.js';
import { Queue } from './queue.js';
import { NAMES } from './settings.js';
import { Store } from './store.js';
import { SECOND } from './time.js';
import { Watchman } from './watchman.js';

export class World {
  now = 0;
  #queue = new Queue();
  #listeners = [];

  /** `Engine` is the component's `Candidate`; `lease` is in microseconds. */
  constructor({ Engine, seed, lease }) {
    this.Engine = Engine;
    this.seed = seed;
    this.lease = lease;
    this.dice = new Dice(seed);
    this.network = new Network(this.#queue, this.dice);
    this.store = new Store((how, before) => this.#changed(how, before));
    this.watchman = new Watchman((happening) => this.tell(happening));
    this.candidates = NAMES.map((name, place) => new Candidate(this, name, (place + 1) * 1_000 * SECOND));
  }

  /** Lets all candidates enter the election. */
  start() {
    for (const candidate of this.candidates) candidate.start();
    this.tell({ kind: 'started', lease: this.lease });
    this.#look();
    return this;
  }

  /** `heard` is called with every event. */
  listen(heard) {
    this.#listeners.push(heard);
  }

  tell(happening) {
    const told = { at: this.now, ...happening };
    for (const heard of this.#listeners) heard(told);
  }

  candidate(name) {
    return this.candidates.find((candidate) => candidate.name === name);
  }

  /** The leader; none if no candidate leads. */
  get leader() {
    return this.candidates.find((candidate) => candidate.isLeader());
  }

  at(moment, task) {
    this.#queue.put(Math.max(moment, this.now), task);
  }

  after(wait, task) {
    this.#queue.put(this.now + wait, task);
  }

  /** Lets `span` microseconds pass. */
  advance(span) {
    const until = this.now + span;
    for (let next = this.#queue.take(until); next; next = this.#queue.take(until)) {
      this.now = next.at;
      next.task();
      this.#look(({ holdsLease }) => holdsLease);
    }
    this.now = until;
    this.#look();
  }

  /** Carries out a spectator's order, see `orders.js`. */
  order(carryOut) {
    carryOut(this);
    this.#look();
  }

  /** Reports that a candidate's lease may have changed, for the views that draw it. */
  leads(candidate) {
    this.tell({ kind: 'leads', who: candidate.name, until: candidate.leadsUntil });
  }

  #changed(how, before) {
    const { holder, revision, expires, message } = this.store;
    if (how === 'written') {
      this.at(expires, () => this.store.expires === expires && this.store.expire(this.now));
    }
    this.tell({ kind: 'record', how, before, holder, revision, expires });
    for (const candidate of this.candidates) candidate.tell(message);
  }

  #look(asks) {
    this.watchman.look(this.now, this.candidates, this.lease, asks);
  }
}
