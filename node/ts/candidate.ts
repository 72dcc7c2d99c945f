/** One participant of an election. */

import { EventEmitter } from 'node:events';

import { answer, keepAlive, news, whenDone } from './bell.js';
import { answerOf, check } from './errors.js';
import { isEvent, type CandidateEmitter } from './emitter.js';
import { Handlers, type Held } from './handlers.js';
import { Work, isInside } from './inside.js';
import { lead } from './lead.js';
import type { Candidate as NativeCandidate, Feed, Hold as NativeHold, Item, Term as NativeTerm } from './native.js';
import { callable, text, type HandlerSettings } from './settings.js';
import { Stream } from './stream.js';
import { Term } from './term.js';
import { leaderOf, type Event, type Leader, type Reason, type State, type Warning } from './types.js';

/** Those that campaign: whoever is in the race stays in it until it is closed, whoever forgets it. */
const campaigning = new Set<Candidate>();

// Only its types are other than those of any emitter.
const Emitter = EventEmitter as unknown as new () => CandidateEmitter;

/**
 * One participant of an election, made by {@link Store.campaign}. It campaigns until it is closed, over and over: a
 * candidate that lost a term is in the race for the next. While it campaigns the process is kept alive.
 *
 * It is an event emitter, too: `won`, `draining`, `lost`, `leaderChanged`, `campaigned`, `warning`; another name is
 * refused. The first listener is told what holds when it comes. Where there are listeners of `draining`, the term goes on until what they return is
 * settled, or the time for it is over. A listener that throws or rejects harms nothing: it is told to the listeners of
 * `warning` with the code `HANDLER_FAILED`, or, where there are none, is a warning of the process. With `errorEndsTerm` it
 * ends the term.
 */
export class Candidate extends Emitter implements AsyncDisposable {
  readonly #native: NativeCandidate;
  readonly #leads: () => boolean;
  readonly #handlers: Handlers;
  /** Terms that are waited for without keeping the process alive. */
  readonly #awaited = new Set<Promise<unknown>>();
  readonly #keepsAlive: boolean;
  #wait: typeof news;
  #present: Term | undefined;

  private constructor(native: NativeCandidate, keepsAlive: boolean, handlers: HandlerSettings) {
    super();
    this.#native = native;
    this.#leads = native.isLeader();
    this.#keepsAlive = keepsAlive;
    this.#wait = keepsAlive ? answer : news;
    this.#handlers = new Handlers(
      () => this.#heldEvents(),
      (term) => Term.nativeOf(term).hold(),
      (name) => this.rawListeners(name),
      this,
      handlers,
    );
    EventEmitter.prototype.on.call(this, 'newListener', (name: string | symbol) => {
      if (isEvent(name)) {
        this.#handlers.start();
      }
    });
    if (handlers.drain !== undefined) {
      this.#handlers.start();
    }
  }

  /** @internal */
  static of(native: NativeCandidate, keepsAlive: boolean, handlers?: HandlerSettings): Candidate {
    const candidate = new Candidate(native, keepsAlive, handlers ?? { errorEndsTerm: false });
    if (keepsAlive) {
      candidate.#keepCampaigning();
    }
    return candidate;
  }

  /** Whether this candidate leads now, by the clock. */
  get isLeader(): boolean {
    return this.#leads();
  }

  /** The key of the election. */
  get election(): string {
    return this.#native.election;
  }

  /** The candidate's name. */
  get name(): string {
    return this.#native.name;
  }

  /** Where the campaign stands. */
  get state(): State {
    return this.#native.state as State;
  }

  /** Who holds the seat, as far as this candidate has seen; null: nobody. */
  get leader(): Leader | null {
    return leaderOf(this.#native.leader);
  }

  /** The present term; null while this candidate does not lead. */
  get term(): Term | null {
    const { term } = this.#native;
    return term === null ? null : this.#termOf(term);
  }

  /**
   * Every term of this candidate, each once, until the campaign is over. The body of the loop is work of the term: a
   * drain waits for it. When it ends before the term does, the term goes on, and the next turn begins with the next term.
   *
   * ```ts
   * for await (const term of candidate.terms()) {
   *   await work(term.token, term.signal);
   * }
   * ```
   */
  terms(): Terms {
    return Terms.of(
      (after) => this.#next(after),
      (term) => this.#termOf(term),
    );
  }

  /**
   * Does `work` in every term of this candidate, until the campaign is over. A drain waits for it; `term.draining()` says
   * when it is time to finish, `term.signal` when it is too late. The work of one term never begins before that of the
   * one before has returned.
   *
   * When it returns before the term ends, the term goes on: call {@link resign} as the last thing to leave instead. When
   * it throws, that is told as a listener's error is, and the term ends with `HANDLER_FAILED`. What it throws once the term
   * is over because the term is over is no error.
   */
  async lead(work: (term: Term) => unknown): Promise<void> {
    callable(work, 'work');
    const next = async (after?: Term): Promise<{ hold: NativeHold; term: Term } | null> => {
      const hold = await this.#next(after && Term.nativeOf(after));
      return hold && { hold, term: this.#termOf(hold.term) };
    };
    await lead(next, work, (error) => this.#handlers.report(error));
  }

  /**
   * What happens from now on, beginning with what holds now, as an async iterator of its own for every caller. Reading an
   * event does not hold its term.
   */
  events(): Stream<Event> {
    // Who waits is told of the end before the process ends with the campaign.
    return Stream.of(answerOf<Feed>(this.#native.events()), (item) => this.#event(item), this.#keepsAlive);
  }

  /**
   * Leaves the seat, if this candidate holds it, and stays in the race behind the others. Resolves once the work has
   * drained and the seat is given back; inside of that work, as soon as the term is draining.
   */
  async resign(): Promise<void> {
    await answer(this.#native.resign(this.#isInside()));
  }

  /**
   * Leaves the seat to the candidate of that name; otherwise as {@link resign}. The others hold back for a moment. Rejects
   * with a {@link NotLeaderError} where this candidate does not lead.
   */
  async handOver(to: string): Promise<void> {
    await answer(this.#native.handOver(text(to, 'to'), this.#isInside()));
  }

  /** Leaves the seat and the race for good; otherwise as {@link resign}. Closing twice is no error. */
  async close(): Promise<void> {
    // Whoever waits for the next term hears that there is none before the process ends.
    this.#wait = answer;
    void Promise.allSettled(this.#awaited).then(keepAlive());
    await answer(this.#native.close(this.#isInside()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Says whether this candidate is well; it is at first. One that is not leaves the seat and the race until it is. */
  setHealthy(isWell: boolean): void {
    check(this.#native.setHealthy(isWell));
  }

  /** Accepts that tokens may start again after the store was reset. */
  acceptReset(): void {
    check(this.#native.acceptReset());
  }

  #isInside(): boolean {
    return isInside(this.#native.term?.token);
  }

  #next(after?: NativeTerm): Promise<NativeHold | null> {
    const next = this.#wait<NativeHold | null>(this.#native.nextTerm(after));
    const forget = (): void => void this.#awaited.delete(next);
    this.#awaited.add(next);
    next.then(forget, forget);
    return next;
  }

  /** One object a term, so that there is one signal. */
  #termOf(native: NativeTerm): Term {
    if (this.#present?.token !== native.token) {
      this.#present = Term.of(native, (operation) => this.#wait(operation));
    }
    return this.#present;
  }

  /** As {@link events}, but that a term is held from the moment it is won. */
  #heldEvents(): Stream<Held> {
    const held = (item: Item): Held => ({ event: this.#event(item), hold: item.event?.hold });
    return Stream.of(answerOf<Feed>(this.#native.holdingEvents()), held, this.#keepsAlive);
  }

  #event({ event }: Item): Event {
    const term = (): Term => this.#termOf(event?.term as NativeTerm);
    switch (event?.kind) {
      case 'WON':
        return { type: 'won', term: term() };
      case 'DRAINING':
        return { type: 'draining', term: term(), reason: event.detail as Reason };
      case 'LOST':
        return { type: 'lost', term: term(), reason: event.detail as Reason };
      case 'LEADER_CHANGED':
        return { type: 'leaderChanged', leader: leaderOf(event.leader) };
      case 'STATE_CHANGED':
        return { type: 'stateChanged', state: event.detail as State };
      default:
        return { type: 'warning', warning: { code: event?.detail ?? '', message: event?.message ?? '' } as Warning };
    }
  }

  /** Keeps the process alive, and this candidate, until the campaign is over. */
  #keepCampaigning(): void {
    const letGo = keepAlive();
    campaigning.add(this);
    whenDone(this.#native.closed(), () => {
      campaigning.delete(this);
      letGo();
    });
  }
}

/** One who waits for a term, and the work that begins with it. */
interface Waiter {
  readonly work: Work;
  resolve(result: IteratorResult<Term, undefined>): void;
  reject(error: unknown): void;
}

/** The terms of a candidate, one after another; see {@link Candidate.terms}. */
export class Terms implements AsyncIterableIterator<Term, undefined>, AsyncDisposable {
  readonly #next: (after?: NativeTerm) => Promise<NativeHold | null>;
  readonly #termOf: (term: NativeTerm) => Term;
  /** Those who wait, each for a term of its own. */
  readonly #waiters: Waiter[] = [];
  /** The turn that was begun last. */
  #work: Work | undefined;
  #last: NativeTerm | undefined;
  #isAsking = false;
  #isClosed = false;

  private constructor(
    next: (after?: NativeTerm) => Promise<NativeHold | null>,
    termOf: (term: NativeTerm) => Term,
  ) {
    this.#next = next;
    this.#termOf = termOf;
  }

  /** @internal */
  static of(
    next: (after?: NativeTerm) => Promise<NativeHold | null>,
    termOf: (term: NativeTerm) => Term,
  ): Terms {
    return new Terms(next, termOf);
  }

  /**
   * The turn before is over; waits for the next term. Asked again before that has come, it answers in order, with one term
   * after another.
   */
  next(): Promise<IteratorResult<Term, undefined>> {
    this.#work?.finish();
    if (this.#isClosed) {
      return Promise.resolve({ done: true, value: undefined });
    }
    const work = new Work();
    // Before anything is awaited: the loop's body runs where `next` was called, and is inside of the work.
    work.enter();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ work, resolve, reject });
      this.#ask();
    });
  }

  /** Ends the iteration, and the turn; whoever waits is told that it is over. */
  return(): Promise<IteratorReturnResult<undefined>> {
    this.#close();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** Asks for the next term, for the first of those who wait. */
  #ask(): void {
    if (this.#isAsking || this.#waiters.length === 0) {
      return;
    }
    this.#isAsking = true;
    this.#next(this.#last).then(
      (hold) => {
        this.#isAsking = false;
        this.#give(hold);
        this.#ask();
      },
      (error: unknown) => {
        this.#isAsking = false;
        for (const { work, reject } of this.#waiters.splice(0)) {
          work.finish();
          reject(error);
        }
      },
    );
  }

  #give(hold: NativeHold | null): void {
    if (hold === null) {
      this.#close();
      return;
    }
    const waiter = this.#waiters.shift();
    if (waiter === undefined) {
      // The iteration was ended meanwhile.
      hold.release();
      return;
    }
    const term = this.#termOf(hold.term);
    // Of a term that is over, where the next was asked for in advance.
    this.#work?.finish();
    this.#work = waiter.work;
    this.#last = hold.term;
    waiter.work.begin(hold, term.token);
    waiter.resolve({ done: false, value: term });
  }

  #close(): void {
    this.#isClosed = true;
    this.#work?.finish();
    for (const { work, resolve } of this.#waiters.splice(0)) {
      work.finish();
      resolve({ done: true, value: undefined });
    }
  }
}
