/** The nouns. */

import type { LeaderRow } from './native.js';
import type { Term } from './term.js';

/** Why a term ended. */
export type Reason =
  | 'RESIGNED'
  | 'HANDED_OVER'
  | 'USURPED'
  | 'DELETED'
  | 'EXPIRED'
  | 'REVOKED'
  | 'UNHEALTHY'
  | 'HANDLER_FAILED'
  | 'STORE_RESET'
  | 'CLOSED';

/** Where a campaign stands. */
export type State =
  | 'IDLE'
  | 'SPLAYING'
  | 'WAITING'
  | 'ACQUIRING'
  | 'HOLDING'
  | 'LEADING'
  | 'DRAINING'
  | 'RELEASING'
  | 'CLOSED';

/** Who holds the seat of an election. */
export interface Leader {
  /** Its name. */
  readonly name: string;
  /** The revision of its newest record when it was first seen to hold the seat. */
  readonly revision: bigint;
  /** Its campaign; null for other software. */
  readonly nonce: string | null;
  /** What it publishes about itself. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Who holds the seat of an election of a store. */
export interface ElectionInfo {
  /** The election's key. */
  readonly election: string;
  /** Who holds the seat; null: nobody does. */
  readonly leader: Leader | null;
}

/** Who leads an election, as the store shows it. */
export interface Observation extends ElectionInfo {
  /** For how many milliseconds it had been so when it was read. */
  readonly ageMs: number;
}

/** Something a person should look at. */
export interface Warning {
  /** A stable name, or `HANDLER_FAILED` where it was the program's own handler that threw. */
  readonly code: string;
  /** What it is, and what to do. */
  readonly message: string;
  /** What a handler threw. */
  readonly cause?: unknown;
}

/** Something the user of a candidate should know. */
export type Event =
  /** This candidate leads, from now until `lost`. */
  | { readonly type: 'won'; readonly term: Term }
  /** This leader leaves of its own will; `term.drainRemainingMs` says how long it may take. */
  | { readonly type: 'draining'; readonly term: Term; readonly reason: Reason }
  /** This candidate leads no more. Told exactly once for every `won`. */
  | { readonly type: 'lost'; readonly term: Term; readonly reason: Reason }
  /** The seat is known to be held by somebody else than before, or by nobody. */
  | { readonly type: 'leaderChanged'; readonly leader: Leader | null }
  /** The campaign entered another state. */
  | { readonly type: 'stateChanged'; readonly state: State }
  /** Something a person should look at. */
  | { readonly type: 'warning'; readonly warning: Warning };

export function leaderOf(row: LeaderRow | null | undefined): Leader | null {
  if (row === null || row === undefined) {
    return null;
  }
  const metadata = Object.fromEntries(row.metadata as [string, string][]);
  return { name: row.name, revision: row.revision, nonce: row.nonce ?? null, metadata };
}
