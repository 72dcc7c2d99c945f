// Checks the promise: at most one candidate leads at any instant. The engines are asked whenever anything
// happened, because between two events no candidate can become a leader, and all of them at every frame and
// step.

import { DRIFT_PPM } from './settings.js';

export class Watchman {
  /** The number of times that the engines were asked. */
  looks = 0;
  /** The number of times that two led at once though every assumption held. The promise is that this stays zero. */
  violations = 0;
  /** The number of times that two led at once while a clock ran at a rate that the settings do not allow. */
  overlaps = 0;
  /** The leaders at this instant. */
  leaders = [];
  #excusedUntil = -1;
  #tell;

  constructor(tell) {
    this.#tell = tell;
  }

  /** `asks` returns whether a candidate's engine is asked now. */
  look(now, candidates, lease, asks = () => true) {
    this.looks += 1;
    if (candidates.some(({ clock, isAlive }) => isAlive && Math.abs(clock.ppm) > DRIFT_PPM)) {
      // A false belief from a wrong clock may last for a lease after the clock is right again, and delay
      // others for another lease.
      this.#excusedUntil = now + 3 * lease;
    }
    const before = this.leaders.length;
    this.leaders = candidates.filter((candidate) => asks(candidate) && candidate.isLeader()).map(({ name }) => name);
    if (this.leaders.length < 2 && before >= 2) this.#tell({ kind: 'two-no-more' });
    if (this.leaders.length < 2 || before >= 2) return;
    const isExcused = this.isExcused(now);
    if (isExcused) this.overlaps += 1;
    else this.violations += 1;
    this.#tell({ kind: 'two', who: this.leaders[0], leaders: this.leaders, isExcused });
  }

  /** True if an assumption of the promise does not hold now, or did not hold a moment ago. */
  isExcused(now) {
    return now < this.#excusedUntil;
  }
}
