/** Work that runs only while leading. */

import { Work } from './inside.js';
import type { Hold } from './native.js';
import { unlessAborted } from './notifier.js';
import { Term } from './term.js';

interface Turn {
  hold: Hold;
  term: Term;
}

/** Runs `work` in every term, until there are no more, or the signal is aborted. */
export async function lead(
  next: (after?: Term) => Promise<Turn | null>,
  work: (term: Term) => unknown,
  report: (error: unknown) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  let last: Term | undefined;
  for (;;) {
    const turn = await unlessAborted(next(last), signal, (late) => late?.hold.release());
    if (turn === null) {
      return;
    }
    const { hold, term } = turn;
    last = term;
    const inside = new Work();
    inside.begin(hold, term);
    try {
      await inside.run(() => run(term, work));
    } catch (error) {
      term.fail();
      report(error);
    } finally {
      inside.finish();
    }
  }
}

/**
 * Runs the work of a term, and returns its result. An error that it throws because one of the term's signals was aborted
 * ends it, and is not a failure: then there is no result.
 */
export async function run<T>(term: Term, work: (term: Term) => T): Promise<{ result: Awaited<T> } | undefined> {
  // Created at the start, so that each is aborted in time, not at its first use.
  const signals = Term.signalsOf(term);
  try {
    return { result: await work(term) };
  } catch (error) {
    if (signals.some((signal) => signal.aborted && isOf(signal, error))) {
      return undefined;
    }
    throw error;
  }
}

/** Whether the error comes from the aborted signal. */
export function isOf(signal: AbortSignal, error: unknown): boolean {
  const { name, cause } = (error ?? {}) as { name?: unknown; cause?: unknown };
  return error === signal.reason || cause === signal.reason || name === 'AbortError';
}
