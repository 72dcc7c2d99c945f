/** Wake-ups by the compiled part, and the time for which they keep the event loop running. */

import { addon } from './addon.js';
import type { LoopProbe, Notifier, Operation } from './native.js';
import { TimedOutError, errorOf } from './errors.js';
import { outside } from './inside.js';
import { whenAborted } from './signals.js';
import { clearTimeout, setTimeout } from './timers.js';

/** An object that notifies when there is something to take. */
interface Source {
  notify(notifier: Notifier, id: number): boolean;
}

const waiting = new Map<number, () => void>();
let last = 0;
let held = 0;

/** The number that checks whether the loop runs; no callback has it. */
const PROBE = 0;
let present: LoopProbe | undefined;

let made: Notifier | undefined;

/** The notifier of this event loop. Made at its first use: a program that only loads this package has no handle of it. */
function notifier(): Notifier {
  made ??= outside(
    () =>
      new addon.Notifier((id) => {
        if (id === PROBE) {
          present?.answered();
          return;
        }
        const callback = waiting.get(id);
        waiting.delete(id);
        callback?.();
      }),
  );
  return made;
}

/**
 * Calls `callback` when there is something to take, and returns a function that forgets it. Returns null if there is
 * already something, and then does not call it.
 */
export function whenReady(source: Source, callback: () => void): (() => void) | null {
  do {
    last = (last + 1) >>> 0;
  } while (last === PROBE || waiting.has(last));
  const id = last;
  waiting.set(id, callback);
  const forget = (): void => void waiting.delete(id);
  if (source.notify(notifier(), id)) {
    return forget;
  }
  forget();
  return null;
}

/**
 * Returns the probe that checks whether this event loop runs while one of its candidates leads. Does not keep the loop
 * running.
 */
export function loopProbe(): LoopProbe {
  present ??= new addon.LoopProbe(notifier(), PROBE);
  return present;
}

/** Keeps the event loop running until the returned function is called; calling that again does nothing. */
export function keepAlive(): () => void {
  let isOver = false;
  held += 1;
  if (held === 1) {
    notifier().hold();
  }
  return () => {
    if (isOver) {
      return;
    }
    isOver = true;
    held -= 1;
    if (held === 0) {
      notifier().letGo();
    }
  };
}

/**
 * Calls back with the answer of an operation, at once if it is already there. Keeps nothing running. Returns a function
 * that cancels the operation: then there is no answer.
 */
export function whenDone(operation: Operation, done: (error: Error | null, value: unknown) => void): () => void {
  let forget: (() => void) | null = null;
  const take = (): void => {
    do {
      const answer = operation.take();
      if (answer !== null) {
        done(answer.failure === undefined ? null : errorOf(answer.failure), answer.value ?? null);
        return;
      }
      forget = whenReady(operation, take);
    } while (forget === null);
  };
  take();
  return () => {
    operation.cancel();
    forget?.();
  };
}

/** The limits that end a wait before its answer. */
export interface WaitLimits {
  /** Cancels the call when it is aborted; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** The longest wait, in milliseconds; the promise then rejects with a {@link TimedOutError}. No limit by default. */
  timeout?: number | undefined;
}

/** A wait for an answer: its limits, and whether it keeps the event loop running. */
export interface Wait extends WaitLimits {
  /** The name of the call, for the error of its timeout. */
  what?: string;
  /** Whether the event loop may end before the answer; false by default. */
  isUnref?: boolean;
}

/**
 * Waits for the answer of an operation, up to the limits: an operation without an answer by then is cancelled. The
 * signal is not aborted yet: otherwise `limitsIn` has thrown its reason.
 */
export function answer<T>(operation: Operation, { what, isUnref, signal, timeout }: Wait = {}): Promise<T> {
  const atEnd = isUnref === true ? [] : [keepAlive()];
  const answered = new Promise<T>((resolve, reject) => {
    const cancel = whenDone(operation, (error, value) => {
      if (error === null) {
        resolve(value as T);
      } else {
        reject(error);
      }
    });
    const stop = (error: Error): void => {
      cancel();
      reject(error);
    };
    if (signal !== undefined) {
      atEnd.push(whenAborted(signal, () => stop(signal.reason as Error)));
    }
    if (timeout !== undefined) {
      const message = `${what} took longer than ${timeout} ms, its timeout`;
      const timer = setTimeout(() => stop(new TimedOutError('TIMED_OUT', message)), timeout);
      atEnd.push(() => clearTimeout(timer));
    }
  });
  return atEnd.length === 0 ? answered : answered.finally(() => atEnd.forEach((end) => end()));
}

/**
 * The result of a promise, unless the signal is aborted first: then it rejects with the signal's reason, and `discard`
 * gets the result when it comes.
 */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined, discard: (late: T) => void): Promise<T> {
  if (signal === undefined) {
    return promise;
  }
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      promise.then(discard, () => undefined);
      reject(signal.reason as Error);
    };
    if (signal.aborted) {
      abort();
      return;
    }
    const end = whenAborted(signal, () => {
      end();
      abort();
    });
    promise.then(
      (value) => {
        end();
        resolve(value);
      },
      (error: unknown) => {
        end();
        reject(error as Error);
      },
    );
  });
}
