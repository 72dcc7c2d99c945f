// Runs a job every second, on one of however many processes are started.
//
//     node cron-runner.mjs sqlite:elections.db
//
// Start it twice and stop the one that works with SIGTERM or Ctrl-C: the other continues at once. Kill it instead, and
// the other continues when the lease is over.

import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'incumbent';

const store = await connect(process.argv[2] ?? 'memory:');
const candidate = await store.campaign('cron');
// Closing drains: the term lasts until the turn of the loop below is over, and only then may another candidate lead.
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => candidate.close());
}

for await (const term of candidate.terms()) {
  console.log('leading with token', term.token);
  // Not null while the term drains; aborted when it ended.
  while (!term.signal.aborted && term.drainRemainingMs === null) {
    console.log('the job runs');
    await Promise.race([term.draining(), sleep(1000)]);
  }
  console.log('the last job is done');
}
await store.close();
