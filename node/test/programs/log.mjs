// Leads once, and logs to the console with the argument `console`: node log.mjs quiet|console
import { connect, logTo } from 'incumbent';

let logged = Promise.resolve();
if (process.argv[2] === 'console') {
  const { info } = console;
  logged = new Promise((resolve) => {
    console.info = (text) => {
      info(text);
      resolve();
    };
  });
  logTo(console);
}
const store = await connect('memory:');
const candidate = await store.campaign('jobs', { preset: 'fast', splay: 0 });
for await (const term of candidate.terms()) {
  console.log('leading', term.token);
  break;
}
await logged;
await store.close();
