// The lifetime of a process: node lifetime.mjs CASE URL
import { connect } from 'incumbent';

const [what, url] = process.argv.slice(2);
const store = await connect(url);
const campaign = () => store.campaign('jobs', { preset: 'fast', splay: 0 });
const won = async (candidate) => (await candidate.terms().next()).value;

const cases = {
  // A store is open, and no candidate campaigns.
  async store() {},
  async closed() {
    await (await campaign()).close();
  },
  async storeClosed() {
    await campaign();
    await store.close();
  },
  // The campaign alone keeps it alive.
  async campaigning() {
    const candidate = await campaign();
    process.once('SIGTERM', () => candidate.close());
    candidate.once('won', () => console.log('won'));
  },
  async listens() {
    const candidate = await campaign();
    process.once('SIGTERM', () => void candidate.close());
    candidate.on('won', () => console.log('won'));
    candidate.on('lost', (term, reason) => console.log('lost', reason));
  },
  async reads() {
    const candidate = await campaign();
    process.once('SIGTERM', () => void candidate.close());
    for await (const event of candidate.events()) {
      if (event.type === 'won' || event.type === 'lost') console.log(event.type, event.reason ?? '');
    }
  },
  // The program has no reference to it any more.
  async forgotten() {
    await campaign();
    globalThis.gc?.();
  },
  async exit() {
    const term = await won(await campaign());
    console.log('won', term.token);
    process.exit(3);
  },
  async throws() {
    const term = await won(await campaign());
    console.log('won', term.token);
    setImmediate(() => {
      throw new Error('on purpose');
    });
  },
  async observing() {
    console.log('first', (await store.observe('jobs').next()).value.leader);
  },
};
await cases[what]();
console.log('done');
