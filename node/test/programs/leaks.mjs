// Opens and closes campaigns, and prints what is left of them: node --expose-gc leaks.mjs COUNT
import { readdirSync } from 'node:fs';
import { connect } from 'incumbent';

const count = Number(process.argv[2]);
const store = await connect('memory:');

async function campaign(at) {
  const candidate = await store.campaign(`jobs-${at}`, { splay: 0 });
  candidate.on('lost', () => undefined);
  const terms = candidate.terms();
  const { value: term } = await terms.next();
  term.signal.addEventListener('abort', () => undefined);
  await terms.return();
  await candidate.close();
}

async function measure() {
  for (let turn = 0; turn < 10; turn += 1) {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { heapUsed, rss } = process.memoryUsage();
  const files = readdirSync('/proc/self/fd').length;
  const threads = readdirSync('/proc/self/task').length;
  return { heapUsed, rss, files, threads, active: process.getActiveResourcesInfo().length };
}

// A warm-up, for the memory of the elections themselves and the peak of the allocator.
const some = 1000;
for (let at = 0; at < 4 * some; at += 1) await campaign(at % some);
const before = await measure();
for (let at = 0; at < count; at += 1) await campaign(at % some);
const after = await measure();
console.log('before', JSON.stringify(before));
console.log('after', JSON.stringify(after));
await store.close();
