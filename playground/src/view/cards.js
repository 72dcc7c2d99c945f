// One card for each candidate: its state and the reason, its lease, its token, its clock, and buttons for
// faults.

import { cut, heal, kill, pause, resign, restart, resume, setRate } from '../model/orders.js';
import { DRIFT_PPM, RATES } from '../model/settings.js';
import { STATUS, drift, status, why } from '../story/status.js';
import { moment, rate, span } from '../story/words.js';
import { find, make, set, setText } from './dom.js';

export class Cards {
  #cards;

  /** `order` carries out a spectator's order. */
  constructor(world, order) {
    this.#cards = world.candidates.map(({ name }, place) => new Card(name, place, order));
    find('cards').replaceChildren(...this.#cards.map(({ element }) => element));
  }

  draw(world) {
    this.#cards.forEach((card, place) => card.draw(world, world.candidates[place]));
  }
}

class Card {
  #name;
  #sign = make('span', { class: 'sign', 'aria-hidden': 'true' });
  #word = make('span', { class: 'word' });
  #tag = make('span', { class: 'tag' }, 'cut off');
  #why = make('p', { class: 'why' });
  #lease = make('dd');
  #meter = make('span');
  #token = make('dd');
  #clock = make('dd');
  #drift = make('span', { class: 'drift' });
  #life;
  #pause;
  #line;
  #resign;
  #rate;

  constructor(name, place, order) {
    this.#name = name;
    const button = (title, act) => {
      const made = make('button', { type: 'button', title });
      made.addEventListener('click', () => {
        if (made.getAttribute('aria-disabled') !== 'true') order(act(made.dataset.does === 'undo'));
      });
      return made;
    };
    this.#life = button('Ends the process at once, or starts a new one', (undo) => (undo ? restart : kill)(name));
    this.#pause = button('Stops the process at once, like a long garbage collection or a closed lid', (undo) =>
      (undo ? resume : pause)(name),
    );
    this.#line = button('Loses every message to and from the store', (undo) => (undo ? heal : cut)(name));
    this.#resign = button('Asks the leader to finish its work and release the lease', () => resign(name));
    setText(this.#resign, 'Resign');
    this.#rate = make('select', { 'aria-label': `${name}’s clock` }, ...RATES.map(option));
    this.#rate.value = '0';
    this.#rate.addEventListener('change', () => order(setRate(name, Number(this.#rate.value))));
    this.element = make(
      'article',
      { class: 'panel card', 'data-who': place, 'aria-label': name, id: `card-${name}` },
      make('header', {}, make('h3', {}, name), make('p', { class: 'status' }, this.#sign, this.#word, this.#tag)),
      this.#why,
      make(
        'dl',
        {},
        make('div', { class: 'left' }, make('dt', {}, 'lease'), this.#lease),
        make('div', {}, make('dt', {}, 'token'), this.#token),
        make('div', {}, make('dt', { title: 'The time since the start by its own clock' }, 'its clock'), this.#clock),
      ),
      make('span', { class: 'meter' }, this.#meter),
      make('div', { class: 'buttons' }, this.#life, this.#pause, this.#line, this.#resign),
      make('label', { class: 'field' }, 'clock ', this.#rate, this.#drift),
    );
  }

  draw(world, candidate) {
    const { now } = world;
    const shown = status(candidate);
    const { leadsUntil } = candidate;
    const leads = leadsUntil !== undefined && leadsUntil > now;
    set(this.element, 'data-status', shown);
    set(this.element, 'data-leads', leads);
    set(this.element, 'data-cut', candidate.isCut);
    setText(this.#sign, STATUS[shown].sign);
    setText(this.#word, STATUS[shown].word);
    this.#tag.hidden = !candidate.isCut;
    setText(this.#why, why(candidate, world));
    setText(this.#lease, leads ? span(leadsUntil - now) : '–');
    this.#meter.style.width = `${leads ? Math.min(100, ((leadsUntil - now) / candidate.process.lease) * 100) : 0}%`;
    setText(this.#token, leads ? candidate.process.held.token : '–');
    setText(this.#clock, moment(candidate.reading - candidate.origin));
    setText(this.#drift, drift(candidate));
    set(this.#drift, 'data-beyond', Math.abs(candidate.clock.ppm) > DRIFT_PPM);
    if (document.activeElement !== this.#rate) this.#rate.value = String(candidate.clock.ppm);
    toggle(this.#life, !candidate.isAlive, 'Kill', 'Restart');
    toggle(this.#pause, candidate.isPaused, 'Freeze', 'Thaw');
    toggle(this.#line, candidate.isCut, 'Cut off', 'Connect');
    set(this.#pause, 'aria-disabled', !candidate.isAlive);
    set(this.#resign, 'aria-disabled', shown !== 'leading' && shown !== 'doubting');
  }
}

const option = (ppm) => make('option', { value: ppm }, ppm === 0 ? 'right' : rate(ppm));

/** A button that does something or undoes it. */
function toggle(button, isDone, does, undoes) {
  setText(button, isDone ? undoes : does);
  set(button, 'data-does', isDone ? 'undo' : 'do');
}
