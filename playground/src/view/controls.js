// The spectator's controls: scenes, time, the settings.

import { removeRecord, setLease, setNetwork } from '../model/orders.js';
import { SCENES, play } from '../model/scenes.js';
import { LEASES } from '../model/settings.js';
import { seconds } from '../story/words.js';
import { find, make, set, setText } from './dom.js';

/** Milliseconds of a step. */
const STEP = 500;

export class Controls {
  #scenes = [...document.querySelectorAll('[data-scene]')];
  #run = find('run');
  #lease = find('lease');
  #network = find('network');

  /** `game` is the page's, see `game.js`. */
  constructor(game) {
    for (const button of this.#scenes) {
      button.addEventListener('click', () => {
        if (button.getAttribute('aria-disabled') !== 'true' && button.dataset.scene in SCENES) {
          play(game.world, button.dataset.scene);
          game.draw();
        }
      });
    }
    this.#lease.append(...LEASES.map((lease) => make('option', { value: lease }, seconds(lease))));
    this.#lease.addEventListener('change', () => game.order(setLease(Number(this.#lease.value))));
    this.#network.addEventListener('change', () => game.order(setNetwork(this.#network.value)));
    this.#run.addEventListener('click', () => game.run(!game.isRunning));
    find('step').addEventListener('click', () => {
      game.run(false);
      game.step(STEP);
    });
    find('reset').addEventListener('click', () => game.startOver());
    find('remove').addEventListener('click', () => game.order(removeRecord));
    for (const speed of document.querySelectorAll('[name=speed]')) {
      speed.checked = Number(speed.value) === game.speed;
      speed.addEventListener('change', () => {
        game.speed = Number(speed.value);
      });
    }
  }

  draw(game) {
    const { world } = game;
    setText(this.#run, game.isRunning ? 'Pause time' : 'Let time run');
    set(this.#run, 'data-running', game.isRunning);
    const leaderless = world.leader === undefined;
    for (const button of this.#scenes) set(button, 'aria-disabled', leaderless);
    this.#lease.value = String(world.lease);
    this.#network.value = world.network.kind;
  }
}
