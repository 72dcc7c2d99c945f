// The timeline: the store's record at the top, a row for each candidate, and a line for now; leases extend
// beyond it.

import { SECOND } from '../model/time.js';
import { moment } from '../story/words.js';
import { draw, find, make, set } from './dom.js';
import { explain } from './legend.js';
import { place } from './record.js';
import { Spans } from './spans.js';

const TOP = 8;
const ROW = 42;
const BAR = 22;
const FOOT = 26;
/** Space for half of the first moment's text. */
const PAD = 16;

/** The length of the past that can be scrolled to, and the length that may be drawn beyond it before it is cut off. */
const PAST = 600 * SECOND;
const SPARE = 300 * SECOND;

/** The width of a lease in pixels, on a wide screen and on a narrow one. */
const LEASE_WIDE = 140;
const LEASE_NARROW = 84;

/** The width of a character of small text, in pixels. */
const LETTER = 6;

const TICKS = [1, 2, 5, 10, 15, 30, 60, 120];

/** The position of a moment. */
class Scale {
  constructor(perSecond, origin) {
    this.perSecond = perSecond;
    this.origin = origin;
  }

  x(at) {
    return PAD + (Math.max(0, at - this.origin) / SECOND) * this.perSecond;
  }
}

export class Timeline {
  #scroller = find('scroller');
  #labels = find('labels');
  #back = find('follow');
  #follows = true;
  #narrow = matchMedia('(max-width: 700px)');
  #world;
  #history;
  #scale;
  #lease;
  #picture;
  #layers;
  #bars;
  #texts;
  #ticked;

  constructor() {
    explain();
    this.#scroller.addEventListener('scroll', () => this.#scrolled());
    this.#back.addEventListener('click', () => {
      this.#follows = true;
      this.#scroller.focus();
      this.draw();
    });
    this.#narrow.addEventListener('change', () => this.#build());
  }

  /** Begins another world. */
  begin(world, history) {
    this.#world = world;
    this.#history = history;
    this.#follows = true;
    const label = (name, place) => make('div', { 'data-who': place }, make('i'), name);
    this.#labels.replaceChildren(make('div', { class: 'store' }, 'record'), ...world.candidates.map(({ name }, place) => label(name, place)));
    this.#build();
  }

  draw() {
    const { now, lease } = this.#world;
    if (lease !== this.#lease || now - this.#scale.origin > PAST + SPARE) this.#build();
    for (const bars of this.#bars) bars.draw(now, this.#scale);
    this.#write();
    this.#tick();
    this.#lookAhead();
    const width = Math.ceil(this.#scale.x(now + lease) + PAD);
    this.#picture.style.width = `${width}px`;
    const x = this.#scale.x(now).toFixed(1);
    this.#layers.now.setAttribute('d', `M${x} 0V${this.#height - FOOT + 6}`);
    if (this.#follows) this.#scroller.scrollLeft = width;
    this.#back.hidden = this.#follows;
  }

  get #height() {
    return TOP + ROW * 6 + FOOT;
  }

  /** Draws everything again, for another scale or another world. */
  #build() {
    const { now, lease } = this.#world;
    this.#lease = lease;
    const perLease = this.#narrow.matches ? LEASE_NARROW : LEASE_WIDE;
    this.#scale = new Scale(perLease / (lease / SECOND), Math.max(0, Math.floor((now - PAST) / SECOND) * SECOND));
    const names = ['grid', 'shades', 'bars', 'over', 'ahead'];
    this.#layers = Object.fromEntries(names.map((name) => [name, draw('g', { class: name })]));
    this.#layers.now = draw('path', { class: 'now' });
    this.#layers.texts = draw('g');
    this.#picture = draw('svg', { height: this.#height, role: 'img', 'aria-label': 'Who led when; the list under “Why” has the same in words' });
    this.#picture.append(patterns(), ...Object.values(this.#layers));
    this.#scroller.replaceChildren(this.#picture);
    const rows = [...this.#history.rows.values()];
    this.#bars = [this.#recordBars(), this.#writeBars(), this.#overlapBars()];
    this.#bars.push(...rows.flatMap((row, index) => this.#rowBars(row, index)));
    this.#texts = rows.map(() => ({ tokens: 0, marks: 0, free: 0 }));
    this.#ticked = 0;
  }

  #recordBars() {
    const shape = ({ what, from }) =>
      what === undefined
        ? undefined
        : { y: TOP + 8, height: 14, kind: `r${place(this.#world, what)}`, says: `${what}’s record, from ${moment(from)}` };
    return new Spans(this.#layers.bars, this.#history.record, shape);
  }

  /** Draws a notch for every write, such as a leader's renewals. */
  #writeBars() {
    const shape = ({ from, revision }) => ({ y: TOP + 5, height: 20, kind: 'written', says: `revision ${revision}, ${moment(from)}` });
    return new Spans(this.#layers.over, this.#history.writes, shape);
  }

  #overlapBars() {
    const shape = ({ from }) => ({ y: 0, height: this.#height - FOOT, kind: 'overlap', says: `two lead at once, from ${moment(from)}` });
    return new Spans(this.#layers.shades, this.#history.overlaps, shape);
  }

  #rowBars(row, index) {
    const y = top(index);
    const { shades, bars, over } = this.#layers;
    const full = (kind, says) => ({ y, height: BAR, kind, says });
    const spans = (layer, list, kind, says, grow = 0) =>
      new Spans(layer, list, ({ from }) => ({
        y: y - grow,
        height: BAR + 2 * grow,
        kind,
        says: `${says}, from ${moment(from)}`,
      }));
    const doing = ({ what, from }) => {
      if (what === 'racing') return { y: y + 9, height: 5, kind: 'racing', says: `waits its turn, from ${moment(from)}` };
      if (what === 'holding') return full('holding', `has the record and waits, from ${moment(from)}`);
      return undefined;
    };
    const leaving = ({ what, from }) =>
      what === 'leaving' ? full('leaving', `leads and is leaving, from ${moment(from)}`) : undefined;
    const leads = ({ from }) => full('leading', `leads, from ${moment(from)}`);
    return [
      spans(shades, row.cut, 'cut', 'cut off', 6),
      spans(shades, row.wrong, 'wrong', 'clock beyond the settings', 6),
      new Spans(bars, row.doing, doing),
      new Spans(bars, row.leads, leads),
      spans(over, row.doubts, 'doubt', 'leads without an answer'),
      new Spans(over, row.doing, leaving),
      spans(over, row.frozen, 'frozen', 'frozen'),
    ];
  }

  /** Writes tokens where terms begin, and the faults of a candidate, if there is space. */
  #write() {
    [...this.#history.rows.values()].forEach((row, index) => {
      const written = this.#texts[index];
      for (; written.tokens < row.tokens.length; written.tokens += 1) {
        const { at, text } = row.tokens[written.tokens];
        if (at >= this.#scale.origin) this.#text(this.#scale.x(at) + 5, top(index) + 15, 'token', text);
      }
      for (; written.marks < row.marks.length; written.marks += 1) {
        const { at, text } = row.marks[written.marks];
        const x = this.#scale.x(at);
        if (at < this.#scale.origin || x < written.free) continue;
        written.free = x + text.length * LETTER + LETTER;
        this.#text(x, top(index) + BAR + 14, 'mark', text);
      }
    });
  }

  #text(x, y, kind, text) {
    this.#layers.texts.append(draw('text', { x: x.toFixed(1), y, class: kind }, text));
  }

  #tick() {
    const { perSecond, origin } = this.#scale;
    const step = TICKS.find((seconds) => seconds * perSecond >= 64) * SECOND;
    const until = this.#world.now + this.#world.lease;
    this.#ticked ||= Math.ceil(origin / step) * step - step;
    for (let at = this.#ticked + step; at <= until; at += step) {
      this.#ticked = at;
      const x = this.#scale.x(at).toFixed(1);
      const text = draw('text', { x, y: this.#height - 6, class: 'tick', 'text-anchor': 'middle' }, moment(at).slice(0, -2));
      this.#layers.grid.append(draw('path', { d: `M${x} 0V${this.#height - FOOT}` }), text);
    }
  }

  /** Draws the time that is proved beyond now: the leader's lease, and the record that outlasts it by the margin. */
  #lookAhead() {
    const { now, store, candidates } = this.#world;
    const spans = candidates.map(({ leadsUntil }, index) => [leadsUntil, top(index), BAR, 'ahead']);
    spans.unshift([store.expires, TOP + 8, 14, 'ahead record']);
    const group = this.#layers.ahead;
    spans.forEach(([until, y, height, kind], index) => {
      const bar = group.children[index] ?? group.appendChild(draw('rect', { y, height, rx: 3, class: kind }));
      const width = until > now ? this.#scale.x(until) - this.#scale.x(now) : 0;
      set(bar, 'x', this.#scale.x(now).toFixed(1));
      set(bar, 'width', width.toFixed(1));
    });
  }

  #scrolled() {
    const { scrollLeft, clientWidth, scrollWidth } = this.#scroller;
    this.#follows = scrollLeft + clientWidth >= scrollWidth - 24;
    this.#back.hidden = this.#follows;
  }
}

const top = (index) => TOP + ROW * (index + 1) + 4;

/** The patterns of bars, so that colour is not their only difference. */
function patterns() {
  const pattern = (id, size, turn, shape) =>
    draw('pattern', { id, width: size, height: size, patternUnits: 'userSpaceOnUse', patternTransform: `rotate(${turn})` }, shape);
  return draw(
    'defs',
    {},
    pattern('hatch', 6, 45, draw('path', { d: 'M0 0V6' })),
    pattern('stripes', 8, -45, draw('path', { d: 'M0 0V8' })),
    pattern('dots', 6, 0, draw('circle', { cx: 3, cy: 3, r: 1.1 })),
    pattern('steps', 7, 0, draw('path', { d: 'M0 0V7' })),
  );
}
