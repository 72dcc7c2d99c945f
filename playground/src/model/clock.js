// A machine's own clock: it runs at a constant rate until another rate is set.

const MILLION = 1_000_000;

export class Clock {
  #moment;
  #shows;
  #ppm = 0;

  /** A clock that shows `shows` at the moment `now` of the world. Both are microseconds. */
  constructor(now, shows) {
    this.#moment = now;
    this.#shows = shows;
  }

  /** Parts per million by which it runs fast; less than zero is slow. */
  get ppm() {
    return this.#ppm;
  }

  /** The reading at a moment of the world. */
  at(now) {
    return this.#shows + Math.floor(((now - this.#moment) * (MILLION + this.#ppm)) / MILLION);
  }

  /** The first moment of the world at which the reading is `reading` or more. */
  when(reading) {
    const ahead = reading - this.#shows;
    if (ahead <= 0) return this.#moment;
    let moment = this.#moment + Math.ceil((ahead * MILLION) / (MILLION + this.#ppm));
    while (this.at(moment) < reading) moment += 1;
    while (moment > this.#moment && this.at(moment - 1) >= reading) moment -= 1;
    return moment;
  }

  /** Runs at another rate from `now` on. It never jumps. */
  setRate(now, ppm) {
    this.#shows = this.at(now);
    this.#moment = now;
    this.#ppm = ppm;
  }
}
