// A worker under PM2, which sends SIGINT.

import { runAsLeader } from 'incumbent';
import { election, lead, store } from './work.cjs';

await runAsLeader(store, election, lead, { splay: 0 });
