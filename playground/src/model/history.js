// The history as spans of time: the timeline's data. A span without an end is still open.

import { DRIFT_PPM } from './settings.js';

const DOING = {
  splaying: 'racing',
  waiting: 'racing',
  acquiring: 'racing',
  holding: 'holding',
  draining: 'leaving',
  leading: 'racing',
  releasing: 'racing',
  idle: 'racing',
  closed: 'gone',
};

export class History {
  /** The states of every candidate: leading, in doubt, frozen, cut off; and notes on them. */
  rows;
  /** The owner of the record. */
  record = [];
  /** All writes of the record. */
  writes = [];
  /** The spans in which two led at once. */
  overlaps = [];

  constructor(world) {
    const row = (name) => [name, { doing: [], leads: [], doubts: [], frozen: [], cut: [], wrong: [], tokens: [], marks: [] }];
    this.rows = new Map(world.candidates.map(({ name }) => row(name)));
    world.listen((happening) => this.#hear(happening));
  }

  #hear(happening) {
    const { at, kind, who } = happening;
    const row = this.rows.get(who);
    switch (kind) {
      case 'started':
        for (const { doing } of this.rows.values()) follow(doing, at, 'racing');
        break;
      case 'born':
        follow(row.doing, at, 'racing');
        if (!happening.isQuiet) mark(row, at, 'started');
        break;
      case 'left':
        follow(row.doing, at, 'gone');
        end(row.frozen, at);
        break;
      case 'died':
        follow(row.doing, at, 'gone');
        end(row.frozen, at);
        mark(row, at, 'killed');
        break;
      case 'state':
        follow(row.doing, at, DOING[happening.state]);
        break;
      case 'leads':
        lead(row.leads, at, happening.until);
        break;
      case 'won':
        row.tokens.push({ at, text: `token ${happening.token}` });
        break;
      case 'doubts':
        begin(row.doubts, at);
        break;
      case 'doubts-no-more':
        end(row.doubts, at);
        break;
      case 'paused':
        begin(row.frozen, at);
        mark(row, at, 'frozen');
        break;
      case 'resumed':
        end(row.frozen, at);
        mark(row, at, 'thawed');
        break;
      case 'cut':
        begin(row.cut, at);
        mark(row, at, 'cut off');
        break;
      case 'healed':
        end(row.cut, at);
        mark(row, at, 'reconnected');
        break;
      case 'rate':
        end(row.wrong, at);
        if (Math.abs(happening.ppm) > DRIFT_PPM) begin(row.wrong, at);
        mark(row, at, happening.ppm === 0 ? 'clock right' : `clock ${happening.ppm > 0 ? '+' : '−'}${Math.abs(happening.ppm) / 10_000} %`);
        break;
      case 'record':
        follow(this.record, at, happening.holder);
        if (happening.how === 'written') this.writes.push({ from: at, until: at, revision: happening.revision });
        break;
      case 'two':
        begin(this.overlaps, at);
        break;
      case 'two-no-more':
        end(this.overlaps, at);
        break;
    }
  }
}

function begin(spans, from) {
  spans.push({ from, until: undefined });
}

function end(spans, at) {
  const last = spans.at(-1);
  if (last && last.until === undefined) last.until = at;
}

/** Ends the last span and begins one of `what`, unless that is the same. */
function follow(spans, at, what) {
  const last = spans.at(-1);
  if (last?.until === undefined && last?.what === what) return;
  end(spans, at);
  spans.push({ from: at, until: undefined, what });
}

/** Sets until when a candidate's `is-leader` answers yes. A span's end may be in the future, and moves while it is. */
function lead(spans, at, until) {
  const last = spans.at(-1);
  if (last && last.until > at) last.until = until ?? at;
  else if (until > at) spans.push({ from: at, until });
}

function mark(row, at, text) {
  row.marks.push({ at, text });
}
