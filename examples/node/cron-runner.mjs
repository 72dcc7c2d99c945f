// Runs a job every second, in one of any number of processes.
//
//     node cron-runner.mjs sqlite:elections.db
//
// Start it twice and stop the leader with SIGTERM or Ctrl-C: the other takes over at once. Kill the leader instead, and
// the other takes over when the lease is over.

import { setTimeout as sleep } from 'node:timers/promises';
import { runAsLeader } from 'incumbent';

// SIGTERM and Ctrl-C drain: the term lasts until this function returns, and only then may another candidate lead.
await runAsLeader(process.argv[2] ?? 'memory:', 'cron', async (term) => {
  console.log('leading with token', term.token);
  while (!term.drainSignal.aborted) {
    console.log('the job runs');
    // Wakes early when it is time to leave.
    await sleep(1000, null, { signal: term.drainSignal }).catch(() => undefined);
  }
  console.log('the last job is done');
});
