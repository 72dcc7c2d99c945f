// The candidates' settings, and values that follow from them. Leases are microseconds.

import { nanos, MILLISECOND, SECOND } from './time.js';

export const NAMES = ['Ada', 'Ben', 'Cleo', 'Dora', 'Emil'];

/** The leases on offer. */
export const LEASES = [5, 10, 20, 30].map((seconds) => seconds * SECOND);

/** Parts per million by which the settings let each clock drift. */
export const DRIFT_PPM = 5_000;

/** The rates that a clock can be given: within the settings' limits, and far beyond them. */
export const RATES = [-500_000, -DRIFT_PPM, 0, DRIFT_PPM, 500_000];

/** The time that a leader's work takes to finish when it leaves voluntarily. */
export const WORK = 1_500 * MILLISECOND;

/** The time without an answer to a renewal after which the page marks a leader. */
export const DOUBT = 1_000 * MILLISECOND;

/** The engine's default distance from the end of a lease: skew, the drift of two clocks, and slack. */
export const margin = (lease) =>
  Math.min(SECOND, lease / 20) + (2 * lease * DRIFT_PPM) / 1_000_000 + Math.min(250 * MILLISECOND, lease / 20);

/** A candidate's settings, as the engine takes them. */
export const campaignSettings = (name, lease) => ({
  name,
  preset: 'standard',
  lease: nanos(lease),
  skew: undefined,
  driftPpm: DRIFT_PPM,
  slack: undefined,
  winDelay: { tag: 'automatic' },
  splay: undefined,
  drain: nanos(3 * SECOND),
  interval: undefined,
  backOff: { tag: 'standard' },
  metadata: [],
});
