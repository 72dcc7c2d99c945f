// A candidate that records its own view, a line of JSON each time that it leads:
// node contender.mjs PACKAGE URL KEY NAME, where PACKAGE is the folder of the built package.

import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, url, key, name] = process.argv.slice(2);
const { connect } = await import(pathToFileURL(path.join(folder, 'dist/index.mjs')));
const store = await connect(url);
const candidate = await store.campaign(key, { name, preset: 'fast' });

const looking = setInterval(() => {
  const before = process.hrtime.bigint();
  const term = candidate.term;
  if (term !== null && candidate.isLeader && term.isCurrent()) {
    const after = process.hrtime.bigint();
    // A token has more digits than a JavaScript number.
    process.stdout.write(`{"event":"leads","token":"${term.token}","before":${before},"after":${after}}\n`);
  }
}, 5);

process.once('SIGTERM', async () => {
  await candidate.close();
  await store.close();
  clearInterval(looking);
});
console.log(JSON.stringify({ event: 'ready' }));
