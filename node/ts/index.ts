/// <reference types="node" preserve="true" />

/**
 * Leader election: one of many processes leads, and can check at any time that it does.
 *
 * @module incumbent
 */

export { Candidate, Terms, type CandidateStatus, type TermsOptions } from './candidate.js';
export {
  IncumbentError,
  // generated: errors
  InvalidUrlError,
  InvalidSettingError,
  InvalidNameError,
  AuthenticationError,
  StoreUnavailableError,
  PermissionDeniedError,
  NotFoundError,
  UnsafeStoreError,
  UnsupportedError,
  ClosedError,
  ForkedError,
  NotLeaderError,
  BrokenError,
  TermEndedError,
  TimedOutError,
  InternalError,
  // end of errors
  type Code,
} from './errors.js';
export type { CandidateEmitter, CandidateEvents } from './emitter.js';
export { currentTerm } from './inside.js';
export { leaderOnly, type LeaderOnlyOptions } from './leader-only.js';
export type { WaitLimits } from './notifier.js';
export { logTo, type LogLevel, type LogRecord, type Logger } from './log.js';
export type { CampaignSettings, DrainHandler, InitSettings, Length, StoreSettings, UrlSettings } from './settings.js';
export { STORES, Store, connect, init } from './store.js';
export { runAsLeader, type RunSettings } from './run.js';
export { Stream } from './stream.js';
export { Hold, Term, type TermStatus } from './term.js';
export type { CandidateInfo, Event, InitReport, Leader, ElectionInfo, Observation, Reason, State, Warning } from './types.js';
