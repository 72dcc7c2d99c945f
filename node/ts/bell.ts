/** How the compiled part tells this event loop that something is ready, and for how long the loop is kept running. */

import { addon } from './addon.js';
import type { Bell, Operation, Pulse } from './native.js';
import { errorOf } from './errors.js';

/** Something that can say when there is something to take. */
interface Source {
  tell(bell: Bell, id: number): boolean;
}

const waiting = new Map<number, () => void>();
let last = 0;
let held = 0;

/** Rung to ask whether the loop turns; nothing else has this number. */
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
 * Has `ring` called when there is something to take. False where there is already: then it is not called.
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

/** Whether this event loop turns: watched while one of its candidates leads. It does not keep the loop running. */
export function pulse(): Pulse {
  present ??= new addon.Pulse(bell, ASKED);
  return present;
}

/** Keeps the event loop running until what is returned is called; calling it again does nothing. */
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

/** The answer of an operation. The event loop runs until it is there. */
export function answer<T>(operation: Operation): Promise<T> {
  const letGo = keepAlive();
  return news<T>(operation).finally(letGo);
}

/** The answer of an operation, which nothing is kept running for. */
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
