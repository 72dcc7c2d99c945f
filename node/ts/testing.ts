/**
 * For tests, with any runner: a scripted election, a store with fault injection, and a manual clock.
 *
 * @module testing
 */

import { addon } from './addon.js';
import { answer } from './notifier.js';
import { Candidate } from './candidate.js';
import { answerOf, check } from './errors.js';
import type {
  AskedRow,
  FaultyStore as NativeFaulty,
  ManualClock as NativeClock,
  Operation,
  Script,
} from './native.js';
import { callable, number, options as optionsOf, refused, text, type StoreSettings } from './settings.js';
import { Store, opening } from './store.js';
import { now, setTimeout } from './timers.js';
import type { Reason } from './types.js';

/** A clock that moves only when it is advanced. */
export class ManualClock {
  readonly #native: NativeClock = new addon.ManualClock();

  /** Advances the clock. */
  advance(milliseconds: number): void {
    this.#native.advance(number(milliseconds, 'milliseconds', 'milliseconds'));
  }

  /** @internal */
  static nativeOf(clock: ManualClock | undefined): NativeClock | undefined {
    if (clock !== undefined && !(clock instanceof ManualClock)) {
      throw refused(clock, 'clock', 'a ManualClock');
    }
    return clock === undefined ? undefined : clock.#native;
  }
}

/** A request of the code under test. */
export type Asked =
  | { readonly what: 'resign' | 'close' | 'acceptReset' | 'fail' }
  | { readonly what: 'handOver'; readonly to: string }
  | { readonly what: 'setHealthy'; readonly isWell: boolean };

/** A scripted election, and its only candidate, which does not lead at first. */
export class ScriptedElection {
  readonly #script: Script;

  /** The candidate to hand to the code under test. It does not keep the process alive. */
  readonly candidate: Candidate;

  constructor(options: { election?: string; name?: string; clock?: ManualClock } = {}) {
    const names = ['election', 'name', 'clock'] as const;
    const { election = 'jobs', name = 'candidate', clock } = optionsOf(options, 'a scripted election', names);
    const made = addon.newScript(text(election, 'election'), text(name, 'name'), ManualClock.nativeOf(clock));
    this.#script = answerOf<Script>(made);
    this.candidate = Candidate.of(this.#script.candidate(), false);
  }

  /**
   * Lets the candidate win, with a lease of `leaseMs` milliseconds or without one. When the lease expires the term
   * ends, and `lost` is emitted with the reason `EXPIRED`. Returns the token of the term.
   */
  acquire(leaseMs?: number): string {
    return answerOf<string>(this.#script.acquire(leaseMs === undefined ? leaseMs : number(leaseMs, 'leaseMs', 'milliseconds')));
  }

  /** Ends the term at once. */
  revoke(reason: Reason): void {
    check(this.#script.revoke(reason));
  }

  /** Lets the term drain. */
  drain(reason: Reason): void {
    check(this.#script.drain(reason));
  }

  /** Shows the candidate a leader of that name, or no leader. */
  leader(name: string | null): void {
    check(this.#script.leader(name === null ? null : text(name, 'name')));
  }

  /** Emits a warning. */
  warning(): void {
    check(this.#script.warning());
  }

  /** The requests of the code under test, in order. */
  get asked(): Asked[] {
    return answerOf<AskedRow[]>(this.#script.asked()).map(({ what, value }) => {
      switch (what) {
        case 'hand_over':
          return { what: 'handOver', to: value ?? '' };
        case 'set_healthy':
          return { what: 'setHealthy', isWell: value === 'true' };
        case 'accept_reset':
          return { what: 'acceptReset' };
        default:
          return { what: what as 'resign' | 'close' | 'fail' };
      }
    });
  }
}

/** A store with fault injection, made by {@link faultyStore}. */
export class FaultyStore implements AsyncDisposable {
  readonly #native: NativeFaulty;

  /** The store to hand to the code under test. */
  readonly store: Store;

  private constructor(native: NativeFaulty) {
    this.#native = native;
    this.store = Store.of(native.store());
  }

  /** @internal */
  static of(native: NativeFaulty): FaultyStore {
    return new FaultyStore(native);
  }

  /** Loses the answers of the next `count` writes, which are applied. */
  loseAnswers(count = 1): void {
    check(this.#native.writes('lose_answer', number(count, 'count', 'writes')));
  }

  /** Loses the next `count` writes before they reach the store; they get no answer. */
  loseRequests(count = 1): void {
    check(this.#native.writes('lose_request', number(count, 'count', 'writes')));
  }

  /** Refuses the next `count` writes because another write is in flight. */
  busy(count = 1): void {
    check(this.#native.writes('busy', number(count, 'count', 'writes')));
  }

  /** Delays every answer by that many milliseconds from now on; 0 ends the delay. */
  delayAnswers(milliseconds: number): void {
    check(this.#native.delayAnswers(number(milliseconds, 'milliseconds', 'milliseconds')));
  }

  /** Refuses writes for that reason, until they are allowed again. */
  denyWrites(reason = 'denied by the test'): void {
    check(this.#native.denyWrites(reason));
  }

  /** Ends {@link denyWrites}. */
  allowWrites(): void {
    check(this.#native.denyWrites(null));
  }

  /** Cuts the connection. */
  partition(): void {
    check(this.#native.partition(true));
  }

  /** Restores the connection. */
  heal(): void {
    check(this.#native.partition(false));
  }

  /** Silences every current watch. */
  killWatches(): void {
    check(this.#native.killWatches());
  }

  /** Restores the connection and closes the store. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.heal();
    this.allowWrites();
    await this.store.close();
  }
}

/** Opens a store with fault injection: the memory of this process, or the store at the URL. */
export async function faultyStore(
  url = 'memory:',
  options: StoreSettings & { clock?: ManualClock } = {},
): Promise<FaultyStore> {
  const { clock, ...settings } = options;
  const { address, given, limits } = opening(url, settings);
  const operation = answerOf<Operation>(addon.openFaulty(address, given, ManualClock.nativeOf(clock)));
  return FaultyStore.of(await answer<NativeFaulty>(operation, { what: 'opening the store', ...limits }));
}

/**
 * Waits until a condition is true: checks it repeatedly, and fails with the name of the condition. It uses the timers and
 * the clock of the time when this package was loaded, and so waits in tests with fake timers too.
 */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  limitMs = 30_000,
): Promise<void> {
  callable(isSo, 'isSo');
  const limit = now() + limitMs;
  while (!(await isSo())) {
    if (now() > limit) {
      throw new Error(`waited ${limitMs} ms for: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
