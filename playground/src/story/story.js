// Events as sentences with their reasons. An event that does not interest a reader has none.

import { DRIFT_PPM, margin } from '../model/settings.js';
import { list, moment, rate, seconds, span } from './words.js';

/** `tone` is `plain`, `fault`, `good`, or `bad`. */
const say = (text, tone = 'plain') => ({ text, tone });

const refused = (names) =>
  say(`${list(names)} tried to acquire the lease too, and ${names.length > 1 ? 'were' : 'was'} refused: the record had changed.`);

/** True if all clocks run as the settings allow, and have done so for so long that no candidate has a false belief. */
const clocksAreRight = ({ candidates, watchman }, at) =>
  !watchman.isExcused(at) && candidates.every(({ clock }) => Math.abs(clock.ppm) <= DRIFT_PPM);

const LOST = {
  expired: (who) => say(`${who} stops leading: its lease has run out, and it needs no message to know that.`, 'fault'),
  deleted: (who) => say(`${who} learns that its record was deleted, and stops leading at once.`, 'fault'),
  usurped: (who) => say(`${who} sees another candidate’s record, and stops leading at once.`, 'fault'),
  resigned: (who) => say(`${who} has finished its work and no longer leads. Only now does it release the lease.`),
  closed: (who) => say(`${who} no longer leads, and releases the lease as it leaves.`),
};

const TOLD = {
  started: ({ lease }) =>
    say(`Five candidates enter the race, each after a short random wait. A lease lasts ${seconds(lease)}.`),

  state({ who, state, until, at }) {
    if (state !== 'holding' || until === undefined) return undefined;
    return say(
      `${who} has the record and does not lead yet. It waits ${span(until - at)} more: the previous leader may ` +
        'still believe in the deleted lease.',
    );
  },

  refused: ({ who, action }) => (action === 'acquire' ? { ...refused([who]), refused: [who] } : undefined),

  won({ who, token }) {
    return say(`${who} leads. Its token is ${token}, larger than any before, and it sends the token with everything that it does.`, 'good');
  },

  lost: ({ who, reason }) => (LOST[reason] ?? ((name) => say(`${name} stops leading (${reason}).`, 'fault')))(who),

  draining: ({ who }) =>
    say(`${who} is asked to leave. It finishes its work first, and renews its lease meanwhile.`),

  record({ how, before }) {
    if (how === 'expired') return say(`${before}’s record has not been renewed for a whole lease: the store removes it. The lease is free.`);
    if (how === 'released') return say(`${before}’s lease is released, so no candidate has to wait: it is free.`);
    return undefined;
  },

  removes: ({ who }) =>
    say(`An operator deletes ${who}’s record. Its successor must wait, because ${who} may not know yet.`, 'fault'),

  died({ who, led, holds, expires, at }) {
    if (led || holds) {
      return say(`${who} is killed, and can release nothing. Its record stays for ${span(expires - at)} more, so the other candidates wait.`, 'fault');
    }
    return say(`${who} is killed. It did not lead, so nothing changes.`, 'fault');
  },

  born({ who, isQuiet }) {
    return isQuiet ? undefined : say(`${who} starts again: a new process, which remembers nothing.`);
  },

  paused({ who, led, until }) {
    if (!led) return say(`${who} is frozen. It did not lead, so nothing changes.`, 'fault');
    return say(`${who} is frozen in the middle of its work. It cannot renew, so its lease ends at ${moment(until)}.`, 'fault');
  },

  resumed({ who, believed, leads, leadsUntil, at }) {
    if (!believed) return say(`${who} resumes.`);
    if (leads) return say(`${who} resumes, ${span(leadsUntil - at)} before its lease would have ended: it still leads.`);
    return say(
      `${who} resumes, and never believes that it leads: its first look at the clock shows that the lease ended ` +
        `${span(at - leadsUntil)} ago.`,
    );
  },

  cut({ who, led, until, at }, world) {
    if (!led) return say(`${who} is cut off from the store. It did not lead, so nothing changes.`, 'fault');
    const proved = clocksAreRight(world, at) ? 'Its lease is proved for' : 'By its own clock its lease is proved for';
    return say(`${who} is cut off from the store. ${proved} ${span(until - at)} more; then it stops by itself.`, 'fault');
  },

  healed: ({ who }) => say(`${who} reaches the store again.`),

  doubts({ who, until, at }, world) {
    const left = span(until - at);
    return say(
      clocksAreRight(world, at)
        ? `${who} gets no answer to its renewal. It still leads: no other candidate can acquire the lease for the next ${left}.`
        : `${who} gets no answer to its renewal. By its own clock it leads for ${left} more; because a clock is wrong, another may lead before that.`,
    );
  },

  'doubts-no-more': ({ who, leads }) => (leads ? say(`${who} has its answer, and keeps leading.`) : undefined),

  rate({ who, ppm }, { lease }) {
    if (ppm === 0) return say(`${who}’s clock runs right again.`);
    if (Math.abs(ppm) <= DRIFT_PPM) {
      return say(
        `${who}’s clock runs ${rate(ppm)}. The settings allow for that: a leader stops ${span(margin(lease))} before its lease ends.`,
      );
    }
    return say(
      `${who}’s clock runs ${rate(ppm)}. The settings allow ${DRIFT_PPM / 10_000} %: from here on, more than one leader is possible.`,
      'bad',
    );
  },

  two({ leaders, isExcused }, { seed }) {
    if (!isExcused) return say(`${list(leaders)} lead at once. This must never happen: please report seed ${seed}.`, 'bad');
    return say(
      `${list(leaders)} lead at once, because a clock is further out than the settings allow. Their tokens still tell the ` +
        'old one from the new.',
      'bad',
    );
  },

  'two-no-more': () => say('One leads again, or none.'),

  lease: ({ lease }) =>
    say(`A lease lasts ${seconds(lease)} from now on. It is a setting of the candidates, so running ones start again.`),

  network: ({ network }) => say(`The network is ${network} from now on.`),

  warning: ({ who, text }) => say(`${who} reports: ${text}.`, 'fault'),
};

/** The sentence for an event; most events have none. */
export const tell = (happening, world) => TOLD[happening.kind]?.(happening, world);

/** Joins two refusals of one race in one sentence; none if they do not belong together. */
export function together(one, other) {
  if (!one.refused || !other.refused) return undefined;
  const names = [...one.refused, ...other.refused];
  return { ...refused(names), refused: names };
}
