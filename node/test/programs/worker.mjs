// A worker: node worker.mjs URL NAME
import { connect } from 'incumbent';

const [url, name] = process.argv.slice(2);
const store = await connect(url);
const candidate = await store.campaign('jobs', { name, preset: 'fast', splay: 0 });
process.once('SIGTERM', () => candidate.close());
console.log('ready');
for await (const term of candidate.terms()) {
  console.log('won', term.token);
  await Promise.race([term.ended(), term.draining()]);
  console.log(term.isCurrent() ? 'draining' : 'lost', term.reason, candidate.isLeader);
}
console.log('over');
