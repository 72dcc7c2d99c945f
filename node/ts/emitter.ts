/** The emitter's face of a candidate: which events there are, and with which arguments. */

import type { EventEmitter } from 'node:events';

import { InvalidSettingError } from './errors.js';
import type { Term } from './term.js';
import type { Leader, Reason, State, Warning } from './types.js';

/** What a candidate emits, and with which arguments. */
export interface CandidateEvents {
  /** This candidate leads, from now until `lost`. */
  won: [term: Term];
  /** This leader leaves of its own will; the term goes on until what the listeners return is settled. */
  draining: [term: Term, reason: Reason];
  /** This candidate leads no more. Told exactly once for every `won`. */
  lost: [term: Term, reason: Reason];
  /** The seat is known to be held by somebody else than before, or by nobody. */
  leaderChanged: [leader: Leader | null];
  /** The campaign entered another state. */
  stateChanged: [state: State];
  /** Something a person should look at. */
  warning: [warning: Warning];
}

/** An event emitter that knows its events; a listener may return a promise. */
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
};

/** What emitters have of their own: `events.once` listens for errors, too. */
const GENERAL = ['error', 'newListener', 'removeListener'];

/** Whether that is an event of a candidate's; throws where it is none of any emitter's. */
export function isEvent(name: string | symbol): boolean {
  if (typeof name === 'symbol' || GENERAL.includes(name)) {
    return false;
  }
  if (!Object.hasOwn(NAMES, name)) {
    const known = Object.keys(NAMES).join(', ');
    throw new InvalidSettingError('INVALID_SETTING', `a candidate has no event "${name}": known are ${known}`);
  }
  return true;
}
