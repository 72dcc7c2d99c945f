// Spans of time as bars of a picture. A span that is over is drawn once; an open one grows.

import { draw } from './dom.js';

export class Spans {
  #group;
  #spans;
  #shape;
  #bars = [];
  #settled = 0;

  /** `shape(span)` returns the fixed part of a bar, `{ y, height, kind, says }`; none for a span that is not drawn. */
  constructor(group, spans, shape) {
    this.#group = group;
    this.#spans = spans;
    this.#shape = shape;
  }

  draw(now, scale) {
    for (let index = this.#settled; index < this.#spans.length; index += 1) {
      const span = this.#spans[index];
      const isOver = span.until !== undefined && span.until <= now;
      const until = isOver ? span.until : now;
      if (until >= scale.origin) this.#place(index, span, scale.x(span.from), scale.x(until));
      if (isOver && index === this.#settled) this.#settled += 1;
    }
  }

  #place(index, span, from, until) {
    const bar = (this.#bars[index] ??= this.#make(span));
    if (bar === EMPTY) return;
    bar.setAttribute('x', from.toFixed(1));
    bar.setAttribute('width', Math.max(until - from, 1).toFixed(1));
  }

  #make(span) {
    const shape = this.#shape(span);
    if (!shape) return EMPTY;
    const { y, height, kind, says } = shape;
    const bar = draw('rect', { y, height, rx: 3, class: kind }, draw('title', {}, says));
    this.#group.append(bar);
    return bar;
  }
}

const EMPTY = Symbol('nothing to draw');
