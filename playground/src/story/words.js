// Times, spans and names for readers.

import { SECOND } from '../model/time.js';

const TENTH = SECOND / 10;

/** A moment of the world: minutes, seconds and tenths. */
export function moment(at) {
  const tenths = Math.floor(at / TENTH);
  const [minutes, seconds] = [Math.floor(tenths / 600), Math.floor(tenths / 10) % 60];
  return `${minutes}:${String(seconds).padStart(2, '0')}.${tenths % 10}`;
}

/** A span, in seconds and tenths. */
export const span = (micros) => `${(Math.max(0, micros) / SECOND).toFixed(1)} s`;

/** A lease: whole seconds. */
export const seconds = (micros) => `${micros / SECOND} s`;

/** The rate error of a clock. */
export function rate(ppm) {
  if (ppm === 0) return 'exactly';
  return `${Math.abs(ppm) / 10_000} % ${ppm < 0 ? 'slow' : 'fast'}`;
}

/** `Ada, Ben and Cleo`. */
export function list(names) {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
