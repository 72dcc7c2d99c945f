// What the candidates are set to, and what follows from it. Leases are microseconds.

import { nanos, MILLISECOND, SECOND } from './time.js';

export const NAMES = ['Ada', 'Ben', 'Cleo', 'Dora', 'Emil'];

/** The leases on offer. */
export const LEASES = [5, 10, 20, 30].map((seconds) => seconds * SECOND);

/** By how many parts per million the settings let each clock drift. */
export const DRIFT_PPM = 5_000;

/** How fast a clock may be made to run: within what the settings allow, and far beyond it. */
export const RATES = [-500_000, -DRIFT_PPM, 0, DRIFT_PPM, 500_000];

/** How long a leader's work takes to finish when it leaves of its own will. */
export const WORK = 1_500 * MILLISECOND;

/** How long a leader waits for the answer to a renewal before the page says that it doubts. */
export const DOUBT = 1_000 * MILLISECOND;

/** What the engine keeps clear of the end of a lease by default: skew, the drift of two clocks, and slack. */
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
