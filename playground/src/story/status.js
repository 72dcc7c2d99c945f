// The state of a candidate in a word, and its reason in a sentence.

import { DRIFT_PPM } from '../model/settings.js';
import { moment, span } from './words.js';

/** All states: a word and a sign, so that colour is never the only difference. */
export const STATUS = {
  starting: { word: 'starting', sign: '…' },
  splaying: { word: 'waiting', sign: '…' },
  waiting: { word: 'waiting', sign: '○' },
  acquiring: { word: 'acquiring', sign: '◔' },
  holding: { word: 'holding', sign: '◑' },
  leading: { word: 'leading', sign: '●' },
  doubting: { word: 'in doubt', sign: '◍' },
  draining: { word: 'draining', sign: '◕' },
  releasing: { word: 'giving back', sign: '○' },
  frozen: { word: 'frozen', sign: '❄' },
  dead: { word: 'dead', sign: '✕' },
};

export function status(candidate) {
  if (!candidate.isAlive) return 'dead';
  if (candidate.isPaused) return 'frozen';
  if (!candidate.process) return 'starting';
  const state = candidate.process.state;
  if (state === 'idle' || state === 'closed') return 'starting';
  return state === 'leading' && candidate.isDoubting ? 'doubting' : state;
}

/** The reason of a candidate's state, and what it waits for. */
export function why(candidate, world) {
  const { now } = world;
  const left = (at) => span(at - now);
  const { leadsUntil } = candidate;
  const wake = candidate.wakesAt;
  const holder = candidate.process?.holder;
  switch (status(candidate)) {
    case 'dead':
      return 'No process. The other candidates wait for its record to expire.';
    case 'frozen':
      if (leadsUntil === undefined) return 'Frozen; it did not lead at that time.';
      if (leadsUntil > now) return `Frozen. It would lead for ${left(leadsUntil)} more if it woke.`;
      return `Frozen. Its lease ended at ${moment(leadsUntil)}; its first look at the clock will show that.`;
    case 'starting':
      return candidate.isCut ? 'Cannot reach the store, and asks again every second.' : 'Asks the store about itself.';
    case 'splaying':
      return `Waits ${left(wake.at)}, so that not all five ask the store at once.`;
    case 'acquiring':
      return 'No candidate holds the lease: tries to write the record.';
    case 'holding':
      return candidate.holdsUntil === undefined
        ? 'Has written the record, and confirms it.'
        : `Has the record, and waits ${left(candidate.holdsUntil)} more: the owner of the deleted record may not know yet.`;
    case 'leading':
      return `Sure to lead for ${left(leadsUntil)}.${renews(wake, left)}`;
    case 'doubting':
      return `No answer to its renewal. Leads for ${left(leadsUntil)} more at most, then stops by itself.`;
    case 'draining':
      return 'Finishes its work before it releases the lease; renews meanwhile.';
    case 'releasing':
      return 'No longer leads, and releases the lease.';
    default:
      return waits(candidate, world, holder, wake, left);
  }
}

const renews = (wake, left) => (wake?.timer === 'renew' ? ` Renews in ${left(wake.at)}.` : ' Renews now.');

function waits(candidate, world, holder, wake, left) {
  if (wake?.timer === 'acquire') return `The lease is free: tries to acquire it in ${left(wake.at)}.`;
  if (candidate.isCut && wake?.timer !== 'poll') return 'Asks the store, and gets no answer.';
  if (holder === undefined) return 'Reads who holds the lease.';
  if (holder === candidate.name) return 'Was the last leader, as far as it knows, and asks the store who leads now.';
  const seen = candidate.sawAt === undefined ? '' : `, whose record it saw at ${moment(candidate.sawAt)}`;
  if (wake?.timer !== 'poll') return `${holder} holds the lease${seen}.`;
  return `Waits for ${holder}${seen}: held for ${left(wake.at)} more, unless renewed.`;
}

/** A note on whether the settings allow the drift of its clock; nothing for a clock that is right. */
export function drift(candidate) {
  const { ppm } = candidate.clock;
  if (ppm === 0) return '';
  return `${Math.abs(ppm) > DRIFT_PPM ? 'beyond' : 'within'} the ${DRIFT_PPM / 10_000} % allowed`;
}
