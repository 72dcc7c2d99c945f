/** Work that runs only while leading. */

import { Work } from './inside.js';
import type { Hold } from './native.js';
import { Term } from './term.js';

type Next = (after?: Term) => Promise<{ hold: Hold; term: Term } | null>;

/** Runs `work` in every term, until there are no more. */
export async function lead(
  next: Next,
  work: (term: Term) => unknown,
  report: (error: unknown) => void,
): Promise<void> {
  let last: Term | undefined;
  for (;;) {
    const turn = await next(last);
    if (turn === null) {
      return;
    }
    const { hold, term } = turn;
    last = term;
    const inside = new Work();
    inside.begin(hold, term.token);
    // Created at the start, so that it is aborted with the term and not at its first use.
    const { signal } = term;
    try {
      await inside.run(() => work(term));
    } catch (error) {
      if (!signal.aborted) {
        term.fail();
        report(error);
      } else if (!isOf(signal, error)) {
        report(error);
      }
    } finally {
      inside.finish();
    }
  }
}

/** Whether the error comes from the aborted signal. */
function isOf(signal: AbortSignal, error: unknown): boolean {
  const { name, cause } = (error ?? {}) as { name?: unknown; cause?: unknown };
  return error === signal.reason || cause === signal.reason || name === 'AbortError';
}
