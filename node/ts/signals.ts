/** Signals of the process, and `AbortSignal`s: one listener each, for any number of calls that wait for it. */

/** The calls that wait for something, and the one listener that they share. */
interface Shared {
  readonly calls: Set<() => void>;
  readonly listener: () => void;
}

const aborts = new WeakMap<AbortSignal, Shared>();

/**
 * Calls back when the signal is aborted, and returns a function that ends this. A program may give one signal to any
 * number of calls: a listener for each would be taken for a leak. The signal is not aborted yet.
 */
export function whenAborted(signal: AbortSignal, call: () => void): () => void {
  let shared = aborts.get(signal);
  if (shared === undefined) {
    const calls = new Set<() => void>();
    shared = { calls, listener: () => calls.forEach((one) => one()) };
    aborts.set(signal, shared);
  }
  const { calls, listener } = shared;
  // Adding a listener twice has no effect.
  signal.addEventListener('abort', listener);
  // Each call gets its own object, because two calls may pass the same function.
  const mine = (): void => call();
  calls.add(mine);
  return () => {
    calls.delete(mine);
    if (calls.size === 0) {
      signal.removeEventListener('abort', listener);
    }
  };
}

type Received = (name: NodeJS.Signals) => void;

const received = new Map<NodeJS.Signals, Set<Received>>();

const deliver = (name: NodeJS.Signals): void => received.get(name)?.forEach((one) => one(name));

/** Calls back for each of these signals of the process, and returns a function that ends this. */
export function whenSignalled(names: readonly NodeJS.Signals[], call: Received): () => void {
  const mine: Received = (name) => call(name);
  for (const name of names) {
    const calls = received.get(name) ?? new Set();
    received.set(name, calls.add(mine));
    // The program may have removed all listeners, so this looks for ours.
    if (!process.listeners(name).includes(deliver)) {
      process.on(name, deliver);
    }
  }
  return () => {
    for (const name of names) {
      const calls = received.get(name);
      calls?.delete(mine);
      if (calls?.size === 0) {
        process.off(name, deliver);
      }
    }
  };
}
