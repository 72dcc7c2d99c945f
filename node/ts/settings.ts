/** Settings as JavaScript names them. */

import { InvalidSettingError, IncumbentError } from './errors.js';
import type { Term } from './term.js';

/** A length of time: a number of milliseconds, or a text such as `"10s"` or `"500ms"`. */
export type Length = number | string;

/** How to open a store, besides its URL: what the URL can say as a parameter, and what every store has. */
export interface StoreSettings {
  /** A store that does not answer is an error, instead of being waited for. */
  failFast?: boolean | undefined;
  /** The lease that candidates are going to have, so that a store unfit for it is refused when it is opened. */
  expectedLease?: Length | undefined;
  /** NATS: the name of a context, as the `nats` tool stores them. */
  context?: string | undefined;
  /** NATS: a file with credentials. */
  creds?: string | undefined;
  /** NATS: a file with an nkey's seed. */
  nkey?: string | undefined;
  /** NATS: a token. */
  token?: string | undefined;
  /** NATS: a file with the certificates of whom to trust. */
  tlsCa?: string | undefined;
  /** NATS: a file with the client's certificate. */
  tlsCert?: string | undefined;
  /** NATS: a file with the client's key. */
  tlsKey?: string | undefined;
  /** NATS: TLS from the first byte. */
  tlsFirst?: boolean | undefined;
  /** NATS: what the subjects of replies begin with. */
  inboxPrefix?: string | undefined;
  /** NATS: the JetStream domain. */
  domain?: string | undefined;
  /** NATS: what the subjects of the JetStream API begin with. */
  apiPrefix?: string | undefined;
  /** NATS: how long connecting may take. */
  connectTimeout?: Length | undefined;
  /** NATS: how often the connection is tried. */
  pingInterval?: Length | undefined;
  /** SQLite: how often the file is looked at. */
  poll?: Length | undefined;
  /** SQLite: whether a file that is missing is made. */
  create?: boolean | undefined;
  /** Memory: whether expiry is told to who watches. */
  markers?: boolean | undefined;
}

/**
 * Finishes the work of a term that drains. The deadline is when the term ends at the latest, in milliseconds on the clock
 * of `performance.now()`; `term.drainRemainingMs` says what is left of it, and `term.signal` is aborted when it passes.
 */
export type DrainHandler = (term: Term, deadline: number) => unknown;

/** A candidate's settings, all of them optional. */
export interface CampaignSettings {
  /** The candidate's name, which others see; host and process by default. */
  name?: string | undefined;
  /** `fast` allows leases of 1 s and more, `go_compatible` keeps to the Go library's rules. */
  preset?: 'standard' | 'fast' | 'go_compatible' | undefined;
  /** How long nobody else leads after a leader crashed; the store's by default. */
  lease?: Length | undefined;
  /**
   * How long a leader that leaves of its own will may take to finish its work, 10 s by default; or a function that
   * finishes it, for which `drainTime` is the limit. When what the function returns is settled, the term ends.
   */
  drain?: Length | DrainHandler | undefined;
  /** The limit for the function in `drain`; 10 s by default. */
  drainTime?: Length | undefined;
  /**
   * Whether a term ends, with `HANDLER_FAILED`, when a listener of `won` or `draining`, or the function in `drain`, throws or
   * rejects; otherwise it goes on. It is told as warning in either case.
   */
  errorEndsTerm?: boolean | undefined;
  /**
   * For how long the event loop may stand still while this candidate leads: the lease by default, or a length of time of
   * at least 100 ms; false switches it off. A loop that does not turn for so long, or up to a quarter more, makes the
   * candidate unhealthy until it turns again.
   */
  watchLoop?: Length | boolean | undefined;
  /** The longest wait before the first campaign. */
  splay?: Length | undefined;
  /** How long a new holder waits where a former leader may still believe it leads: `automatic`, or at least so long. */
  winDelay?: 'automatic' | 'cautious' | Length | undefined;
  /** How far apart clocks may be. */
  skew?: Length | undefined;
  /** How much each clock may gain or lose, in parts per million; 5,000 (0.5 %) by default. */
  driftPpm?: number | undefined;
  /** How much sooner than it must a leader stops. */
  slack?: Length | undefined;
  /** How often a candidate looks though nothing is told. */
  interval?: Length | undefined;
  /** How long a candidate waits after a failure: one length, or one for each failure in a row. */
  backoff?: Length | readonly Length[] | undefined;
  /** Texts that the leader publishes about itself. */
  metadata?: Readonly<Record<string, string>> | undefined;
}

/** The settings as the compiled part names them. */
export function plain(settings: unknown, what: string): Record<string, unknown> {
  if (settings === undefined) {
    return {};
  }
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) {
    throw invalid(`the settings of ${what} are ${shown(settings)}, and must be an object`);
  }
  const given: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(settings)) {
    if (name.includes('_')) {
      throw invalid(`${what} has no setting "${name}": did you mean ${camel(name)}?`);
    }
    given[snake(name)] = value;
  }
  return given;
}

/** An object of options that JavaScript reads itself; a name it does not know is refused. */
export function options<T extends object>(value: T, what: string, names: readonly (keyof T & string)[]): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`the options of ${what} are ${shown(value)}, and must be an object`);
  }
  const unknown = Object.keys(value).find((name) => !names.includes(name as keyof T & string));
  if (unknown !== undefined) {
    throw invalid(`${what} has no option "${unknown}": known are ${names.join(', ')}`);
  }
  return value;
}

/** A text that has to be given. */
export function text(value: unknown, name: string): string {
  if (typeof value !== 'string') {
    throw refused(value, name, 'a text');
  }
  return value;
}

/** A number that has to be given, and is not negative. */
export function number(value: unknown, name: string, unit: string): number {
  if (typeof value !== 'number' || !(value >= 0) || value === Infinity) {
    throw refused(value, name, `a number of ${unit}, not negative`);
  }
  return value;
}

/** A function that has to be given. */
export function callable(value: unknown, name: string): void {
  if (typeof value !== 'function') {
    throw refused(value, name, 'a function');
  }
}

/** One of several texts. */
export function oneOf(value: unknown, name: string, all: readonly string[]): void {
  if (!all.includes(value as string)) {
    const quoted = all.map((one) => `"${one}"`);
    throw refused(value, name, `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`);
  }
}

/** The error that says what a value is, and what it must be. */
export function refused(value: unknown, name: string, accepted: string): InvalidSettingError {
  return invalid(`${name} is ${shown(value)}, and must be ${accepted}`);
}

/** What of a candidate's settings concerns functions of the program's, which stay in JavaScript. */
export interface HandlerSettings {
  readonly drain?: DrainHandler | undefined;
  readonly errorEndsTerm: boolean;
}

/** Takes what stays in JavaScript out of a candidate's settings. */
export function handlersOf(given: Record<string, unknown>): HandlerSettings {
  const { drain, drain_time: drainTime, error_ends_term: errorEndsTerm } = given;
  if (errorEndsTerm !== undefined && typeof errorEndsTerm !== 'boolean') {
    throw refused(errorEndsTerm, 'errorEndsTerm', 'true or false');
  }
  const isHandled = typeof drain === 'function';
  if (!isHandled && drain !== undefined && drainTime !== undefined) {
    throw invalid('drain and drainTime both give a length of time: give one of them, or drain as a function');
  }
  delete given['drain_time'];
  delete given['error_ends_term'];
  if (isHandled || drain === undefined) {
    given['drain'] = drainTime;
  }
  return { drain: isHandled ? (drain as DrainHandler) : undefined, errorEndsTerm: errorEndsTerm ?? false };
}

/** An error of a campaign's settings that also knows those which stay in JavaScript. */
export function knowing(error: unknown, isDrainTime: boolean): unknown {
  if (error instanceof IncumbentError && error.code === 'INVALID_SETTING') {
    error.message = error.message.replace(/(: |\? )known are .*$/, '$&, drainTime, errorEndsTerm, watchLoop');
    if (isDrainTime) {
      error.message = error.message.replaceAll(/\bdrain\b/g, 'drainTime');
    }
  }
  return error;
}

/** Does something of which an error names settings, and has it name them as JavaScript does. */
export function naming<T>(names: readonly string[], given: Record<string, unknown>, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw renamed(error, names, given);
  }
}

/** An error that names settings as JavaScript does. */
export function renamed(error: unknown, names: readonly string[], given: Record<string, unknown>): unknown {
  if (error instanceof IncumbentError && error.code === 'INVALID_SETTING') {
    for (const name of [...names, ...Object.keys(given)].filter((one) => one.includes('_'))) {
      error.message = error.message.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), camel(name));
    }
  }
  return error;
}

function invalid(message: string): InvalidSettingError {
  return new InvalidSettingError('INVALID_SETTING', message);
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camel(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? 'a list' : 'an object';
    case 'function':
    case 'symbol':
      return `a ${typeof value}`;
    default:
      return String(value);
  }
}
