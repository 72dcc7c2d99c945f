// Leads 24 elections with one signal, until it is terminated or the signal is aborted: node many.mjs runs|waits
import { connect, runAsLeader } from 'incumbent';

process.on('warning', ({ name }) => console.log('warning', name));
const settings = { preset: 'fast', splay: 0, lease: 60_000 };
const stop = new AbortController();
const { signal } = stop;
const store = await connect('memory:');
const keys = Array.from({ length: 24 }, (_, at) => `jobs-${at}`);
let leading = 0;
if (process.argv[2] === 'runs') {
  const run = (key) =>
    runAsLeader(
      store,
      key,
      async (term) => {
        leading += 1;
        if (leading === keys.length) console.log('leading', process.listenerCount('SIGTERM'), process.listenerCount('SIGINT'));
        await term.draining();
        return key;
      },
      { ...settings, signal },
    );
  const results = await Promise.all(keys.map(run));
  console.log('ended', results.join() === keys.join(), process.listenerCount('SIGTERM'), process.listenerCount('SIGINT'));
} else {
  const candidates = await Promise.all(keys.map((key) => store.campaign(key, { ...settings, signal })));
  // Each has its first term, and waits for the next.
  const waits = candidates.flatMap((candidate) => {
    const terms = candidate.terms({ signal });
    return [terms.next().then(() => terms.next()), candidate.lead(() => undefined, { signal })];
  });
  await Promise.all(candidates.map((candidate) => candidate.nextTerm()));
  const settled = Promise.allSettled(waits);
  setImmediate(() => stop.abort(new Error('enough')));
  const reasons = (await settled).map(({ reason }) => reason?.message);
  console.log('ended', reasons.every((reason) => reason === 'enough'), reasons.length);
}
await store.close();
