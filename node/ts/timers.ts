/**
 * Timers and a clock as they are when this package is loaded. Test runners replace those of `globalThis` and of
 * `node:timers` by fake ones, which run only when the test advances them; a store and its leases do not wait for that.
 */

import * as timers from 'node:timers';
import { performance } from 'node:perf_hooks';

export const { setTimeout, clearTimeout } = timers;

/** Milliseconds on a clock that never goes back. */
export const now: () => number = performance.now.bind(performance);
