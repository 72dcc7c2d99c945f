/** A participant of an election. */

import { EventEmitter } from 'node:events';
import { inspect } from 'node:util';

import { answer, keepAlive, whenDone, type Wait, type WaitLimits } from './notifier.js';
import { ClosedError, answerOf, check } from './errors.js';
import { isEvent, type CandidateEmitter } from './emitter.js';
import { Handlers, type Held } from './handlers.js';
import { Work, isInside } from './inside.js';
import { lead } from './lead.js';
import type { Candidate as NativeCandidate, Feed, Hold as NativeHold, Item, Operation, Term as NativeTerm } from './native.js';
import { callable, limitsIn, options as optionsOf, signalIn, text, type HandlerSettings } from './settings.js';
import { whenAborted } from './signals.js';
import { Stream } from './stream.js';
import { Term, type TermStatus } from './term.js';
import { leaderOf, type Event, type Leader, type Reason, type State, type Warning } from './types.js';

/** The end of a wait for terms. */
export interface TermsOptions {
  /** Ends the wait for terms when it is aborted, with its reason as the error. The campaign continues. */
  signal?: AbortSignal | undefined;
}

/** A candidate at one moment, for a health route or a log. */
export interface CandidateStatus {
  /** The key of the election. */
  readonly election: string;
  /** The candidate's name. */
  readonly name: string;
  /** The state of the campaign. */
  readonly state: State;
  /** Whether this candidate leads. */
  readonly isLeader: boolean;
  /** The leader, as far as this candidate has seen; null if there is none. */
  readonly leader: Leader | null;
  /** The current term; null while this candidate does not lead. */
  readonly term: TermStatus | null;
}

/** The campaigning candidates: each is kept until it is closed, even if the program drops it. */
const campaigning = new Set<Candidate>();

// Differs from other emitters only in its types.
const Emitter = EventEmitter as unknown as new () => CandidateEmitter;

/**
 * A participant of an election, made by {@link Store.campaign}. It campaigns until it is closed: after a lost term it
 * campaigns for the next. While it campaigns the process is kept alive.
 *
 * It is also an event emitter: `won`, `draining`, `lost`, `leaderChanged`, `stateChanged`, `warning`, `missed`; any
 * other name is refused. The first listener gets the current state first. With listeners of `draining`, the term
 * continues until the promises that they return are settled, or the drain time is over. A listener that throws or
 * rejects causes a `warning` event with the code `HANDLER_FAILED`, or, without listeners for it, a process warning.
 * With `errorEndsTerm` it ends the term.
 */
export class Candidate extends Emitter implements AsyncDisposable {
  readonly #native: NativeCandidate;
  readonly #leads: () => boolean;
  readonly #handlers: Handlers;
  /** Pending waits for a term, which do not keep the process alive. */
  readonly #awaited = new Set<Promise<unknown>>();
  readonly #keepsAlive: boolean;
  #isUnref: boolean;
  #present: Term | undefined;

  private constructor(native: NativeCandidate, keepsAlive: boolean, handlers: HandlerSettings) {
    super();
    this.#native = native;
    this.#leads = native.isLeader();
    this.#keepsAlive = keepsAlive;
    this.#isUnref = !keepsAlive;
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

  /** The state of the campaign. */
  get state(): State {
    return this.#native.state as State;
  }

  /** The leader, as far as this candidate has seen; null if there is none. */
  get leader(): Leader | null {
    return leaderOf(this.#native.leader);
  }

  /** The current term; null while this candidate does not lead. */
  get term(): Term | null {
    // There is one current term. Asking the compiled part for it creates an object, which takes ten times as long.
    if (this.#present?.isCurrent() === true) {
      return this.#present;
    }
    const { term } = this.#native;
    return term === null ? null : this.#termOf(term);
  }

  /**
   * Waits for the current or the next term. Does not hold the term: {@link Term.hold} does that, and a drain waits for it.
   *
   * Rejects with a {@link ClosedError} when the campaign is over, with a {@link TimedOutError} at the `timeout`, and with
   * the reason of a `signal` that is aborted. The campaign continues then.
   */
  async nextTerm(options: WaitLimits = {}): Promise<Term> {
    const limits = limitsIn({ ...optionsOf(options, 'nextTerm', ['signal', 'timeout']) });
    const hold = await this.#next(undefined, { what: 'the wait for a term', ...limits });
    if (hold === null) {
      throw new ClosedError('CLOSED', 'the candidate is closed');
    }
    hold.release();
    return this.#termOf(hold.term);
  }

  /**
   * Returns an iterator over every term of this candidate, until the campaign is over. The body of the loop is work of
   * the term: a drain waits for it. When the body ends before the term does, the term continues, and the loop proceeds
   * to the next term.
   *
   * ```ts
   * for await (const term of candidate.terms()) {
   *   await work(term.token, term.signal);
   * }
   * ```
   *
   * Aborting `signal` ends a wait for the next term: the loop throws its reason.
   */
  terms(options: TermsOptions = {}): Terms {
    const signal = signalIn(optionsOf(options, 'terms', ['signal']));
    return Terms.of(
      (after) => this.#next(after),
      (term) => this.#termOf(term),
      signal,
    );
  }

  /**
   * Runs `work` in every term of this candidate, until the campaign is over. A drain waits for it. `term.draining()`
   * resolves when it is time to finish, and `term.signal` is aborted when it is too late. The work of one term never
   * begins before the previous term's work has returned.
   *
   * When it returns before the term ends, the term continues: call {@link resign} as the last step to leave instead.
   * When it throws, the error is reported like a listener's, and the term ends with `HANDLER_FAILED`. An error that it
   * throws because its term drains or is over, such as the `AbortError` of one of its signals, is ignored.
   *
   * Aborting `signal` ends the wait for the next term: the promise rejects with its reason, and the campaign continues.
   */
  async lead(work: (term: Term) => unknown, options: TermsOptions = {}): Promise<void> {
    callable(work, 'work');
    const signal = signalIn(optionsOf(options, 'lead', ['signal']));
    const next = async (after?: Term): Promise<{ hold: NativeHold; term: Term } | null> => {
      const hold = await this.#next(after && Term.nativeOf(after));
      return hold && { hold, term: this.#termOf(hold.term) };
    };
    await lead(next, work, (error) => this.#handlers.report(error), signal);
  }

  /**
   * Returns the events from now on, beginning with the current state, as an async iterator. Each call returns a
   * separate iterator. Reading an event does not hold its term.
   */
  events(): Stream<Event> {
    // Readers receive the end before the process ends with the campaign.
    return Stream.of(answerOf<Feed>(this.#native.events()), (item) => this.#event(item), this.#keepsAlive);
  }

  /**
   * Gives up leadership, if this candidate leads, and keeps campaigning behind the other candidates. Resolves once the
   * work has drained and the key is released; inside that work, as soon as the term is draining.
   */
  async resign(): Promise<void> {
    await answer(this.#native.resign(isInside(this.#native)));
  }

  /**
   * Hands leadership over to the candidate of that name; otherwise like {@link resign}. Other candidates hold back for
   * a moment. Rejects with a {@link NotLeaderError} if this candidate does not lead.
   */
  async handOver(to: string): Promise<void> {
    await answer(this.#native.handOver(text(to, 'to'), isInside(this.#native)));
  }

  /** Gives up leadership and ends the campaign; otherwise like {@link resign}. Closing twice is not an error. */
  async close(): Promise<void> {
    // Waiters for the next term learn that there is none before the process ends.
    this.#isUnref = false;
    void Promise.allSettled(this.#awaited).then(keepAlive());
    await answer(this.#native.close(isInside(this.#native)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Sets whether this candidate is healthy; it is at first. An unhealthy candidate gives up leadership and does not
   * campaign.
   */
  setHealthy(isWell: boolean): void {
    check(this.#native.setHealthy(isWell));
  }

  /** Accepts that tokens may start again after the store was reset. */
  acceptReset(): void {
    check(this.#native.acceptReset());
  }

  /** Returns the status for a health route: whether this candidate leads, who leads, and the state of the campaign. */
  status(): CandidateStatus {
    const { election, name, state, isLeader, leader, term } = this;
    return { election, name, state, isLeader, leader, term: term?.toJSON() ?? null };
  }

  /** The status, for `JSON.stringify`. */
  toJSON(): CandidateStatus {
    return this.status();
  }

  /** @internal */
  [inspect.custom](_depth: number, options: object): string {
    return `Candidate ${inspect(this.status(), options)}`;
  }

  #answer<T>(operation: Operation, limits?: Wait): Promise<T> {
    return answer(operation, { isUnref: this.#isUnref, ...limits });
  }

  #next(after?: NativeTerm, limits?: Wait): Promise<NativeHold | null> {
    const next = this.#answer<NativeHold | null>(this.#native.nextTerm(after), limits);
    const forget = (): void => void this.#awaited.delete(next);
    this.#awaited.add(next);
    next.then(forget, forget);
    return next;
  }

  /** Returns the single object of a term, so that there is one signal. */
  #termOf(native: NativeTerm): Term {
    if (this.#present?.token !== native.token) {
      this.#present = Term.of(native, (operation) => this.#answer(operation));
    }
    return this.#present;
  }

  /** Like {@link events}, but holds each term from the moment it is won. */
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

  /** Keeps the process and this candidate alive until the campaign is over. */
  #keepCampaigning(): void {
    const letGo = keepAlive();
    campaigning.add(this);
    whenDone(this.#native.closed(), () => {
      campaigning.delete(this);
      letGo();
    });
  }
}

/** A waiter for a term, and the work that begins with it. */
interface Waiter {
  readonly work: Work;
  resolve(result: IteratorResult<Term, undefined>): void;
  reject(error: unknown): void;
}

/** The terms of a candidate; see {@link Candidate.terms}. */
export class Terms implements AsyncIterableIterator<Term>, AsyncDisposable {
  readonly #next: (after?: NativeTerm) => Promise<NativeHold | null>;
  readonly #termOf: (term: NativeTerm) => Term;
  /** The waiters, each for its own term. */
  readonly #waiters: Waiter[] = [];
  /** The turn that began last. */
  #work: Work | undefined;
  #last: NativeTerm | undefined;
  #isAsking = false;
  #isClosed = false;
  readonly #signal: AbortSignal | undefined;
  #unlisten: (() => void) | undefined;

  private constructor(
    next: (after?: NativeTerm) => Promise<NativeHold | null>,
    termOf: (term: NativeTerm) => Term,
    signal: AbortSignal | undefined,
  ) {
    this.#next = next;
    this.#termOf = termOf;
    this.#signal = signal;
  }

  /** @internal */
  static of(
    next: (after?: NativeTerm) => Promise<NativeHold | null>,
    termOf: (term: NativeTerm) => Term,
    signal: AbortSignal | undefined,
  ): Terms {
    return new Terms(next, termOf, signal);
  }

  /**
   * Ends the previous turn and waits for the next term. Calls before its arrival are answered in order, with one term
   * after another.
   */
  next(): Promise<IteratorResult<Term, undefined>> {
    this.#work?.finish();
    if (this.#isClosed) {
      return Promise.resolve({ done: true, value: undefined });
    }
    if (this.#signal?.aborted === true) {
      this.#close();
      return Promise.reject(this.#signal.reason as Error);
    }
    const work = new Work();
    // This is before the first `await`, so the loop's body runs in the context of the caller of `next`, inside the
    // work.
    work.enter();
    return new Promise((resolve, reject) => {
      // Listens only while there is something to end: the signal may outlast many iterations.
      if (this.#waiters.push({ work, resolve, reject }) === 1) {
        this.#listen(true);
      }
      this.#ask();
    });
  }

  /** Ends the iteration and the turn; waiters learn that it is over. */
  return(): Promise<IteratorReturnResult<undefined>> {
    this.#work?.leave();
    this.#close();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** Requests the next term, for the first waiter. */
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
        this.#fail(error);
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
      // The iteration ended meanwhile.
      hold.release();
      return;
    }
    if (this.#waiters.length === 0) {
      this.#listen(false);
    }
    const term = this.#termOf(hold.term);
    // If the next term was requested in advance, this work may be of a term that is over.
    this.#work?.finish();
    this.#work = waiter.work;
    this.#last = hold.term;
    waiter.work.begin(hold, term);
    waiter.resolve({ done: false, value: term });
  }

  /** Ends the iteration; the waiters get the reason of the signal that ended it, if any. */
  #close(signal?: AbortSignal): void {
    this.#isClosed = true;
    this.#listen(false);
    this.#work?.finish();
    if (signal !== undefined) {
      this.#fail(signal.reason);
    }
    for (const { work, resolve } of this.#waiters.splice(0)) {
      work.finish();
      resolve({ done: true, value: undefined });
    }
  }

  /** Begins, or ends, to listen for the abort of the signal. */
  #listen(begins: boolean): void {
    this.#unlisten?.();
    const signal = begins ? this.#signal : undefined;
    this.#unlisten = signal && whenAborted(signal, () => this.#close(signal));
  }

  #fail(error: unknown): void {
    for (const { work, reject } of this.#waiters.splice(0)) {
      work.finish();
      reject(error);
    }
  }
}
