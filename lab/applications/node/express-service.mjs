// Express: the store is opened before the server listens, and closed when the server is closed.

import express from 'express';
import { connect } from 'incumbent';
import { election, lead, port, store } from './work.cjs';

const app = express();
const elections = await connect(store);
const candidate = await elections.campaign(election, { splay: 0 });
const job = candidate.lead(lead);

app.get('/leader', (_, response) => response.json(candidate.status()));
const server = app.listen(Number(port), '127.0.0.1');
process.once('SIGTERM', () => {
  server.close(async () => {
    await elections.close();
    await job;
  });
});
