// The story as a list, newest first.

import { moment } from '../story/words.js';
import { find, make } from './dom.js';
import { place } from './record.js';

export class Log {
  #list = find('story');
  #items = new Map();
  #version = -1;

  draw(world, book) {
    if (book.version === this.#version) return;
    for (const entry of book.entries) {
      if (entry.version > this.#version) this.#show(world, entry);
    }
    this.#version = book.version;
    const first = book.entries[0]?.number ?? 0;
    for (const [number, item] of this.#items) {
      if (number >= first) break;
      item.remove();
      this.#items.delete(number);
    }
  }

  clear() {
    this.#list.replaceChildren();
    this.#items.clear();
    this.#version = -1;
  }

  #show(world, { number, at, who, text, tone }) {
    const item = make(
      'li',
      { 'data-tone': tone, 'data-who': who ? place(world, who) : '' },
      make('time', {}, moment(at)),
      make('span', {}, text),
    );
    const old = this.#items.get(number);
    if (old) old.replaceWith(item);
    else this.#list.prepend(item);
    this.#items.set(number, item);
  }
}
