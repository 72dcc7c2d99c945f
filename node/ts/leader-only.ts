/** Functions that only the leader runs. */

import { Candidate } from './candidate.js';
import { NotLeaderError } from './errors.js';
import { Work } from './inside.js';
import { isOf } from './lead.js';
import { callable, oneOf, options as optionsOf, refused } from './settings.js';
import { Term } from './term.js';

/** The settings of {@link leaderOnly}. */
export interface LeaderOnlyOptions {
  /**
   * What a call does where the candidate does not lead: `throw`, the default, rejects with a {@link NotLeaderError};
   * `skip` does nothing, and resolves to undefined.
   */
  otherwise?: 'throw' | 'skip' | undefined;
}

/**
 * Returns the function as one that runs only where the candidate leads. A candidate that is created later is given by a
 * function that returns it:
 *
 * ```ts
 * const sendInvoices = leaderOnly(() => app.candidate, async () => post({ signal: currentTerm()!.signal }), { otherwise: 'skip' });
 * ```
 *
 * A call holds the term: a drain waits until the promise of the function is settled. {@link currentTerm} returns the term
 * inside of it. Where the term ends before the function does, the call rejects with a {@link TermEndedError} when the
 * function is done: pass the signal of the term on, so that it is done soon.
 */
export function leaderOnly<This, Args extends unknown[], Result>(
  candidate: Candidate | (() => Candidate | undefined),
  work: (this: This, ...args: Args) => Result,
  options: LeaderOnlyOptions & { otherwise: 'skip' },
): (this: This, ...args: Args) => Promise<Awaited<Result> | undefined>;
export function leaderOnly<This, Args extends unknown[], Result>(
  candidate: Candidate | (() => Candidate | undefined),
  work: (this: This, ...args: Args) => Result,
  options?: LeaderOnlyOptions,
): (this: This, ...args: Args) => Promise<Awaited<Result>>;
export function leaderOnly<This, Args extends unknown[], Result>(
  candidate: Candidate | (() => Candidate | undefined),
  work: (this: This, ...args: Args) => Result,
  options: LeaderOnlyOptions = {},
): (this: This, ...args: Args) => Promise<Awaited<Result> | undefined> {
  if (!(candidate instanceof Candidate) && typeof candidate !== 'function') {
    throw refused(candidate, 'candidate', 'a candidate, or a function that returns one');
  }
  callable(work, 'work');
  const { otherwise = 'throw' } = optionsOf(options, 'leaderOnly', ['otherwise']);
  oneOf(otherwise, 'otherwise', ['throw', 'skip']);
  return async function (this: This, ...args: Args): Promise<Awaited<Result> | undefined> {
    const chosen = candidate instanceof Candidate ? candidate : candidate();
    const term = chosen?.term ?? null;
    if (term === null) {
      if (otherwise === 'skip') {
        return undefined;
      }
      const who = chosen === undefined ? 'no candidate' : `${JSON.stringify(chosen.name)} does not lead`;
      const what = chosen === undefined ? 'campaigns yet' : JSON.stringify(chosen.election);
      throw new NotLeaderError('NOT_LEADER', `${who} ${what}: only the leader may call this`);
    }
    const inside = new Work();
    inside.begin(Term.nativeOf(term).hold(), term);
    // Created at the start, so that it is aborted in time and not at its first use.
    const { signal } = term;
    try {
      const result = await inside.run(() => Reflect.apply(work, this, args) as Result);
      signal.throwIfAborted();
      return result;
    } catch (error) {
      throw signal.aborted && isOf(signal, error) ? signal.reason : error;
    } finally {
      inside.finish();
    }
  };
}
