// Waits for a term in a loop before anything else waits, and prints the term of a listener of its signal.
import { currentTerm } from 'incumbent';
import { ScriptedElection } from 'incumbent/testing';

// A scripted election does not keep the process alive.
const alive = setInterval(() => undefined, 1000);
const election = new ScriptedElection();
setImmediate(() => election.acquire());
for await (const term of election.candidate.terms()) {
  const called = new Promise((resolve) => term.signal.addEventListener('abort', () => resolve(currentTerm())));
  election.revoke('DELETED');
  console.log('in the listener', await called);
  break;
}
clearInterval(alive);
