// A leader that writes to a resource over HTTP, and a resource that refuses a former leader.
//
//     node fenced-resource.mjs sqlite:elections.db
//
// The election alone cannot stop a leader that is paused between a check and the request that follows it. The resource
// can: it remembers the largest fencing token it has seen, and refuses a smaller one.

import { createServer } from 'node:http';
import { once } from 'node:events';
import { connect } from 'incumbent';

/** A placeholder for your own service. */
let largest = '';
const resource = createServer((request, response) => {
  const token = request.headers['fencing-token'] ?? '';
  // Tokens as text sort like tokens.
  response.statusCode = token < largest ? 409 : 204;
  largest = token < largest ? largest : token;
  response.end();
}).listen(0, '127.0.0.1');
await once(resource, 'listening');
const url = `http://127.0.0.1:${resource.address().port}/`;

/** Sends a write with the token of the term it belongs to, and returns the status of the answer. */
async function write(token, signal) {
  const answer = await fetch(url, { method: 'PUT', headers: { 'fencing-token': token }, signal });
  return answer.status;
}

const store = await connect(process.argv[2] ?? 'memory:');
const candidate = await store.campaign('writer');
const tokens = [];

for await (const term of candidate.terms()) {
  tokens.push(term.token);
  // The signal aborts the request when the term ends.
  console.log('written with token', term.token, await write(term.token, term.signal));
  if (tokens.length === 2) {
    break;
  }
  // The same candidate may lead again, with a larger token.
  await candidate.resign();
}
console.log('written with the token of the first term', await write(tokens[0]));
await store.close();
resource.close();
