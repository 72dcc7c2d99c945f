// The meaning of the timeline's bars.

import { draw, find, make } from './dom.js';

const ENTRIES = [
  ['leading', 'leads'],
  ['ahead', 'may still lead until here'],
  ['doubt', 'leads, without an answer'],
  ['leaving', 'leads, and is leaving'],
  ['holding', 'has the record, waits'],
  ['racing', 'waits its turn'],
  ['frozen', 'frozen'],
  ['cut', 'cut off'],
  ['wrong', 'clock beyond the settings'],
  ['overlap', 'two lead at once'],
];

export function explain() {
  const entry = ([kind, says]) => {
    const slim = kind === 'racing';
    const over = ['doubt', 'leaving', 'frozen', 'cut', 'wrong'].includes(kind);
    const sample = draw('svg', { width: 28, height: 16, 'aria-hidden': 'true', class: 'sample' });
    if (over && kind !== 'wrong' && kind !== 'cut') sample.append(draw('rect', { y: 1, width: 28, height: 14, rx: 3, class: 'leading' }));
    const [y, height] = slim ? [6, 5] : [1, 14];
    sample.append(draw('rect', { y, width: 28, height, rx: 3, class: kind }));
    return make('li', {}, sample, says);
  };
  find('legend').replaceChildren(...ENTRIES.map(entry));
}
