// Shared code of the tests: the built page's engine, and worlds that record what happens.

import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { World } from '../src/model/world.js';
import { SECOND } from '../src/model/time.js';

/** The folder into which `cargo xtask package playground` puts the page by default. */
export const site = path.resolve(
  process.env.PLAYGROUND ?? path.join(path.dirname(fileURLToPath(import.meta.url)), '../../target/playground'),
);

// jco's code reads the environment at every call, which is slow unless it is a plain object.
process.env = { ...process.env };

const { candidates } = await import(pathToFileURL(path.join(site, 'engine/engine.js')));
export const Engine = candidates.Candidate;

export const LEASE = 10 * SECOND;

/** A world that keeps everything that happens in `told`, before any candidate has started. */
export function unstarted({ seed = 1, lease = LEASE } = {}) {
  const world = new World({ Engine, seed, lease });
  world.told = [];
  world.listen((happening) => world.told.push(happening));
  return world;
}

/** The same world, a while after the start, with a leader. */
export function led(options) {
  const world = unstarted(options).start();
  world.advance(5 * SECOND);
  return world;
}

/** The events of one kind since `from`, oldest first. */
export const told = (world, kind, from = 0) =>
  world.told.filter((happening) => happening.kind === kind && happening.at >= from);

/** Lets time pass until `done`, a tenth of a second at a time; returns that moment. */
export function until(world, done, limit = 120 * SECOND) {
  const end = world.now + limit;
  while (!done()) {
    if (world.now >= end) throw new Error(`it never happens, up to ${world.now / SECOND} s`);
    world.advance(SECOND / 10);
  }
  return world.now;
}
