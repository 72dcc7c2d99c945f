// Puts the page together. In its address: `?seed=7` for a run that can be repeated, `&lease=5` in seconds,
// `&speed=4`, and `&paused` for a world whose time moves only when `playground.step(milliseconds)` is called.

import { candidates } from '../engine/engine.js';
import { Game } from './game.js';
import { LEASES } from './model/settings.js';
import { SECOND } from './model/time.js';
import { Cards } from './view/cards.js';
import { Controls } from './view/controls.js';
import { find, setText } from './view/dom.js';
import { Log } from './view/log.js';
import { RecordPanel } from './view/record.js';
import { offerThemes } from './view/theme.js';
import { Timeline } from './view/timeline.js';
import { Verdict } from './view/verdict.js';
import { moment } from './story/words.js';

const asked = new URLSearchParams(location.search);
const number = (name, usual) => (Number.isFinite(Number(asked.get(name) || NaN)) ? Number(asked.get(name)) : usual);
const lease = number('lease', 10) * SECOND;

const parts = [new Verdict(), new RecordPanel()];
const log = new Log();
let drawn;
let timeline;
let cards;
let controls;

function draw(game) {
  const { world } = game;
  if (world !== drawn) {
    drawn = world;
    log.clear();
    timeline.begin(world, game.history);
    setText(find('seed'), world.seed);
  }
  for (const part of parts) part.draw(world);
  timeline.draw();
  cards.draw(world);
  log.draw(world, game.book);
  controls.draw(game);
  setText(find('now'), moment(world.now));
}

offerThemes();
const game = new Game({
  Engine: candidates.Candidate,
  seed: number('seed', 7),
  lease: LEASES.includes(lease) ? lease : 10 * SECOND,
  speed: number('speed', 1),
  draw,
});
timeline = new Timeline();
cards = new Cards(game.world, (order) => game.order(order));
controls = new Controls(game);
game.run(!asked.has('paused'));

globalThis.playground = game;
document.documentElement.dataset.ready = '';
