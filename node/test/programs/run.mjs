// Works as the leader until it is stopped: node run.mjs URL finish|hang
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { runAsLeader } from 'incumbent';

const [, , url, end] = process.argv;
await runAsLeader(
  url,
  'jobs',
  async (term) => {
    console.log('leading', term.token);
    if (!term.drainSignal.aborted) await once(term.drainSignal, 'abort');
    console.log('finishing');
    // For longer than two signals belong together, and for as long as the drain lets it.
    await sleep(1100);
    console.log('a second later');
    if (end === 'hang') await sleep(60_000);
  },
  { preset: 'fast', splay: 0, drain: '60s' },
);
