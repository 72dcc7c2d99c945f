/** A term, and a hold on it. */

import { setMaxListeners } from 'node:events';
import { inspect } from 'node:util';

import { addon } from './addon.js';
import { whenDone } from './notifier.js';
import { TermEndedError } from './errors.js';
import { workFor, type Work } from './inside.js';
import type { Hold as NativeHold, NativeReason, Operation, Term as NativeTerm } from './native.js';
import type { Reason } from './types.js';

/** What is known of a reason, by its code. */
function known(reason: Reason): NativeReason | undefined {
  return addon.reasons().find(({ code }) => code === reason);
}

/** Waits for an answer, and keeps the process alive if the candidate does. */
type Wait = <T>(operation: Operation) => Promise<T>;

/**
 * An uninterrupted leadership. Keeping this object does not delay the end of the term. Only work in `lead`, work in a
 * turn of `terms` and a {@link Term.hold | hold} do.
 */
export class Term {
  readonly #native: NativeTerm;
  readonly #lasts: () => boolean;
  readonly #wait: Wait;
  #signal: AbortSignal | undefined;
  #drainSignal: AbortSignal | undefined;
  // Each promise is created once per term, because a loop may ask for it in every turn.
  #ended: Promise<Reason> | undefined;
  #draining: Promise<void> | undefined;
  /** The work that waits for the end of the term, and so might delay its drain. */
  readonly #waiting = new Set<Work>();
  #isDrained = false;
  /** Whether code may have learned that the term drains. */
  #isDrainNoticed = false;

  /**
   * The fencing token, as sortable text of 33 characters: constant for the term, larger for every later term of the
   * election. Send it with every request, and let the resource refuse a token smaller than the largest it has seen.
   */
  readonly token: string;

  private constructor(native: NativeTerm, wait: Wait) {
    this.#native = native;
    this.#lasts = native.isCurrent();
    this.#wait = wait;
    this.token = native.token;
  }

  /** @internal */
  static of(native: NativeTerm, wait: Wait): Term {
    return new Term(native, wait);
  }

  /** @internal */
  static nativeOf(term: Term): NativeTerm {
    return term.#native;
  }

  /** @internal The signals of the term; making them does not count as noticing its drain. */
  static signalsOf(term: Term): AbortSignal[] {
    return [term.signal, term.#drainSignalOnce()];
  }

  /**
   * @internal Whether work that has returned `result` is done, and not to be called in another term. Work that returns
   * nothing while the term drains may have stopped in the middle, because it has noticed the drain or had it reported.
   */
  static isDone(term: Term, result: unknown, isTold: boolean): boolean {
    if (!term.isCurrent()) {
      return false;
    }
    return term.#native.drainRemainingMs === null || result !== undefined || !(isTold || term.#isDrainNoticed);
  }

  /** The token's number: the number of the write that won the term. */
  get sequence(): bigint {
    return this.#native.sequence;
  }

  /** The incarnation of the store in which the term was won; tokens compare by it first. */
  get incarnation(): bigint {
    return this.#native.incarnation;
  }

  /** The key of the election. */
  get election(): string {
    return this.#native.election;
  }

  /** The milliseconds for which the lease is proven; 0 once the term is over. */
  get remainingMs(): number {
    return this.#native.remainingMs;
  }

  /** The milliseconds that a draining leader still has to finish; null while it is not draining. */
  get drainRemainingMs(): number | null {
    const left = this.#native.drainRemainingMs;
    this.#isDrainNoticed ||= left !== null;
    return left;
  }

  /** The reason for which the term ended; null while it lasts. */
  get reason(): Reason | null {
    return this.#native.reason as Reason | null;
  }

  /**
   * Whether the term still lasts, by the clock: right even if the event loop was blocked.
   */
  isCurrent(): boolean {
    return this.#lasts();
  }

  /**
   * Aborted the moment the term ends, with a {@link TermEndedError} as its reason. Reads check the clock: if the event
   * loop was blocked for longer than the lease, `aborted` is true at the first read.
   */
  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const [native, lasts] = [this.#native, this.#lasts];
      this.#signal = signalOf(native.ended(), (isOver) => (isOver || !lasts() ? over(native) : undefined));
    }
    return this.#signal;
  }

  /**
   * Aborted as soon as the leader begins to leave of its own accord, or the term is over: the work should finish. Its
   * reason is then an `AbortError`, or the {@link TermEndedError} of {@link signal}. Reads check the clock too.
   */
  get drainSignal(): AbortSignal {
    this.#isDrainNoticed = true;
    return this.#drainSignalOnce();
  }

  #drainSignalOnce(): AbortSignal {
    if (this.#drainSignal === undefined) {
      const [native, lasts] = [this.#native, this.#lasts];
      this.#drainSignal = signalOf(native.draining(), (isDraining) => {
        if (!lasts()) {
          return over(native);
        }
        return isDraining || native.drainRemainingMs !== null
          ? new DOMException('the leader leaves: finish the work', 'AbortError')
          : undefined;
      });
    }
    return this.#drainSignal;
  }

  /**
   * Waits until the term is over, and returns the reason. Does not hold the term.
   *
   * For code outside the term's work. A drain waits for the work, so work that waits for the end of its own term makes
   * a resignation last for the whole drain time: wait for {@link draining} or {@link drainSignal} there. A term that
   * ended that way causes a process warning with the code `INCUMBENT_WORK_AWAITS_END`.
   */
  ended(): Promise<Reason> {
    if (this.#ended === undefined) {
      this.#ended = this.#wait<Reason>(this.#native.ended());
      // Runs before the waiting work continues and finishes.
      this.#ended.then((reason) => this.#warn(reason), () => undefined);
    }
    const work = workFor(this.token);
    // Work may begin after the end of a term that no code held: no drain has waited for it.
    if (work !== undefined && this.#lasts()) {
      this.#waiting.add(work);
    }
    return this.#ended;
  }

  /**
   * Waits until the leader begins to leave of its own accord, or the term is over. Does not hold the term. In a loop,
   * use {@link drainSignal}: each `Promise.race` with a long-lived promise keeps memory until that promise is settled.
   */
  draining(): Promise<void> {
    this.#draining ??= this.#wait(this.#native.draining()).then(() => {
      this.#isDrainNoticed = true;
    });
    return this.#draining;
  }

  /** Holds the term: a draining term continues until every hold is released, or the drain time is over. */
  hold(): Hold {
    return Hold.of(this.#native.hold());
  }

  /** Reports that the work of the term is done, even with other holds: a draining term ends now. */
  drained(): void {
    this.#isDrained = true;
    this.#native.drained();
  }

  /** Ends the term at once because its work failed, for the reason `HANDLER_FAILED`. */
  fail(): void {
    this.#native.fail();
  }

  /** Warns if work that waits for the end of the term held it until the drain time was over. */
  #warn(reason: Reason): void {
    const wasHeld = [...this.#waiting].some((work) => work.isHolding);
    this.#waiting.clear();
    if (!wasHeld || this.#isDrained || known(reason)?.mayDrain !== true) {
      return;
    }
    const message =
      `the drain of a term of ${JSON.stringify(this.election)} used up its whole time: the work of the term awaits ` +
      'term.ended(), and the drain waits for the work; await term.draining() or term.drainSignal there instead';
    process.emitWarning(message, { type: 'IncumbentWarning', code: 'INCUMBENT_WORK_AWAITS_END' });
  }

  /** The term as it is now, for `JSON.stringify`; 64-bit integers are strings. */
  toJSON(): TermStatus {
    const { election, token, sequence, incarnation, reason, remainingMs } = this;
    const { drainRemainingMs } = this.#native;
    const numbers = { sequence: String(sequence), incarnation: String(incarnation) };
    return { election, token, ...numbers, isCurrent: this.isCurrent(), remainingMs, drainRemainingMs, reason };
  }

  /** @internal */
  [inspect.custom](_depth: number, options: object): string {
    return `Term ${inspect(this.toJSON(), options)}`;
  }
}

/** A term at one moment, as `JSON.stringify` writes it. */
export interface TermStatus {
  /** The key of the election. */
  readonly election: string;
  /** The fencing token. */
  readonly token: string;
  /** The token's number, in decimal digits. */
  readonly sequence: string;
  /** The incarnation of the store, in decimal digits. */
  readonly incarnation: string;
  /** Whether the term lasts. */
  readonly isCurrent: boolean;
  /** The milliseconds for which the lease is proven. */
  readonly remainingMs: number;
  /** The milliseconds that a draining leader still has; null while it is not draining. */
  readonly drainRemainingMs: number | null;
  /** The reason for which the term ended; null while it lasts. */
  readonly reason: Reason | null;
}

/** A hold on a term, for work that a drain waits for. */
export class Hold implements Disposable, AsyncDisposable {
  readonly #native: NativeHold;

  private constructor(native: NativeHold) {
    this.#native = native;
  }

  /** @internal */
  static of(native: NativeHold): Hold {
    return new Hold(native);
  }

  /** Ends the hold: the work is done. Releasing it twice is not an error. */
  release(): void {
    this.#native.release();
  }

  [Symbol.dispose](): void {
    this.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.release();
    return Promise.resolve();
  }
}

/** Makes the error for a term that ended. */
export function ended(reason: Reason): TermEndedError {
  return new TermEndedError(reason, `the term ended: ${known(reason)?.text ?? reason}`);
}

/** Makes the error of a term that is over. */
function over(term: NativeTerm): TermEndedError {
  return ended((term.reason ?? 'EXPIRED') as Reason);
}

/**
 * Makes a signal that is aborted when the operation is answered. Reads ask `reason` first: it returns the error to
 * abort with, or nothing if the signal is not to be aborted yet; it gets true once the operation is answered.
 */
function signalOf(operation: Operation, reason: (isAnswered: boolean) => Error | undefined): AbortSignal {
  const controller = new AbortController();
  const { signal } = controller;
  // No limit on listeners: any number of requests may use the signal.
  setMaxListeners(0, signal);
  // This does not read `signal.aborted`, because Deno's `abort` reads that property.
  let isAborted = false;
  const check = (isAnswered: boolean): boolean => {
    const error = isAborted ? undefined : reason(isAnswered);
    if (error !== undefined) {
      isAborted = true;
      controller.abort(error);
    }
    return isAborted;
  };
  // The event may wait behind other callbacks in the loop's queue, but the clock does not.
  Object.defineProperty(signal, 'aborted', { configurable: true, enumerable: true, get: () => check(false) });
  Object.defineProperty(signal, 'throwIfAborted', {
    configurable: true,
    value: () => {
      if (check(false)) {
        throw signal.reason;
      }
    },
  });
  whenDone(operation, () => check(true));
  return signal;
}
