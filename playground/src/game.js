// The page's world and its time, which advances with the frames of the screen or by steps.

import { History } from './model/history.js';
import { World } from './model/world.js';
import { MILLISECOND } from './model/time.js';
import { Book } from './story/book.js';

/** Milliseconds. The time of a longer gap between frames, such as a hidden page's, is skipped. */
const LONGEST_FRAME = 250;

/** Milliseconds between two pictures if the user prefers reduced motion. */
const CALM_FRAME = 500;

export class Game {
  isRunning = false;
  world;
  history;
  book;
  #Engine;
  #lease;
  #seed;
  #draw;
  #frame = undefined;
  #next = 0;
  #drawn = 0;
  #calm = matchMedia('(prefers-reduced-motion: reduce)');

  /** `draw` renews the picture. `lease` is in microseconds; speed 1 is real time. */
  constructor({ Engine, seed, lease, speed, draw }) {
    this.#Engine = Engine;
    this.#seed = seed;
    this.#lease = lease;
    this.speed = speed;
    this.#draw = draw;
    this.#make();
  }

  /** Lets time run with the frames of the screen, or stops it. */
  run(isRunning) {
    this.isRunning = isRunning;
    this.#frame = undefined;
    cancelAnimationFrame(this.#next);
    if (isRunning) this.#next = requestAnimationFrame((at) => this.#tick(at));
    this.draw();
  }

  /** Lets `milliseconds` of the world pass at once. */
  step(milliseconds) {
    this.world.advance(Math.round(milliseconds * MILLISECOND));
    this.draw();
  }

  order(carryOut) {
    this.world.order(carryOut);
    this.draw();
  }

  /** Starts over with the next seed, and the same lease and network. */
  startOver() {
    const { lease, network } = this.world;
    this.#lease = lease;
    this.#seed += 1;
    this.#make(network.kind);
    this.draw();
  }

  draw() {
    this.#draw(this);
  }

  #make(network = 'quick') {
    this.world = new World({ Engine: this.#Engine, seed: this.#seed, lease: this.#lease });
    this.world.network.kind = network;
    this.history = new History(this.world);
    this.book = new Book(this.world);
    this.world.start();
  }

  #tick(at) {
    const passed = Math.min(at - (this.#frame ?? at), LONGEST_FRAME);
    this.#frame = at;
    this.world.advance(Math.round(passed * this.speed * MILLISECOND));
    if (!this.#calm.matches || at - this.#drawn >= CALM_FRAME) {
      this.#drawn = at;
      this.draw();
    }
    this.#next = requestAnimationFrame((next) => this.#tick(next));
  }
}
