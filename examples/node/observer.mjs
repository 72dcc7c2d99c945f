// Prints who leads an election, and every change, without taking part.
//
//     node observer.mjs sqlite:elections.db cron

import { connect } from 'incumbent';

const [url = 'memory:', election = 'cron'] = process.argv.slice(2);
const store = await connect(url);
// The first observation is the current leader.
for await (const { leader } of store.observe(election)) {
  console.log(leader === null ? 'no leader' : `leader: ${leader.name}`);
}
