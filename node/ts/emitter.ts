/** The events of a candidate, and their arguments. */

import type { EventEmitter } from 'node:events';

import { InvalidSettingError } from './errors.js';
import { unknownEvent } from './refusals.js';
import type { Term } from './term.js';
import type { Leader, Reason, State, Warning } from './types.js';

/** The events that a candidate emits, and their arguments. */
export interface CandidateEvents {
  /** This candidate leads, from now until `lost`. */
  won: [term: Term];
  /** This leader leaves of its own accord; the term continues until the listeners' promises are settled. */
  draining: [term: Term, reason: Reason];
  /** This candidate no longer leads. Emitted exactly once for every `won`. */
  lost: [term: Term, reason: Reason];
  /** The holder of the key changed: another candidate, or none. */
  leaderChanged: [leader: Leader | null];
  /** The campaign entered another state. */
  stateChanged: [state: State];
  /** A problem that a person should look at. */
  warning: [warning: Warning];
  /**
   * The number of events that the listeners did not get since the last `missed`, because the event loop fell 1024
   * events behind. Emitted before the next event. The oldest events other than `won` and `lost` are dropped first, then
   * a `won` together with its `lost`.
   */
  missed: [count: number];
}

/** An event emitter with typed events; a listener may return a promise. */
export interface CandidateEmitter extends EventEmitter {
  on<K extends keyof CandidateEvents>(name: K, listener: (...args: CandidateEvents[K]) => unknown): this;
  once<K extends keyof CandidateEvents>(name: K, listener: (...args: CandidateEvents[K]) => unknown): this;
  off<K extends keyof CandidateEvents>(name: K, listener: (...args: CandidateEvents[K]) => unknown): this;
  addListener<K extends keyof CandidateEvents>(name: K, listener: (...args: CandidateEvents[K]) => unknown): this;
  removeListener<K extends keyof CandidateEvents>(name: K, listener: (...args: CandidateEvents[K]) => unknown): this;
  prependListener<K extends keyof CandidateEvents>(name: K, listener: (...args: CandidateEvents[K]) => unknown): this;
  prependOnceListener<K extends keyof CandidateEvents>(name: K, listener: (...args: CandidateEvents[K]) => unknown): this;
  removeAllListeners(name?: keyof CandidateEvents): this;
  listenerCount(name: keyof CandidateEvents): number;
}

const NAMES: Record<keyof CandidateEvents, true> = {
  won: true,
  draining: true,
  lost: true,
  leaderChanged: true,
  stateChanged: true,
  warning: true,
  missed: true,
};

/** The events of every emitter: `events.once` also listens for errors. */
const GENERAL = ['error', 'newListener', 'removeListener'];

/** Whether that is an event of a candidate; throws if it is not an event of any emitter. */
export function isEvent(name: string | symbol): boolean {
  if (typeof name === 'symbol' || GENERAL.includes(name)) {
    return false;
  }
  if (!Object.hasOwn(NAMES, name)) {
    const known = Object.keys(NAMES).join(', ');
    throw new InvalidSettingError('INVALID_SETTING', unknownEvent(name, known));
  }
  return true;
}
