// The store's record: its owner, and its end unless it is renewed.

import { span } from '../story/words.js';
import { find, set, setText } from './dom.js';

export class RecordPanel {
  #holder = find('record-holder');
  #revision = find('record-revision');
  #token = find('record-token');
  #left = find('record-left');
  #meter = find('record-meter');
  #note = find('record-note');
  #remove = find('remove');

  draw(world) {
    const { store, now, lease } = world;
    const { holder } = store;
    const isLive = holder !== undefined;
    setText(this.#holder, isLive ? holder : 'none');
    set(this.#holder, 'data-who', isLive ? place(world, holder) : '');
    setText(this.#revision, store.revision);
    setText(this.#token, isLive ? store.taken : '–');
    setText(this.#left, isLive ? span(store.expires - now) : '–');
    this.#meter.style.width = `${isLive ? Math.min(100, ((store.expires - now) / lease) * 100) : 0}%`;
    setText(this.#note, isLive ? 'Only a write that names its latest revision can replace it.' : vacancy(store));
    set(this.#remove, 'aria-disabled', !isLive);
  }
}

function vacancy({ message }) {
  switch (message?.kind) {
    case 'expired':
      return 'Expired: a marker is left. The first to write acquires the lease.';
    case 'tombstone':
      return message.headers.length > 0
        ? 'Released by its holder: the next may lead at once.'
        : 'Deleted by an operator: a tombstone is left, and the successor waits.';
    default:
      return 'Never written. The first to write acquires the lease.';
  }
}

/** A candidate's index, which decides its colour. */
export const place = (world, name) => world.candidates.findIndex((candidate) => candidate.name === name);
