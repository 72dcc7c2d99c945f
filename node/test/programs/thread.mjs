// Campaigns in a thread or a process of its own, and reports to its parent.
import cluster from 'node:cluster';
import { connect } from 'incumbent';
import { parentPort, workerData } from 'node:worker_threads';

const { url, name } = workerData ?? { url: process.env.URL_OF_STORE, name: process.env.NAME };
const tell = (message) => (parentPort ? parentPort.postMessage(message) : process.send(message));

const store = await connect(url);
const candidate = await store.campaign('jobs', { name, preset: 'fast', splay: 0 });
const port = parentPort ?? process;
port.once('message', async () => {
  await store.close();
  tell(['closed']);
  // A listener for messages of the parent keeps the process alive as long as the parent.
  (parentPort ?? (cluster.isWorker ? cluster.worker : process))[parentPort ? 'close' : 'disconnect']();
});
tell(['ready']);
for await (const term of candidate.terms()) {
  tell(['won', term.token, candidate.isLeader]);
  await term.draining();
}
