// Leads in a worker thread until its parent stops it: node run-thread.mjs default|signal|none
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { runAsLeader } from 'incumbent';

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { workerData: process.argv[2] });
  let leading = 0;
  worker.on('message', (message) => {
    console.log(...message);
    leading += message[0] === 'leading';
    if (leading === 2) worker.postMessage('stop');
  });
} else {
  process.on('warning', ({ code }) => parentPort.postMessage(['warned', code]));
  const stop = new AbortController();
  parentPort.once('message', () => stop.abort());
  const ways = { default: {}, signal: { signal: stop.signal }, none: { stopOn: [] } };
  const work = async (term, candidate) => {
    parentPort.postMessage(['leading']);
    if (workerData !== 'signal') stop.signal.addEventListener('abort', () => void candidate.close());
    await term.draining();
  };
  const settings = { preset: 'fast', splay: 0, lease: 60_000, ...ways[workerData] };
  // Two, and a thread is warned once.
  await Promise.all(['a', 'b'].map((key) => runAsLeader('memory:', key, work, settings)));
  parentPort.postMessage(['ended']);
  parentPort.close();
}
