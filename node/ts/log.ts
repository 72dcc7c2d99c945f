/** Log records, for the programs that request them. */

import { isMainThread } from 'node:worker_threads';

import { addon } from './addon.js';
import { oneOf, options as optionsOf, refused } from './settings.js';
import type { LogRow, LogTap } from './native.js';

/** The level of a record. `error`: a person must act. `warn`: a promise is at risk. `info`: a term begins or ends. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** A log record. */
export interface LogRecord {
  readonly level: LogLevel;
  /** The module that logs it, such as `incumbent::driver`. */
  readonly target: string;
  /** The text. */
  readonly message: string;
  /** The fields of the record: `election`, `candidate`, `term`, … */
  readonly fields: Readonly<Record<string, string>>;
}

/** An object with a method for each level that takes a text: `console`, and the usual loggers. */
export interface Logger {
  debug(text: string): unknown;
  info(text: string): unknown;
  warn(text: string): unknown;
  error(text: string): unknown;
}

const LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error'];

let tap: LogTap | undefined;
/** Whether the program has chosen where records go. */
let isChosen = false;

/**
 * Hands the log records of this process from now on to a logger (such as `console`), or to a function; to neither if
 * `sink` is null. Omits records below `level`, `info` by default. A later call replaces an earlier one; each worker
 * thread calls it for itself. Without a call, records that a person should look at become process warnings.
 *
 * Records delay nothing: if an event loop falls 1024 records behind, further records are dropped, and a warning gives
 * their number. A logger that throws or rejects causes a process warning.
 */
export function logTo(sink: Logger | ((record: LogRecord) => unknown) | null, options: { level?: LogLevel } = {}): void {
  const write = writer(sink);
  isChosen = true;
  const { level = 'info' } = optionsOf(options, 'logTo', ['level']);
  oneOf(level, 'level', LEVELS);
  tap?.close();
  tap = undefined;
  if (write === null) {
    return;
  }
  const safely = (record: LogRecord): void => {
    try {
      const result = write(record);
      if (typeof (result as PromiseLike<unknown> | null | undefined)?.then === 'function') {
        Promise.resolve(result).catch(warn);
      }
    } catch (error) {
      warn(error);
    }
  };
  const mine = new addon.LogTap((row) => {
    // The record was on its way when the tap was closed.
    if (tap !== mine) {
      return;
    }
    if (row.missed > 0) {
      const message = `${row.missed} records were left out: the logger was too slow`;
      safely({ level: 'warn', target: 'incumbent', message, fields: {} });
    }
    safely(recordOf(row));
  }, level);
  tap = mine;
}

/**
 * Turns records of the levels `warn` and `error` into process warnings of the type `IncumbentWarning`, unless the
 * program has called {@link logTo}. One thread of a process does this.
 */
export function warnByDefault(): void {
  if (isChosen || tap !== undefined || !isMainThread) {
    return;
  }
  const mine = new addon.LogTap((row) => {
    if (tap === mine) {
      process.emitWarning(shown(recordOf(row)), { type: 'IncumbentWarning' });
    }
  }, 'warn');
  tap = mine;
}

/** A record as one line. */
function shown({ message, fields }: LogRecord): string {
  const about = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  return `${message}${about.length === 0 ? '' : ` (${about.join(' ')})`}`;
}

function writer(sink: unknown): ((record: LogRecord) => unknown) | null {
  if (sink === null || typeof sink === 'function') {
    return sink as ((record: LogRecord) => unknown) | null;
  }
  const logger = sink as Logger & { trace?: (text: string) => unknown };
  if (!LEVELS.slice(1).every((level) => typeof logger?.[level] === 'function')) {
    throw refused(sink, 'sink', 'null, a function, or a logger with the methods debug, info, warn and error');
  }
  return (record) => {
    const { level } = record;
    const text = `${record.target}: ${shown(record)}`;
    // The console's own `trace` prints the caller.
    const method = level === 'trace' && (sink === console || logger.trace === undefined) ? 'debug' : level;
    return logger[method]?.(text);
  };
}

function recordOf({ level, target, message, fields }: LogRow): LogRecord {
  return { level: level as LogLevel, target, message, fields: Object.fromEntries(fields as [string, string][]) };
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : new Error(String(error)));
}
