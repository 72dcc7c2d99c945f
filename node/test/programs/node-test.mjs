// A test as users write it, with the runner that comes with Node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScriptedElection } from 'incumbent/testing';

test('work begins with a term and stops with it', async () => {
  const election = new ScriptedElection();
  const done = [];
  void election.candidate.lead(async ({ token, signal }) => {
    done.push(token);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    done.push(signal.reason.reason);
  });
  const token = election.acquire();
  while (done.length < 1) await new Promise(setImmediate);
  election.revoke('USURPED');
  while (done.length < 2) await new Promise(setImmediate);
  assert.deepEqual(done, [token, 'USURPED']);
});
