/** Wake-ups by the compiled part, and the time for which they keep the event loop running. */

import { addon } from './addon.js';
import type { LoopProbe, Notifier, Operation } from './native.js';
import { errorOf } from './errors.js';

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

const notifier = new addon.Notifier((id) => {
  if (id === PROBE) {
    present?.answered();
    return;
  }
  const callback = waiting.get(id);
  waiting.delete(id);
  callback?.();
});

/**
 * Calls `callback` when there is something to take. Returns false where there is already, and then does not call it.
 */
export function whenReady(source: Source, callback: () => void): boolean {
  do {
    last = (last + 1) >>> 0;
  } while (last === PROBE || waiting.has(last));
  const id = last;
  waiting.set(id, callback);
  if (source.notify(notifier, id)) {
    return true;
  }
  waiting.delete(id);
  return false;
}

/**
 * Returns the probe that checks whether this event loop runs while a candidate of it leads. Does not keep the loop
 * running.
 */
export function loopProbe(): LoopProbe {
  present ??= new addon.LoopProbe(notifier, PROBE);
  return present;
}

/** Keeps the event loop running until the returned function is called; calling that again does nothing. */
export function keepAlive(): () => void {
  let isOver = false;
  held += 1;
  if (held === 1) {
    notifier.hold();
  }
  return () => {
    if (isOver) {
      return;
    }
    isOver = true;
    held -= 1;
    if (held === 0) {
      notifier.letGo();
    }
  };
}

/** Calls back with the answer of an operation, at once where it is there. Keeps nothing running. */
export function whenDone(operation: Operation, done: (error: Error | null, value: unknown) => void): void {
  const look = (): void => {
    for (;;) {
      const answer = operation.take();
      if (answer !== null) {
        done(answer.failure === undefined ? null : errorOf(answer.failure), answer.value ?? null);
        return;
      }
      if (whenReady(operation, look)) {
        return;
      }
    }
  };
  look();
}

/** Waits for the answer of an operation, and keeps the event loop running until it is there. */
export function answer<T>(operation: Operation): Promise<T> {
  const letGo = keepAlive();
  return answerUnref<T>(operation).finally(letGo);
}

/** Waits for the answer of an operation, and keeps nothing running. */
export function answerUnref<T>(operation: Operation): Promise<T> {
  return new Promise((resolve, reject) => {
    whenDone(operation, (error, value) => {
      if (error === null) {
        resolve(value as T);
      } else {
        reject(error);
      }
    });
  });
}
