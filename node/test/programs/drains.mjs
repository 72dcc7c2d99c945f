// In a thread: leads, and leaves while its work never ends.
import { connect } from 'incumbent';
import { parentPort, workerData } from 'node:worker_threads';

const store = await connect(workerData.url);
const candidate = await store.campaign('jobs', { name: 'drains', splay: 0, drain: '1h' });
for await (const term of candidate.terms()) {
  setImmediate(() => candidate.resign());
  await term.draining();
  parentPort.postMessage(['draining', term.token, candidate.isLeader]);
  await new Promise(() => setInterval(() => undefined, 1000));
}
