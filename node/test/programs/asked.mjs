// Leads, and answers each line of input with whether it still does: node asked.mjs URL
import { createInterface } from 'node:readline';
import { connect } from 'incumbent';

const store = await connect(process.argv[2]);
const candidate = await store.campaign('jobs', { name: 'asked', preset: 'fast', splay: 0 });
const { value: term } = await candidate.terms().next();
const { signal } = term;
console.log('won', term.token);
for await (const line of createInterface({ input: process.stdin })) {
  console.log('leads', line, candidate.isLeader, term.isCurrent(), term.remainingMs > 0, signal.aborted);
}
