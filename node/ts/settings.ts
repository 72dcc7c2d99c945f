/** Settings, under their JavaScript names. */

import { InvalidSettingError } from './errors.js';
import type { WaitLimits } from './notifier.js';
import * as refusals from './refusals.js';
import type { Term } from './term.js';

/** A length of time: a number of milliseconds, or a string such as `"10s"` or `"500ms"`. */
export type Length = number | string;

/** The parameters of a store's URL, as settings. */
export interface UrlSettings {
  // generated: parameters
  /** SQLite and Kafka: whether a missing file or topic is created; by default it is. */
  create?: boolean | undefined;
  /** NATS and etcd: a file with the certificates to trust; by default the system's. */
  tlsCa?: string | undefined;
  /** NATS and etcd: a file with the client's certificate. */
  tlsCert?: string | undefined;
  /** NATS and etcd: a file with the client's key. */
  tlsKey?: string | undefined;
  /** NATS and etcd: the time limit for connecting; by default 2 s. */
  connectTimeout?: Length | undefined;
  /**
   * SQLite: the interval at which the file is checked for changes, from 1 ms to 1 s; by default a tenth of the shortest
   * lease after the last check, from 10 ms to 1 s.
   */
  poll?: Length | undefined;
  /** SQLite: states that only this machine reaches the file on FUSE, and that file locks work there. */
  fuse?: boolean | undefined;
  /**
   * NATS: a context of the `nats` tool, for settings that the URL leaves out; by default none; without a host
   * (`nats:///BUCKET`) `$NATS_CONTEXT`, or the selected context. It is in `$XDG_CONFIG_HOME/nats/context/` or
   * `~/.config/nats/context/`.
   */
  context?: string | undefined;
  /** NATS: a file with credentials, a JWT and an nkey seed. */
  creds?: string | undefined;
  /** NATS: a file with an nkey seed. */
  nkey?: string | undefined;
  /** NATS: a token. */
  token?: string | undefined;
  /** NATS: whether TLS starts before the server's greeting, for servers that are configured so. */
  tlsFirst?: boolean | undefined;
  /** NATS: the subject prefix for answers, if permissions require one; by default `_INBOX`. */
  inboxPrefix?: string | undefined;
  /** NATS: the JetStream domain that holds the bucket. */
  domain?: string | undefined;
  /** NATS: the subject prefix of the JetStream API, if it is imported from another account; by default `$JS.API`. */
  apiPrefix?: string | undefined;
  /**
   * NATS: whether to also use other servers of the cluster, as reported by the connected one; by default true; false
   * over websockets. `false` if they advertise addresses that cannot be reached from here.
   */
  discover?: boolean | undefined;
  /**
   * NATS: the interval of pings on the connection, which ends after three unanswered ones; by default a tenth of the
   * lease, from 100 ms to 20 s.
   */
  pingInterval?: Length | undefined;
  /**
   * Kafka: the name of the leader topic; {group} in it is replaced by the group's name; by default {group}.neli. In a
   * URL the braces are `%7B` and `%7D`.
   */
  topic?: string | undefined;
  /**
   * Kafka: the session timeout of a member, after which a crash is noticed; by default three leases. At least two
   * leases.
   */
  session?: Length | undefined;
  /**
   * Kafka: the protocol, classic or consumer (KIP-848), the same for all members of a group; by default classic. With
   * consumer the brokers set the session.
   */
  protocol?: string | undefined;
  /**
   * Kafka: a static member id; a process that restarts within its session keeps its partition. Each process needs its
   * own.
   */
  instanceId?: string | undefined;
  /** Kafka: whether members that use goNELI share the groups. */
  goneli?: boolean | undefined;
  /**
   * Kafka: the SASL mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER; by default PLAIN with a password,
   * and none without.
   */
  sasl?: string | undefined;
  // end of parameters
}

/** The settings of a store: the parameters of its URL, and the settings that every store has. */
export interface StoreSettings extends UrlSettings, WaitLimits {
  // generated: store
  /** Whether a store that does not answer is an error; by default candidates wait for it. */
  failFast?: boolean | undefined;
  /**
   * The shortest lease that candidates will have, from which a connection to NATS derives the interval of its pings and
   * the time that it gives a server to answer; by default 30 s.
   */
  expectedLease?: Length | undefined;
  /** memory: whether watches report expiry. */
  markers?: boolean | undefined;
  // end of store
}

/** The settings for preparing a store for elections. */
export interface InitSettings extends UrlSettings, WaitLimits {
  // generated: init
  /**
   * States that no election ever ran there. Otherwise no candidate leads until the store is one lease old, because it
   * may replace another in which a candidate still leads. Only by hand, or in a test: if a program recreates a store
   * under a leader, there can be two leaders. Refused for a store that has been written to.
   */
  new?: boolean | undefined;
  /**
   * NATS: the lease of the bucket's elections, which is its TTL; by default 30 s for a new bucket; an existing one
   * keeps its own.
   */
  lease?: Length | undefined;
  /**
   * NATS: the number of servers that keep the bucket: 1, 3 or 5; by default 1 for a new bucket; an existing one keeps
   * its own.
   */
  replicas?: number | undefined;
  /**
   * NATS: the bucket's size limit in bytes, if the account requires one; at least 65536; by default none for a new
   * bucket; an existing one keeps its own.
   */
  maxBytes?: number | undefined;
  /**
   * NATS: whether watches report expiry, for a fail-over without a poll (2.11 or newer). Not for a bucket that
   * candidates of the Go library share.
   */
  markers?: boolean | undefined;
  /** NATS: whether each election can have its own lease, in whole seconds and below the bucket's (2.11 or newer). */
  ownLeases?: boolean | undefined;
  /**
   * NATS: whether to change an existing bucket that differs; by default the differences are reported, outside Rust as
   * the error UNSAFE_STORE, and nothing is changed.
   */
  update?: boolean | undefined;
  /** Kafka: the election whose topic is created. */
  election?: string | undefined;
  // end of init
}

/**
 * Finishes the work of a term that drains. The deadline is the latest end of the term, in milliseconds on the clock of
 * `performance.now()`; `term.drainRemainingMs` is the time left, and `term.signal` is aborted when it passes.
 */
export type DrainHandler = (term: Term, deadline: number) => unknown;

/** The settings of a candidate, all of them optional. */
export interface CampaignSettings extends WaitLimits {
  // generated: candidate
  /**
   * The candidate's name, which other candidates see: 1 to 255 bytes, one line without surrounding spaces; by default
   * HOST-PID, from the host and the process. Each candidate of an election has a different one.
   */
  name?: string | undefined;
  /** The bounds and defaults of all timing settings; by default the standard one, with leases of 5 s and more. */
  preset?: 'standard' | 'fast' | 'go_compatible' | undefined;
  /**
   * The lease duration: the time for which no other candidate leads after a leader crashes; by default the store's
   * maximum age if all its records share it, else the preset's lease, never longer than the store's maximum age.
   */
  lease?: Length | undefined;
  /**
   * The largest disagreement between the clocks of the store's servers; by default a twentieth of the lease, at most
   * 1 s; none on etcd and Kafka. It is a part of the margin, because another server may expire the record.
   */
  skew?: Length | undefined;
  /**
   * The largest gain or loss of each clock, in parts per million; by default 5,000, which is 0.5 %. The margin counts
   * it twice: for the leader's clock, and for that of the store or of a waiting candidate.
   */
  driftPpm?: number | undefined;
  /**
   * The time between reading the clock and acting on it; by default a twentieth of the lease, at most 250 ms. It is a
   * part of the margin.
   */
  slack?: Length | undefined;
  /**
   * The time that a new holder waits before it leads; by default automatic, which is as long as a previous leader may
   * still believe that it leads. With cautious it also waits a lease if no previous leader is known; a time is a
   * minimum.
   */
  winDelay?: 'automatic' | 'cautious' | Length | undefined;
  /**
   * The longest random wait before the first campaign, so that a fleet that starts together does not campaign together;
   * by default a tenth of the lease, at most 1 s. Zero for no wait.
   */
  splay?: Length | undefined;
  /**
   * The interval between a candidate's reads of the key while the watch is silent; by default it reads when the last
   * record that it saw should have expired.
   */
  interval?: Length | undefined;
  /**
   * The wait of a candidate after a failure; by default 100 ms, doubled up to 1 s, 20 % more or less. It does not apply
   * to a leader, which repeats a failed renewal as fast as its deadline demands.
   */
  backoff?: Length | readonly Length[] | undefined;
  /**
   * What the leader publishes about itself: keys of alphanumeric ASCII characters and '-', and texts of one line, 4,096
   * bytes in all; by default nothing.
   */
  metadata?: Readonly<Record<string, string>> | undefined;
  // end of candidate
  /**
   * The time that a leader has to finish its work when it leaves of its own accord, 10 s by default; or a function that
   * finishes it, with the limit `drainTime`. When the promise of the function is settled, the term ends.
   */
  drain?: Length | DrainHandler | undefined;
  /** The limit for the function in `drain`; 10 s by default. */
  drainTime?: Length | undefined;
  /**
   * Whether a term ends, with `HANDLER_FAILED`, when a listener of `won` or `draining`, or the function in `drain`,
   * throws or rejects; otherwise it continues. A warning is emitted in either case.
   */
  errorEndsTerm?: boolean | undefined;
  /**
   * The time that the event loop may hang while this candidate leads: the lease by default, or a length of time of at
   * least 100 ms; false switches it off. A loop that hangs for this time, or up to a quarter more, makes the candidate
   * unhealthy until it runs again.
   */
  watchLoop?: Length | boolean | undefined;
}

/** Takes settings as given; the compiled part knows their names. */
export function plain(settings: unknown, what: string): Record<string, unknown> {
  if (settings === undefined) {
    return {};
  }
  if (!isRecord(settings)) {
    throw invalid(refusals.noSettings(what, shown(settings)));
  }
  // Without a prototype, so that `__proto__` is a name like any other.
  const given = Object.create(null) as Record<string, unknown>;
  // Includes inherited properties, since a prototype may pass on defaults.
  for (const name in settings) {
    const value = settings[name];
    if (value === null) {
      throw invalid(refusals.nullSetting(name));
    }
    if (typeof value === 'string') {
      text(value, name);
    }
    given[name] = value;
  }
  const { metadata } = given;
  if (metadata !== undefined && !isRecord(metadata)) {
    throw refused(metadata, 'metadata', 'an object of strings');
  }
  return given;
}

/** Whether a value is an object with named properties, not a list, map, date or the like. */
function isRecord(value: unknown): value is Record<string, unknown> {
  return Object.prototype.toString.call(value) === '[object Object]';
}

/** Checks an object of options that JavaScript reads itself; refuses unknown names. */
export function options<T extends object>(value: T, what: string, names: readonly (keyof T & string)[]): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(refusals.noOptions(what, shown(value)));
  }
  const unknown = Object.keys(value).find((name) => !names.includes(name as keyof T & string));
  if (unknown !== undefined) {
    throw invalid(refusals.unknownOption(what, unknown, names.join(', ')));
  }
  return value;
}

/** Returns the signal among options, checked. */
export function signalIn({ signal }: { signal?: AbortSignal | undefined }): AbortSignal | undefined {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw refused(signal, 'signal', 'an AbortSignal');
  }
  return signal;
}

/** Takes the limits of a call's wait out of its settings; throws the reason of a signal that is already aborted. */
export function limitsIn(given: Record<string, unknown>): WaitLimits {
  const { signal, timeout } = given as WaitLimits;
  delete given['signal'];
  delete given['timeout'];
  const limits = {
    signal: signalIn({ signal }),
    timeout: timeout === undefined ? undefined : number(timeout, 'timeout', 'milliseconds'),
  };
  // Checked before anything begins that would have to be undone.
  limits.signal?.throwIfAborted();
  return limits;
}

/** Checks a required text. Half a surrogate pair would become another character when passed on, and so another key. */
export function text(value: unknown, name: string): string {
  if (typeof value !== 'string') {
    throw refused(value, name, 'a string');
  }
  if (/\p{Surrogate}/u.test(value)) {
    throw refused(value, name, 'Unicode: it has half of a surrogate pair');
  }
  return value;
}

/** Checks a required number that is not negative. */
export function number(value: unknown, name: string, unit: string): number {
  if (typeof value !== 'number' || !(value >= 0) || value === Infinity) {
    throw refused(value, name, `a number of ${unit}, not negative`);
  }
  return value;
}

/** Checks a required function. */
export function callable(value: unknown, name: string): void {
  if (typeof value !== 'function') {
    throw refused(value, name, 'a function');
  }
}

/** Checks that a value is one of several texts. */
export function oneOf(value: unknown, name: string, all: readonly string[]): void {
  if (!all.includes(value as string)) {
    const quoted = all.map((one) => `"${one}"`);
    throw refused(value, name, `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`);
  }
}

/** Makes the error with the value and the accepted values. */
export function refused(value: unknown, name: string, accepted: string): InvalidSettingError {
  return invalid(refusals.unlike(name, shown(value), accepted));
}

/** The candidate's settings that are functions, or about functions; they stay in JavaScript. */
export interface HandlerSettings {
  readonly drain?: DrainHandler | undefined;
  readonly errorEndsTerm: boolean;
}

/** Takes the settings that stay in JavaScript out of a candidate's settings. */
export function handlersOf(given: Record<string, unknown>): HandlerSettings {
  const { drain, drainTime, errorEndsTerm } = given;
  if (errorEndsTerm !== undefined && typeof errorEndsTerm !== 'boolean') {
    throw refused(errorEndsTerm, 'errorEndsTerm', 'true or false');
  }
  const isHandled = typeof drain === 'function';
  if (!isHandled && drain !== undefined && drainTime !== undefined) {
    throw invalid(refusals.twoDrains());
  }
  delete given['errorEndsTerm'];
  if (isHandled) {
    delete given['drain'];
  }
  return { drain: isHandled ? (drain as DrainHandler) : undefined, errorEndsTerm: errorEndsTerm ?? false };
}

function invalid(message: string): InvalidSettingError {
  return new InvalidSettingError('INVALID_SETTING', message);
}

function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? 'a list' : isRecord(value) ? 'an object' : `a ${value.constructor.name}`;
    case 'function':
    case 'symbol':
      return `a ${typeof value}`;
    default:
      return String(value);
  }
}
