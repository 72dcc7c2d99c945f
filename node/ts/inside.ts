/**
 * Whether code runs inside the work that a drain waits for. Code that resigns there must not wait for the drain: it
 * would wait for itself.
 */

import { AsyncLocalStorage } from 'node:async_hooks';

import type { Hold } from './native.js';

/** Work that holds a term, until it is over. */
export class Work {
  #hold: Hold | undefined;
  #token: string | undefined;
  #isOver = false;
  readonly #outer: Work | undefined;

  constructor() {
    this.#outer = storage.getStore()?.alive();
  }

  /** Begins, or continues, work for the held term. */
  begin(hold: Hold, token: string): void {
    this.#hold = hold;
    this.#token = token;
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
    const isMine = this.#hold !== undefined && (token === undefined || token === this.#token);
    return isMine ? this : this.#outer?.holding(token);
  }

  /** Runs a function inside the work. */
  run<T>(work: () => T): T {
    return storage.run(this, work);
  }

  /** Makes the rest of the calling function run inside the work. */
  enter(): void {
    storage.enterWith(this);
  }
}

const storage = new AsyncLocalStorage<Work>();

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
