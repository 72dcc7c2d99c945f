/** One call for a program with work for the leader: connects, campaigns, works, and leaves when the program is stopped. */

import { constants } from 'node:os';
import { isMainThread } from 'node:worker_threads';

import type { Candidate } from './candidate.js';
import { run } from './lead.js';
import { callable, plain, refused, signalIn, type CampaignSettings, type StoreSettings } from './settings.js';
import { whenAborted, whenSignalled } from './signals.js';
import { Store, connect } from './store.js';
import { Term } from './term.js';
import { now } from './timers.js';

/** The settings of {@link runAsLeader}: the campaign's, and the run's. */
export interface RunSettings extends CampaignSettings {
  /** The settings of the store that the run opens. */
  store?: StoreSettings | undefined;
  /** Ends the run gracefully when it is aborted, like a signal of the process. */
  signal?: AbortSignal | undefined;
  /** The longest wait for the store when the run opens it, in milliseconds; no limit by default. */
  timeout?: number | undefined;
  /** Whether to keep leading after the function has returned, until the run is stopped; false by default. */
  keepLeading?: boolean | undefined;
  /**
   * The signals of the process that end the run gracefully; `SIGTERM` and `SIGINT` by default, and none with `[]`. Node
   * gives signals to the main thread only, so a run in a worker thread needs `signal`.
   */
  stopOn?: readonly NodeJS.Signals[] | undefined;
}

/**
 * A repeated signal within this time is the same request to stop: GNU's `timeout` sends two. Any other ends the
 * process.
 */
const SAME_REQUEST_MS = 1000;

/** Whether this thread has been warned that it gets no signals. */
let isWarned = false;

/**
 * Campaigns in the election of that key, and calls `work` when this process leads. The store is a URL, or an open
 * store; a store that the run opened is closed at its end.
 *
 * - When `work` returns, leadership is released, and the promise resolves with its result. With `keepLeading` the
 *   process keeps leading until it is stopped.
 * - When the term drains or ends before that, `work` should finish: `term.drainSignal` and `term.signal` are aborted.
 *   The run then campaigns again, and calls `work` in its next term. Work that returns a value while the term drains is
 *   done, and so is work that returns nothing and was not told of the drain: the promise resolves, and leadership is
 *   released.
 * - When `work` throws, the term ends with `HANDLER_FAILED`, and the promise rejects with the error. An error that it
 *   throws because one of the term's signals is aborted is not a failure.
 * - `SIGTERM`, `SIGINT` or an abort of `signal` ends the run: the work drains, the lease is released, and the promise
 *   resolves with the last result. The same signal more than a second later, or a different signal, exits at once.
 *
 * Rejects like {@link connect} and {@link Store.campaign}.
 */
export async function runAsLeader<T>(
  store: string | Store,
  election: string,
  work: (term: Term, candidate: Candidate) => T,
  settings: RunSettings = {},
): Promise<Awaited<T> | undefined> {
  callable(work, 'work');
  plain(settings, 'a run');
  const { store: storeSettings, signal, timeout, keepLeading = false, stopOn, ...campaign } = settings;
  if (typeof keepLeading !== 'boolean') {
    throw refused(keepLeading, 'keepLeading', 'true or false');
  }
  const stop = stopping(stopOn, signalIn({ signal }));
  const waits = { signal: stop.signal };
  let own: Store | undefined;
  try {
    own = store instanceof Store ? undefined : await connect(store, { ...storeSettings, ...waits, timeout });
    const candidate = await (own ?? (store as Store)).campaign(election, { ...campaign, ...waits });
    return await leadUntilDone(candidate, work, keepLeading, campaign.drain, stop.signal);
  } catch (error) {
    if (stop.signal.aborted && error === stop.signal.reason) {
      return undefined;
    }
    throw error;
  } finally {
    await own?.close();
    stop.end();
  }
}

async function leadUntilDone<T>(
  candidate: Candidate,
  work: (term: Term, candidate: Candidate) => T,
  keepLeading: boolean,
  drain: CampaignSettings['drain'],
  stop: AbortSignal,
): Promise<Awaited<T> | undefined> {
  // The close below throws the same error.
  const close = (): void => void candidate.close().catch(() => undefined);
  stop.addEventListener('abort', close);
  let result: Awaited<T> | undefined;
  try {
    if (stop.aborted) {
      return undefined;
    }
    for await (const term of candidate.terms()) {
      let returned: { result: Awaited<T> } | undefined;
      try {
        returned = await run(term, (mine) => work(mine, candidate));
      } catch (error) {
        term.fail();
        throw error;
      }
      result = returned?.result;
      const isTold = typeof drain === 'function' || candidate.listenerCount('draining') > 0;
      if (!keepLeading && returned !== undefined && Term.isDone(term, result, isTold)) {
        return result;
      }
    }
    return result;
  } finally {
    stop.removeEventListener('abort', close);
    await candidate.close();
  }
}

/** Returns a signal that is aborted when the run is to end, and a function that stops listening for that. */
function stopping(
  stopOn: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'],
  outer: AbortSignal | undefined,
): { signal: AbortSignal; end: () => void } {
  const known = Array.isArray(stopOn) && stopOn.every((name) => Object.hasOwn(constants.signals, name));
  if (!known) {
    throw refused(stopOn, 'stopOn', 'a list of signals such as "SIGTERM"');
  }
  if (!isMainThread && !isWarned && outer === undefined && stopOn.length > 0) {
    isWarned = true;
    const message =
      'runAsLeader in a worker thread: Node gives signals to the main thread only, and none of them ends this run; ' +
      'pass `signal` and abort it, or `stopOn: []` if the run ends on its own';
    process.emitWarning(message, { type: 'IncumbentWarning', code: 'INCUMBENT_NO_SIGNALS' });
  }
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  let first: { name: NodeJS.Signals; at: number } | undefined;
  const ends = [
    whenSignalled(stopOn, (name) => {
      const at = now();
      first ??= { name, at };
      if (name !== first.name || at - first.at >= SAME_REQUEST_MS) {
        process.exit(128 + constants.signals[name]);
      }
      abort();
    }),
  ];
  if (outer?.aborted === true) {
    abort();
  } else if (outer !== undefined) {
    ends.push(whenAborted(outer, abort));
  }
  return { signal: controller.signal, end: () => ends.forEach((end) => end()) };
}
