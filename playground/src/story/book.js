// The story so far: the newest sentences; refusals in one race are joined.

import { tell, together } from './story.js';

/** The number of sentences that are kept. */
const KEPT = 200;
/** Microseconds within which refusals belong to one race. */
const RACE = 1_000_000;

export class Book {
  /** Oldest first. `number` grows; a sentence that changes gets a new `version`. */
  entries = [];
  version = 0;
  #number = 0;

  constructor(world) {
    world.listen((happening) => {
      const sentence = tell(happening, world);
      if (sentence) this.#add({ at: happening.at, who: happening.who, ...sentence });
    });
  }

  #add(entry) {
    this.version += 1;
    const race = this.entries.findLast(({ at, refused }) => refused && entry.at - at < RACE);
    const merged = race && together(race, entry);
    if (merged) {
      Object.assign(race, merged, { version: this.version, who: undefined });
      return;
    }
    this.#number += 1;
    this.entries.push({ ...entry, number: this.#number, version: this.version });
    if (this.entries.length > KEPT) this.entries.shift();
  }
}
