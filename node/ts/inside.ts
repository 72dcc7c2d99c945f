/**
 * Whether code runs inside of the work that a drain waits for. Code that resigns there must not wait for the drain: it
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

  /** Begins, or continues, work for the term that is held. */
  begin(hold: Hold, token: string): void {
    this.#hold = hold;
    this.#token = token;
  }

  /** Ends the work and releases its hold. Finishing it twice is no error. */
  finish(): void {
    this.#isOver = true;
    this.#hold?.release();
    this.#hold = undefined;
  }

  /** Returns this work, or the nearest around it that is not over; work whose term is still awaited is not over. */
  alive(): Work | undefined {
    return this.#isOver ? this.#outer?.alive() : this;
  }

  holds(token: string | undefined): boolean {
    const isMine = this.#hold !== undefined && (token === undefined || token === this.#token);
    return isMine || (this.#outer?.holds(token) ?? false);
  }

  /** Runs a function inside of it. */
  run<T>(work: () => T): T {
    return storage.run(this, work);
  }

  /** Makes the rest of the calling function run inside of it. */
  enter(): void {
    storage.enterWith(this);
  }
}

const storage = new AsyncLocalStorage<Work>();

/** Whether the caller is part of work that holds the candidate's present term; any term, where there is none. */
export function isInside(candidate?: { readonly term: { readonly token: string } | null }): boolean {
  const work = storage.getStore();
  // Outside of all work, the usual case, the present term is not asked for.
  return work !== undefined && work.holds(candidate?.term?.token);
}
