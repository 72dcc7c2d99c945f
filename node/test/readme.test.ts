/** Every program of the README runs, leads, leads again after its lease was taken away, and ends as it should. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { until } from '../dist/testing.js';
import { freePort } from './port.js';
import { Process, bucket } from './support.js';
import { CLI, tool } from './tools.js';

const PACKAGE = resolve(__dirname, '..');
const README = readFileSync(join(PACKAGE, 'README.md'), 'utf8');
const snippets = [...README.matchAll(/^## (.+)\n(?:(?!^## )[^])*?^```js\n([^]*?)^```$/gm)].map(([, title, code]) => ({
  title: title!,
  code: code!,
}));

test('there are as many programs as are looked for', () => {
  expect(snippets).toHaveLength(README.match(/^```js$/gm)!.length);
});

/** The election in which a program campaigns. */
const ELECTION = /(?:campaign\(|runAsLeader\('[^']+', )'([^']+)'/;

/** Writes a program of the README into a folder that has the package; returns its path. */
function written(code: string, store = bucket(10_000)): string {
  const folder = mkdtempSync(join(tmpdir(), 'incumbent-readme-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(PACKAGE, join(folder, 'node_modules/incumbent'));
  symlinkSync(join(PACKAGE, 'node_modules/fastify'), join(folder, 'node_modules/fastify'));
  const file = join(folder, code.includes('require(') ? 'program.cjs' : 'program.mjs');
  writeFileSync(file, code.replace('nats://localhost:4222/ELECTIONS', store));
  return file;
}

test.each(snippets)('$title', async ({ code }) => {
  const port = await freePort();
  const store = bucket(10_000);
  const file = written(code.replace('?? 3000', `?? ${port}`), store);

  const program = new Process(process.execPath, file);
  const said = await program.expect(code.includes('init(') ? 'there already' : 'leading with token');
  const election = ELECTION.exec(code)?.[1];
  if (election !== undefined) {
    execFileSync(tool(CLI), ['evict', '--store', store, '--key', election, '--yes'], { stdio: 'pipe' });
    // The program may print the first term's token again before it notices the new term.
    while ((await program.expect('leading with token')) === said);
  }
  if (code.includes(`app.get('/leader'`)) {
    const url = `http://127.0.0.1:${port}/leader`;
    const asked = async (): Promise<unknown> => fetch(url).then((reply) => reply.json(), () => undefined);
    await until('the service says who leads', async () => {
      const { isLeader, leader } = ((await asked()) ?? {}) as { isLeader?: boolean; leader?: { revision: string } };
      return isLeader === true && typeof leader?.revision === 'string';
    });
  }
  if (code.includes('SIGTERM') || code.includes('runAsLeader')) {
    program.child.kill('SIGTERM');
  }
  if (code.includes('no longer the leader')) {
    await program.expect('no longer the leader: CLOSED');
  }
  expect([await program.ended, program.errors]).toEqual([0, '']);
});

/** Counts the turns of a loop that prints one line in each, and prints the memory after some and after all. */
const COUNTING = `
let turns = 0;
console.log = () => {
  turns += 1;
  if (turns === 5_000 || turns === 35_000) {
    globalThis.gc();
    process.stdout.write(\`used \${process.memoryUsage().heapUsed}\\n\`);
  }
  if (turns === 35_000) {
    process.kill(process.pid, 'SIGTERM');
  }
};
`;

test('the elections of the README are found', () => {
  const elections = snippets.flatMap(({ code }) => ELECTION.exec(code)?.[1] ?? []);
  expect(elections).toEqual(['billing-cron', 'billing-cron', 'relay', 'invoices', 'invoices', 'outbox']);
});

const loops = snippets.filter(({ code }) => code.includes('sleep(1000'));

test('the loops of the README are found', () => {
  expect(loops.map(({ title }) => title)).toEqual(['A worker', 'Candidates and terms']);
});

test('thirty thousand turns of each loop leave nothing behind', async () => {
  const run = async ({ title, code }: (typeof loops)[number]): Promise<void> => {
    const file = written(COUNTING + code.replace('sleep(1000', 'sleep(0'));
    const program = new Process(process.execPath, '--expose-gc', file);
    const before = Number(await program.expect('used'));
    const after = Number(await program.expect('used'));
    expect([title, await program.ended, program.errors]).toEqual([title, 0, '']);
    // Ten bytes a turn would be a leak.
    expect(after - before, title).toBeLessThan(300_000);
  };
  await Promise.all(loops.map(run));
});
