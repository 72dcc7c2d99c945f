// Two workers of a cluster: the first leader is closed, and the other follows.
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';

cluster.setupPrimary({ exec: fileURLToPath(new URL('./thread.mjs', import.meta.url)) });
for (const NAME of ['a', 'b']) {
  const worker = cluster.fork({ URL_OF_STORE: process.argv[2], NAME });
  worker.on('message', ([what, token]) => {
    if (what === 'won') {
      console.log('won', token);
      worker.send('close');
    }
  });
  worker.on('exit', (code) => console.log('exit', code));
}
