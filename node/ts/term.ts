/** A term, and a hold on it. */

import { setMaxListeners } from 'node:events';

import { addon } from './addon.js';
import { whenDone, type news } from './bell.js';
import { TermEndedError } from './errors.js';
import type { Hold as NativeHold, Term as NativeTerm } from './native.js';
import type { Reason } from './types.js';

const TEXTS = new Map(addon.reasons().map(({ code, text }) => [code, text]));

/**
 * One uninterrupted leadership. Keeping it holds up nothing; whoever works for it does so in `lead`, in a turn of
 * `terms`, or with a {@link Term.hold | hold}.
 */
export class Term {
  readonly #native: NativeTerm;
  readonly #wait: typeof news;
  #signal: AbortSignal | undefined;

  /**
   * The fencing token, as text of 33 characters that sorts: constant for the term, larger for every later one of the
   * election. Send it with every request, and let the resource refuse a smaller one than it has seen.
   */
  readonly token: string;

  private constructor(native: NativeTerm, wait: typeof news) {
    this.#native = native;
    this.#wait = wait;
    this.token = native.token;
  }

  /** @internal */
  static of(native: NativeTerm, wait: typeof news): Term {
    return new Term(native, wait);
  }

  /** @internal */
  static nativeOf(term: Term): NativeTerm {
    return term.#native;
  }

  /** The token's number: that of the write that won the term. */
  get sequence(): bigint {
    return this.#native.sequence;
  }

  /** Which life of the store the token belongs to; tokens compare by it first. */
  get incarnation(): bigint {
    return this.#native.incarnation;
  }

  /** The key of the election. */
  get election(): string {
    return this.#native.election;
  }

  /** For how many milliseconds the lease is proven; 0 once the term is over. */
  get remainingMs(): number {
    return this.#native.remainingMs;
  }

  /** How many milliseconds a draining leader may still take to finish; null while it is not draining. */
  get drainRemainingMs(): number | null {
    return this.#native.drainRemainingMs;
  }

  /** Why the term is over; null while it is not. */
  get reason(): Reason | null {
    return this.#native.reason as Reason | null;
  }

  /**
   * Whether the term is not over now, by the clock: also where the event loop was blocked and heard of nothing.
   */
  isCurrent(): boolean {
    return this.#native.isCurrent();
  }

  /**
   * Aborted the moment the term ends, with a {@link TermEndedError} as its reason. It looks at the clock: where the event
   * loop was blocked for longer than the lease, `aborted` is true at the first look.
   */
  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#native);
    return this.#signal;
  }

  /** Waits until the term is over, and says why. It does not hold the term. */
  ended(): Promise<Reason> {
    return this.#wait(this.#native.ended());
  }

  /** Waits until the leader begins to leave of its own will, or the term is over. It does not hold the term. */
  draining(): Promise<void> {
    return this.#wait(this.#native.draining()).then(() => undefined);
  }

  /** Holds the term: while it drains, it goes on until every hold is released, or the time for it is over. */
  hold(): Hold {
    return Hold.of(this.#native.hold());
  }

  /** Says that the work of the term is done, whoever else holds it: a draining term ends now. */
  drained(): void {
    this.#native.drained();
  }

  /** Ends the term at once because its work failed, for the reason `HANDLER_FAILED`. */
  fail(): void {
    this.#native.fail();
  }
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

  /** The work is done. Releasing it twice is no error. */
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

/** The error that says that a term ended. */
export function ended(reason: Reason): TermEndedError {
  return new TermEndedError(reason, `the term ended: ${TEXTS.get(reason) ?? reason}`);
}

function signalOf(term: NativeTerm): AbortSignal {
  const controller = new AbortController();
  const { signal } = controller;
  // As many requests as there are may listen.
  setMaxListeners(0, signal);
  const plain = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted')?.get;
  const isAborted = (): boolean => plain?.call(signal) === true;
  const abort = (): void => {
    if (!isAborted()) {
      controller.abort(ended((term.reason ?? 'EXPIRED') as Reason));
    }
  };
  const look = (): boolean => {
    if (!isAborted() && !term.isCurrent()) {
      abort();
    }
    return isAborted();
  };
  // The news may be behind other callbacks in the loop's queue; the clock is not.
  Object.defineProperty(signal, 'aborted', { configurable: true, enumerable: true, get: look });
  Object.defineProperty(signal, 'throwIfAborted', {
    configurable: true,
    value: () => {
      if (look()) {
        throw signal.reason;
      }
    },
  });
  whenDone(term.ended(), abort);
  return signal;
}
