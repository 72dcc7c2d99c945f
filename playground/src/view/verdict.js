// The promise, and whether it holds.

import { DRIFT_PPM } from '../model/settings.js';
import { list, rate } from '../story/words.js';
import { find, set, setText } from './dom.js';

export class Verdict {
  #panel = find('verdict');
  #sign = find('verdict-sign');
  #text = find('verdict-text');
  #leads = find('leads-now');
  #violations = find('violations');
  #assumption = find('assumption');
  #announcer = find('announcer');
  #announced = '';

  draw(world) {
    const { watchman } = world;
    const { looks, violations, overlaps, leaders } = watchman;
    const isExcused = watchman.isExcused(world.now);
    const verdict = violations > 0 ? 'broken' : isExcused ? 'excused' : 'holds';
    set(this.#panel, 'data-verdict', verdict);
    setText(this.#sign, { broken: '✕', excused: '!', holds: '✓' }[verdict]);
    const asked = `The engines were asked ${looks.toLocaleString('en')} times whether they lead.`;
    setText(this.#text, violations > 0 ? `The promise was broken. ${asked} Please report seed ${world.seed}.` : asked);
    setText(this.#violations, violations);
    setText(this.#leads, leaders.length === 0 ? 'none' : list(leaders));
    this.#assume(world, isExcused, overlaps);
    this.#announce(leaders);
  }

  #assume(world, isExcused, overlaps) {
    this.#assumption.hidden = !isExcused && overlaps === 0;
    if (this.#assumption.hidden) return;
    const wrong = world.candidates.filter(({ clock, isAlive }) => isAlive && Math.abs(clock.ppm) > DRIFT_PPM);
    const clocks = wrong.map(({ name, clock }) => `${name}’s clock runs ${rate(clock.ppm)}`);
    const now = clocks.length > 0 ? `${list(clocks)}; the settings allow ${DRIFT_PPM / 10_000} %.` : 'A clock was out a moment ago.';
    const times = overlaps === 1 ? 'Once two led at once' : `${overlaps} times two led at once`;
    const before = `${overlaps === 0 ? 'No two have led at once so far' : times}, outside the promise.`;
    setText(this.#assumption, isExcused ? `Not promised now: ${now} ${before}` : before);
  }

  #announce(leaders) {
    const text = leaders.length === 0 ? 'No candidate leads' : `${list(leaders)} ${leaders.length > 1 ? 'lead' : 'leads'}`;
    if (text === this.#announced) return;
    this.#announced = text;
    setText(this.#announcer, text);
  }
}
