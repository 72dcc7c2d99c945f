// Units. The world counts whole microseconds; the engine counts nanoseconds.

export const MILLISECOND = 1_000;
export const SECOND = 1_000_000;

/** Microseconds as the engine takes them. */
export const nanos = (micros) => BigInt(micros) * 1_000n;

/** The engine's instant, rounded up to a whole microsecond. */
export const micros = (nanos) => Number((nanos + 999n) / 1_000n);
