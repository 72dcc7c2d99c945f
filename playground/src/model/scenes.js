// What if…: things that happen to the leader, and are repaired after a while.

import { cut, heal, kill, pause, removeRecord, resign, restart, resume, setRate } from './orders.js';
import { SECOND } from './time.js';

const SLOW_PPM = -500_000;

/** Each happens to the present leader; without a leader, nothing happens. */
export const SCENES = {
  kill: (world, name) => {
    world.order(kill(name));
    later(world, 1.5 * world.lease, restart(name));
  },
  freeze: (world, name) => {
    world.order(pause(name));
    later(world, world.lease + 3 * SECOND, resume(name));
  },
  cut: (world, name) => {
    world.order(cut(name));
    later(world, 1.5 * world.lease, heal(name));
  },
  resign: (world, name) => world.order(resign(name)),
  remove: (world) => world.order(removeRecord),
  // Beyond the settings' limits: here the promise ends, and the page shows it.
  break: (world, name) => {
    world.order(setRate(name, SLOW_PPM));
    world.order(cut(name));
    later(world, 1.7 * world.lease, heal(name));
    later(world, 1.7 * world.lease, setRate(name, 0));
  },
};

export function play(world, scene) {
  const { leader } = world;
  if (!leader) return;
  SCENES[scene](world, leader.name);
}

function later(world, wait, order) {
  world.after(wait, () => world.order(order));
}
