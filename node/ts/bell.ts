/** Wake-ups by the compiled part, and the time for which they keep the event loop running. */

import { addon } from './addon.js';
import type { Bell, Operation, Pulse } from './native.js';
import { errorOf } from './errors.js';

/** An object that notifies when there is something to take. */
interface Source {
  tell(bell: Bell, id: number): boolean;
}

const waiting = new Map<number, () => void>();
let last = 0;
let held = 0;

/** The number that checks whether the loop runs; no callback has it. */
const ASKED = 0;
let present: Pulse | undefined;

const bell = new addon.Bell((id) => {
  if (id === ASKED) {
    present?.beat();
    return;
  }
  const ring = waiting.get(id);
  waiting.delete(id);
  ring?.();
});

/**
 * Calls `ring` when there is something to take. Returns false where there is already, and then does not call it.
 */
export function tell(source: Source, ring: () => void): boolean {
  do {
    last = (last + 1) >>> 0;
  } while (last === ASKED || waiting.has(last));
  const id = last;
  waiting.set(id, ring);
  if (source.tell(bell, id)) {
    return true;
  }
  waiting.delete(id);
  return false;
}

/**
 * Returns the pulse that checks whether this event loop runs while a candidate of it leads. Does not keep the loop
 * running.
 */
export function pulse(): Pulse {
  present ??= new addon.Pulse(bell, ASKED);
  return present;
}

/** Keeps the event loop running until the returned function is called; calling that again does nothing. */
export function keepAlive(): () => void {
  let isOver = false;
  held += 1;
  if (held === 1) {
    bell.hold();
  }
  return () => {
    if (isOver) {
      return;
    }
    isOver = true;
    held -= 1;
    if (held === 0) {
      bell.letGo();
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
      if (tell(operation, look)) {
        return;
      }
    }
  };
  look();
}

/** Waits for the answer of an operation, and keeps the event loop running until it is there. */
export function answer<T>(operation: Operation): Promise<T> {
  const letGo = keepAlive();
  return news<T>(operation).finally(letGo);
}

/** Waits for the answer of an operation, and keeps nothing running. */
export function news<T>(operation: Operation): Promise<T> {
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
