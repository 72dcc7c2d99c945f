/**
 * The work around the code that runs: its term, and whether a drain waits for it. Code that resigns there must not wait
 * for the drain: it would wait for itself.
 */

import { AsyncLocalStorage } from 'node:async_hooks';

import type { Hold } from './native.js';
import type { Term } from './term.js';

/** Work that holds a term, until it is over. */
export class Work {
  #hold: Hold | undefined;
  #term: Term | undefined;
  #isOver = false;
  readonly #outer: Work | undefined;

  constructor() {
    this.#outer = storage.getStore()?.alive();
  }

  /** Begins, or continues, work for the term that is held. */
  begin(hold: Hold, term: Term): void {
    this.#hold = hold;
    this.#term = term;
  }

  /** Ends the work and releases its hold. Finishing it twice is not an error. */
  finish(): void {
    this.#isOver = true;
    this.#hold?.release();
    this.#hold = undefined;
  }

  /** Returns this work, or the nearest around it that is not over; work whose term is still awaited is not over. */
  alive(): Work | undefined {
    return this.#isOver ? this.#outer?.alive() : this;
  }

  /** Whether it still holds its term. */
  get isHolding(): boolean {
    return this.#hold !== undefined;
  }

  /** Returns this work, or the nearest around it, that holds the term of that token, or any term without a token. */
  holding(token: string | undefined): Work | undefined {
    const isMine = this.#hold !== undefined && (token === undefined || token === this.#term?.token);
    return isMine ? this : this.#outer?.holding(token);
  }

  /** Its term, also where that is over: code that outlives the work has no other. While it is awaited, that of the work around. */
  get term(): Term | undefined {
    return this.#term ?? this.#outer?.term;
  }

  /** Runs a function inside of it. */
  run<T>(work: () => T): T {
    return storage.run(this, work);
  }

  /** Makes the rest of the calling function run inside the work. */
  enter(): void {
    storage.enterWith(this);
  }

  /** Ends {@link enter} for the rest of the calling function. */
  leave(): void {
    if (storage.getStore() === this) {
      storage.enterWith(this.#outer);
    }
  }
}

const storage = new AsyncLocalStorage<Work | undefined>();

/** Calls a function outside of all work, which handles keep that are made inside of it. */
export function outside<T>(make: () => T): T {
  return storage.run(undefined, make);
}

/**
 * Returns the term that the calling code works for: in the function of `lead`, of `runAsLeader` and of `leaderOnly`, in a
 * turn of a loop over `terms`, and in a listener of `draining` or the function in `drain`, with everything that these call
 * or start. Null elsewhere. The term may be over: its `isCurrent` and its signals say so.
 */
export function currentTerm(): Term | null {
  return storage.getStore()?.term ?? null;
}

/** Whether the caller is part of work that holds the candidate's current term, or any term if there is none. */
export function isInside(candidate?: { readonly term: { readonly token: string } | null }): boolean {
  const work = storage.getStore();
  // Outside all work, the usual case, the current term is not looked up.
  return work?.holding(candidate?.term?.token) !== undefined;
}

/** Returns the work around the caller that holds the term of that token. */
export function workFor(token: string): Work | undefined {
  return storage.getStore()?.holding(token);
}
