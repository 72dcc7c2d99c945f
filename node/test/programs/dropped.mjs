// Drops a candidate, and a store of a file, and prints what becomes of them: node --expose-gc dropped.mjs FILE
import { readdirSync, readlinkSync } from 'node:fs';
import { connect, init } from 'incumbent';

const file = process.argv[2];

const openings = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === file;
    } catch {
      return false;
    }
  }).length;

async function collect() {
  globalThis.gc();
  await new Promise((resolve) => setImmediate(resolve));
}

async function lead(store) {
  const candidate = await store.campaign('jobs', { preset: 'fast', lease: 60_000, splay: 0 });
  await candidate.terms().next();
}

async function open() {
  await connect(`sqlite:${file}`);
  console.log('opened', openings() > 0);
}

const store = await connect('memory:');
await lead(store);
const before = await store.leader('jobs');
for (let turn = 0; turn < 50; turn += 1) await collect();
console.log('campaigns', (await store.leader('jobs'))?.nonce === before.nonce);
await store.close();

await init(`sqlite:${file}`);
await open();
while (openings() > 0) await collect();
console.log('closed');
