// A candidate: a machine with a clock, a line to the store, and, while it is up, a process that campaigns.

import { Clock } from './clock.js';
import { Process } from './process.js';
import { DOUBT, WORK } from './settings.js';
import { MILLISECOND, SECOND } from './time.js';

export class Candidate {
  /** The running process; none while the candidate is dead, or still waits for the store's settings. */
  process = undefined;
  isAlive = false;
  isPaused = false;
  /** The moment at which its `is-leader` turns false unless it renews; none while it does not lead. */
  leadsUntil = undefined;
  /** The time at which the oldest unanswered renewal was sent; none if all are answered. */
  unanswered = undefined;
  /** The answer to a renewal is so late that something must be wrong. */
  isDoubting = false;
  /** The time at which it first saw the present entry of the key. */
  sawAt = undefined;
  /** Its clock when it last saw that another party had deleted the record; none if that never happened. */
  sawDeletion = undefined;
  #world;
  #life = 0;
  #watch = { number: 0, isOpen: false };
  #connecting = false;
  #inbox = [];
  #renewals = new Set();

  constructor(world, name, origin) {
    this.#world = world;
    this.name = name;
    this.clock = new Clock(world.now, origin);
    this.origin = origin;
  }

  get reading() {
    return this.clock.at(this.#world.now);
  }

  get isCut() {
    return this.#world.network.isCut(this.name);
  }

  /** True if it holds something that could make it lead. */
  get holdsLease() {
    return this.process?.held !== undefined;
  }

  isLeader() {
    return this.process?.isLeader(this.reading) ?? false;
  }

  /** Starts a new process, which campaigns as soon as the store has answered its inspection. */
  start() {
    this.#life += 1;
    this.isAlive = true;
    this.isPaused = false;
    this.sawAt = undefined;
    this.sawDeletion = undefined;
    this.#inbox = [];
    this.#connecting = false;
    this.#watch = { number: this.#watch.number, isOpen: false };
    this.#askToBegin(this.#life);
  }

  /** Ends the process, and everything that it believed. */
  die() {
    this.#life += 1;
    this.isAlive = false;
    this.isPaused = false;
    this.process = undefined;
    this.leadsUntil = undefined;
    this.#settled();
  }

  /** Leaves cleanly and at once: a last message releases the lease. */
  leave() {
    if (this.process && !this.isPaused) {
      this.#give({ tag: 'close' });
      this.#give({ tag: 'drained' });
    }
    this.die();
  }

  pause() {
    this.isPaused = true;
  }

  /** Resumes: reads its clock before the messages that came meanwhile. Returns whether it still leads. */
  resume() {
    this.isPaused = false;
    const leads = this.isLeader();
    const inbox = this.#inbox;
    this.#inbox = [];
    if (this.process) this.#give({ tag: 'tick' });
    for (const hears of inbox) this.#hear(this.#life, hears);
    return leads;
  }

  /** The candidate's line works again, so its client reconnects. */
  reconnectLater() {
    this.#watch = { number: this.#watch.number + 1, isOpen: false };
    const life = this.#life;
    this.#world.after(50 * MILLISECOND, () => {
      if (this.#lives(life)) this.#connect(life);
    });
  }

  setRate(ppm) {
    this.clock.setRate(this.#world.now, ppm);
    this.#led();
    this.#wakeLater();
  }

  resign() {
    if (this.process && !this.isPaused) this.#give({ tag: 'resign' });
  }

  /** True if `life` is the number of the running process, and the line to the store is still its own. */
  #lives(life) {
    return this.isAlive && this.#life === life;
  }

  #askToBegin(life) {
    if (!this.#lives(life) || this.process) return;
    const askedAt = this.reading;
    if (!this.isPaused) {
      this.#ask((store) => ({ begin: { askedAt, info: store.info() } }));
    }
    this.#world.after(SECOND, () => this.#askToBegin(life));
  }

  #begin({ askedAt, info }) {
    if (this.process) return;
    const { dice, lease, Engine } = this.#world;
    const nonce = { high: dice.bits64(), low: dice.bits64() };
    const { name, reading } = this;
    const host = this.#host();
    this.process = new Process({ Engine, name, lease, info, askedAt, nonce, seed: dice.bits64(), reading, host });
    this.#connect(this.#life);
    this.#give({ tag: 'campaign' });
  }

  /** Asks for a watch over a new connection, until one is ready. */
  #connect(life) {
    if (!this.#lives(life) || !this.process) return;
    this.#watch = { number: this.#watch.number + 1, isOpen: false };
    const { number } = this.#watch;
    this.#ask((store) => ({ isOpen: number, message: store.message }));
    this.#world.after(SECOND, () => {
      if (this.#watch.number === number && !this.#watch.isOpen) this.#connect(life);
    });
  }

  /** Receives a change that the store sends to its watchers. */
  tell(message) {
    const { number } = this.#watch;
    if (this.process) this.#answer(this.#life, { watched: number, message });
  }

  /** Sends a question; the store answers when it arrives. */
  #ask(question) {
    const life = this.#life;
    const { name } = this;
    const world = this.#world;
    world.network.toStore(world.now, name, () => this.#answer(life, question(world.store)));
  }

  #answer(life, hears) {
    this.#world.network.toCandidate(this.#world.now, this.name, () => this.#hear(life, hears));
  }

  #hear(life, hears) {
    if (!this.#lives(life)) return;
    if (this.isPaused) {
      this.#inbox.push(hears);
    } else if (hears.begin) {
      this.#begin(hears.begin);
    } else if (hears.isOpen !== undefined) {
      this.#opened(hears);
    } else if (hears.watched !== undefined) {
      if (hears.watched === this.#watch.number && this.#watch.isOpen) this.#watched(hears.message);
    } else {
      this.#give(hears.input);
    }
  }

  #opened({ isOpen, message }) {
    if (isOpen !== this.#watch.number || this.#watch.isOpen) return;
    this.#watch.isOpen = true;
    if (this.#connecting) {
      this.#connecting = false;
      this.#give({ tag: 'reconnected' });
    }
    this.#give({ tag: 'watching', val: BigInt(this.reading) * 1_000n });
    if (message) this.#watched(message);
  }

  #watched(message) {
    this.sawAt = this.#world.now;
    if (message.kind === 'tombstone' && message.headers.length === 0) this.sawDeletion = this.reading;
    this.#give({ tag: 'watched', val: message });
  }

  #give(input) {
    const before = this.process.state;
    if (input.tag === 'wrote') this.#wrote(input.val);
    this.process.give(this.reading, input);
    if (this.process?.state !== before) this.#changed(before);
    this.#wakeLater();
  }

  #changed(before) {
    const state = this.process.state;
    if (!['leading', 'draining'].includes(state)) this.#settled();
    this.#world.tell({ kind: 'state', who: this.name, state, before, until: this.holdsUntil });
  }

  /** The end of a holder's win delay, which it owes to a deletion that it saw; none if it saw none. */
  get holdsUntil() {
    if (this.sawDeletion === undefined) return undefined;
    const until = this.clock.when(this.sawDeletion + this.process.lease);
    return until > this.#world.now ? until : undefined;
  }

  /** The time and the timer of the engine's next wake-up; none if there is none, or nothing runs. */
  get wakesAt() {
    const wake = this.process?.wake;
    return wake && { at: this.clock.when(wake.at), timer: wake.timer };
  }

  #wakeLater() {
    const wake = this.wakesAt;
    if (!wake) return;
    const life = this.#life;
    const { process } = this;
    const due = process.wake;
    this.#world.at(wake.at, () => {
      const isDue = this.#lives(life) && !this.isPaused && process.wake === due;
      if (isDue && this.reading >= due.at) this.#give({ tag: 'tick' });
    });
  }

  /** Carries out the engine's requests. */
  #host() {
    return {
      leads: () => this.#led(),
      write: (write) => this.#write(write),
      read: (read) =>
        this.#ask((store) => ({ input: { tag: 'answered', val: { read, answer: { tag: 'ok', val: store.message } } } })),
      inspect: () => {
        const askedAt = BigInt(this.reading) * 1_000n;
        this.#ask((store) => ({ input: { tag: 'inspected', val: { askedAt, answer: { tag: 'ok', val: store.info() } } } }));
      },
      reconnect: () => {
        this.#connecting = true;
        this.#connect(this.#life);
      },
      event: (event) => this.#event(event),
    };
  }

  #write(write) {
    const { name } = this;
    const world = this.#world;
    const action = write.action.tag;
    if (action === 'renew') this.#renewing(write.attempt);
    else world.tell({ kind: 'asked', who: name, action });
    this.#ask((store) => {
      const outcome = store.write(world.now, write);
      world.tell({ kind: outcome.tag, who: name, action, revision: store.revision });
      return { input: { tag: 'wrote', val: { attempt: write.attempt, outcome } } };
    });
  }

  #wrote({ attempt, outcome }) {
    if (this.#renewals.has(attempt) && outcome.tag === 'applied') this.#settled();
  }

  #renewing(attempt) {
    this.#renewals.add(attempt);
    if (this.unanswered !== undefined) return;
    const since = this.#world.now;
    this.unanswered = since;
    this.#world.after(DOUBT, () => {
      if (this.unanswered !== since || this.isPaused || !this.isLeader()) return;
      this.isDoubting = true;
      this.#world.tell({ kind: 'doubts', who: this.name, until: this.leadsUntil });
    });
  }

  /** No renewal is awaited. */
  #settled() {
    this.#renewals.clear();
    this.unanswered = undefined;
    if (!this.isDoubting) return;
    this.isDoubting = false;
    this.#world.tell({ kind: 'doubts-no-more', who: this.name, leads: this.isLeader() });
  }

  #event({ tag, val }) {
    const who = this.name;
    switch (tag) {
      case 'won':
        return this.#world.tell({ kind: 'won', who, token: val.token.sequence });
      case 'lost':
        return this.#world.tell({ kind: 'lost', who, token: val.term.token.sequence, reason: val.reason });
      case 'draining':
        this.#finishWork();
        return this.#world.tell({ kind: 'draining', who });
      case 'warning':
        return this.#world.tell({ kind: 'warning', who, text: val.text });
    }
  }

  #finishWork() {
    const { process } = this;
    const end = this.reading + WORK;
    const finish = () => {
      if (this.process !== process || !this.isAlive) return;
      // A frozen process finishes nothing.
      if (this.isPaused || this.reading < end) this.#world.after(100 * MILLISECOND, finish);
      else if (['draining', 'releasing'].includes(process.state)) this.#give({ tag: 'drained' });
    };
    this.#world.at(this.clock.when(end), finish);
  }

  #led() {
    const held = this.process?.held;
    this.leadsUntil = held && this.clock.when(held.deadline);
    this.#world.leads(this);
  }
}
