// Leads, and blocks its event loop in its first term: node hangs.mjs URL MILLISECONDS SETTINGS
import { connect } from 'incumbent';

const [url, milliseconds, settings] = process.argv.slice(2);
const store = await connect(url);
const candidate = await store.campaign('jobs', {
  name: 'hangs',
  preset: 'fast',
  splay: 0,
  drain: 500,
  ...JSON.parse(settings),
});
let hasHung = false;
await candidate.lead(async (term) => {
  console.log('won', term.token);
  if (!hasHung) {
    hasHung = true;
    console.log('hangs');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(milliseconds));
    console.log('turns', candidate.isLeader, term.signal.aborted, term.reason);
  }
  await term.ended();
});
