// What the programs of this folder share: where the election is, and the line that they write while they are at work.

const { appendFileSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');

const { ELECTIONS: store, ELECTION: election, PORT: port, WORK: file } = process.env;

/** Writes a line, if the term is current: it was, at the time that was read before. */
function step(term) {
  const at = process.hrtime.bigint();
  if (!term.isCurrent()) {
    return false;
  }
  const seconds = `${at / 1_000_000_000n}.${String(at % 1_000_000_000n).padStart(9, '0')}`;
  appendFileSync(file, `work ${term.token} ${process.pid} ${seconds}\n`);
  return true;
}

/** The work of one term. */
async function lead(term) {
  while (!term.drainSignal.aborted && step(term)) {
    await sleep(50, null, { signal: term.drainSignal }).catch(() => undefined);
  }
}

module.exports = { store, election, port, step, lead };
