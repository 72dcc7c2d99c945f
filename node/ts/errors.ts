/** The errors: one base, one class for each kind, and the same codes in every language. */

import type { Failure } from './native.js';
import type { Reason } from './types.js';

// generated: codes
/** A stable name of a kind of error, the same in every language. */
export type Code =
  /** A store's URL cannot be read, or names a parameter that does not exist. */
  | 'INVALID_URL'
  /** A setting is refused; the message names it, its value, what is accepted and the remedy. */
  | 'INVALID_SETTING'
  /** The store cannot hold this key or candidate name. */
  | 'INVALID_NAME'
  /** Credentials cannot be read, or are malformed. */
  | 'AUTHENTICATION'
  /** The store does not answer. */
  | 'STORE_UNAVAILABLE'
  /** The store refuses the credentials, or they lack a permission. */
  | 'PERMISSION_DENIED'
  /** The bucket, file or topic does not exist; preparing the store creates it. */
  | 'NOT_FOUND'
  /** An election on a store with these settings would be unsafe. */
  | 'UNSAFE_STORE'
  /** This build, store or server version does not support the request. */
  | 'UNSUPPORTED'
  /** The candidate or the store is closed. */
  | 'CLOSED'
  /** The handle was made, or the file opened, before the process forked; the child is never the leader. */
  | 'FORKED'
  /** Only the leader may do this. */
  | 'NOT_LEADER'
  /** The store answers but cannot serve: it is full, locked or damaged. */
  | 'BROKEN'
  /** The term ended before the work that ran in it. */
  | 'TERM_ENDED'
  /** The wait ended at its time limit. */
  | 'TIMED_OUT'
  /** A bug in incumbent; please report it. */
  | 'INTERNAL';

const TEMPORARY: ReadonlySet<Code> = new Set(['STORE_UNAVAILABLE', 'BROKEN', 'TIMED_OUT']);
// end of codes

/**
 * The base of every error of this package. Programs act on the class or on `code`; the message is for people, and
 * contains the remedy. The cause of an error is its `cause`.
 */
export class IncumbentError extends Error {
  /** A stable name of the kind. */
  readonly code: Code;

  /** Whether the same call can succeed later without a change by the caller or an operator. */
  get isTemporary(): boolean {
    return TEMPORARY.has(this.code);
  }

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.name = new.target.name;
  }
}

// generated: errors
/** A store's URL cannot be read, or names a parameter that does not exist. */
export class InvalidUrlError extends IncumbentError {
  declare readonly code: 'INVALID_URL';
}

/** A setting is refused; the message names it, its value, what is accepted and the remedy. */
export class InvalidSettingError extends IncumbentError {
  declare readonly code: 'INVALID_SETTING';
}

/** The store cannot hold this key or candidate name. */
export class InvalidNameError extends IncumbentError {
  declare readonly code: 'INVALID_NAME';
}

/** Credentials cannot be read, or are malformed. */
export class AuthenticationError extends IncumbentError {
  declare readonly code: 'AUTHENTICATION';
}

/** The store does not answer. */
export class StoreUnavailableError extends IncumbentError {
  declare readonly code: 'STORE_UNAVAILABLE';
}

/** The store refuses the credentials, or they lack a permission. */
export class PermissionDeniedError extends IncumbentError {
  declare readonly code: 'PERMISSION_DENIED';
}

/** The bucket, file or topic does not exist; preparing the store creates it. */
export class NotFoundError extends IncumbentError {
  declare readonly code: 'NOT_FOUND';
}

/** An election on a store with these settings would be unsafe. */
export class UnsafeStoreError extends IncumbentError {
  declare readonly code: 'UNSAFE_STORE';
}

/** This build, store or server version does not support the request. */
export class UnsupportedError extends IncumbentError {
  declare readonly code: 'UNSUPPORTED';
}

/** The candidate or the store is closed. */
export class ClosedError extends IncumbentError {
  declare readonly code: 'CLOSED';
}

/** The handle was made, or the file opened, before the process forked; the child is never the leader. */
export class ForkedError extends IncumbentError {
  declare readonly code: 'FORKED';
}

/** Only the leader may do this. */
export class NotLeaderError extends IncumbentError {
  declare readonly code: 'NOT_LEADER';
}

/** The store answers but cannot serve: it is full, locked or damaged. */
export class BrokenError extends IncumbentError {
  declare readonly code: 'BROKEN';
}

/** The wait ended at its time limit. */
export class TimedOutError extends IncumbentError {
  declare readonly code: 'TIMED_OUT';
}

/** A bug in incumbent; please report it. */
export class InternalError extends IncumbentError {
  declare readonly code: 'INTERNAL';
}

// end of errors

/** The term ended before the work that ran in it; also the reason of an aborted signal of a term. */
export class TermEndedError extends IncumbentError {
  declare readonly code: 'TERM_ENDED';

  /** The reason for which the term ended. */
  readonly reason: Reason;

  constructor(reason: Reason, message: string) {
    super('TERM_ENDED', message);
    this.reason = reason;
  }
}

type Kind = new (code: Code, message: string, options?: ErrorOptions) => IncumbentError;

// No code without a class: TypeScript refuses an incomplete table.
const CLASSES: Record<Exclude<Code, 'TERM_ENDED'>, Kind> = {
  // generated: classes
  INVALID_URL: InvalidUrlError,
  INVALID_SETTING: InvalidSettingError,
  INVALID_NAME: InvalidNameError,
  AUTHENTICATION: AuthenticationError,
  STORE_UNAVAILABLE: StoreUnavailableError,
  PERMISSION_DENIED: PermissionDeniedError,
  NOT_FOUND: NotFoundError,
  UNSAFE_STORE: UnsafeStoreError,
  UNSUPPORTED: UnsupportedError,
  CLOSED: ClosedError,
  FORKED: ForkedError,
  NOT_LEADER: NotLeaderError,
  BROKEN: BrokenError,
  TIMED_OUT: TimedOutError,
  INTERNAL: InternalError,
  // end of classes
};

/** Makes the error of a code. */
export function makeError(code: Code, message: string, cause?: unknown): IncumbentError {
  const kind = CLASSES[code as keyof typeof CLASSES];
  return new kind(code, message, cause === undefined ? undefined : { cause });
}

/** Makes the error for an error of the compiled part, with its causes, the nearest first. */
export function errorOf(failure: Failure): IncumbentError {
  if (failure.reason !== undefined) {
    return new TermEndedError(failure.reason as Reason, failure.message);
  }
  let cause: Error | undefined;
  for (const message of [...failure.causes].reverse()) {
    cause = new Error(message, cause && { cause });
  }
  return makeError(failure.failed as Code, failure.message, cause);
}

/** Returns the answer of a call of the compiled part, or throws its error. */
export function answerOf<T>(outcome: Failure | T): T {
  check(outcome);
  return outcome as T;
}

/** Throws the error, if there is one. */
export function check(outcome: unknown): void {
  if (typeof outcome === 'object' && outcome !== null && 'failed' in outcome) {
    throw errorOf(outcome as Failure);
  }
}
