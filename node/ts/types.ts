/** The types of the API. */

import type { LeaderRow } from './native.js';
import type { Term } from './term.js';

// generated: reasons
/** The reason for which a term ended. */
export type Reason =
  /** The leader resigned. */
  | 'RESIGNED'
  /** The leader handed over to a named successor. */
  | 'HANDED_OVER'
  /** Another candidate, or other software, wrote the key. */
  | 'USURPED'
  /** An operator deleted the key. */
  | 'DELETED'
  /** The deadline passed without a proven renewal, or the store reported that the lease expired. */
  | 'EXPIRED'
  /** A consumer group took the leadership away. */
  | 'REVOKED'
  /** The candidate's health check failed, or its event loop or executor hung. */
  | 'UNHEALTHY'
  /** The work of the term failed. */
  | 'HANDLER_FAILED'
  /** The store was replaced or restored, or lost acknowledged writes. */
  | 'STORE_RESET'
  /** The campaign was closed. */
  | 'CLOSED';
// end of reasons

// generated: states
/** The state of a campaign. */
export type State =
  /** Not campaigning: not yet asked to, or unhealthy. */
  | 'IDLE'
  /** Waiting for a random time before its first campaign. */
  | 'SPLAYING'
  /** Campaigning; another candidate holds the lease, or the key was not read yet. */
  | 'WAITING'
  /** An acquire was sent but not answered yet. */
  | 'ACQUIRING'
  /** Holds the lease but does not lead yet, because a previous leader might still believe that it leads. */
  | 'HOLDING'
  /** Leads. */
  | 'LEADING'
  /** Leads, and is finishing its work. */
  | 'DRAINING'
  /** No longer leads, and releases the lease once the term's work has ended. */
  | 'RELEASING'
  /** Over. */
  | 'CLOSED';
// end of states

/** The leader of an election. */
export interface Leader {
  /** The name of the candidate. */
  readonly name: string;
  /** The revision of its newest record when it was first seen as the leader; `JSON.stringify` writes it as a text. */
  readonly revision: bigint;
  /** The nonce of its campaign; null for other software. */
  readonly nonce: string | null;
  /** The metadata that it publishes. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** An election of a store, and its leader. */
export interface ElectionInfo {
  /** The election's key. */
  readonly election: string;
  /** The leader; null while the key is free. */
  readonly leader: Leader | null;
}

/** A candidate in an election: it waits, acquires or holds the lease, leads or leaves. */
export interface CandidateInfo {
  /** The election's key. */
  readonly election: string;
  /** The name of the candidate. */
  readonly name: string;
  /** The nonce of its campaign, which distinguishes candidates of the same name; null if it is not reported. */
  readonly nonce: string | null;
  /** The milliseconds for which it has been a candidate without interruption. */
  readonly standingForMs: number;
}

/** The findings and actions of `init`. */
export interface InitReport {
  /** Whether the store did not exist, and was created. */
  readonly created: boolean;
  /** Whether a bucket existed, and was changed. */
  readonly updated: boolean;
  /** Whether the store states that no election was ever held in it: then its first leader does not wait for a lease. */
  readonly neverUsed: boolean;
  /**
   * The lease of the elections in a NATS bucket, in milliseconds; null on other stores, where each candidate has its
   * own.
   */
  readonly leaseMs: number | null;
  /** The topic of the election, on Kafka; null elsewhere. */
  readonly topic: string | null;
  /** The settings of a bucket that were changed. */
  readonly differences: readonly { readonly setting: string; readonly was: string; readonly is: string }[];
}

/** The leader of an election, as the store shows it. */
export interface Observation extends ElectionInfo {
  /** The milliseconds for which this state had lasted when it was read. */
  readonly ageMs: number;
}

/** A problem that a person should look at. */
export interface Warning {
  /** A stable name, or `HANDLER_FAILED` if a handler of the program threw. */
  readonly code: string;
  /** The problem and the remedy. */
  readonly message: string;
  /** The error that a handler threw. */
  readonly cause?: unknown;
}

/** An event of a candidate. */
export type Event =
  /** This candidate leads, from now until `lost`. */
  | { readonly type: 'won'; readonly term: Term }
  /** This leader leaves of its own accord; `term.drainRemainingMs` is the time that it still has. */
  | { readonly type: 'draining'; readonly term: Term; readonly reason: Reason }
  /** This candidate no longer leads. Emitted exactly once for every `won`. */
  | { readonly type: 'lost'; readonly term: Term; readonly reason: Reason }
  /** The holder of the key changed: another candidate, or none. */
  | { readonly type: 'leaderChanged'; readonly leader: Leader | null }
  /** The campaign entered another state. */
  | { readonly type: 'stateChanged'; readonly state: State }
  /** A problem that a person should look at. */
  | { readonly type: 'warning'; readonly warning: Warning };

export function leaderOf(row: LeaderRow | null | undefined): Leader | null {
  if (row === null || row === undefined) {
    return null;
  }
  const { name, revision } = row;
  const metadata = Object.fromEntries(row.metadata as [string, string][]);
  const leader = { name, revision, nonce: row.nonce ?? null, metadata };
  // JSON has no 64-bit integers. Not enumerable: copies and comparisons see a plain object.
  return Object.defineProperty(leader, 'toJSON', { value: () => ({ ...leader, revision: String(revision) }) });
}
