/** Every program of the README runs, leads, and ends as it should. */

import { mkdtempSync, readFileSync, rmSync, symlinkSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { until } from '../dist/testing.js';
import { freePort } from './port.js';
import { Process, bucket } from './support.js';

const PACKAGE = resolve(__dirname, '..');
const README = readFileSync(join(PACKAGE, 'README.md'), 'utf8');
const snippets = [...README.matchAll(/^## (.+)\n(?:(?!^## )[^])*?^```js\n([^]*?)^```$/gm)].map(([, title, code]) => ({
  title: title!,
  code: code!,
}));

test('there are as many programs as are looked for', () => {
  expect(snippets).toHaveLength(README.match(/^```js$/gm)!.length);
});

test.each(snippets)('$title', async ({ code }) => {
  const folder = mkdtempSync(join(tmpdir(), 'incumbent-readme-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(PACKAGE, join(folder, 'node_modules/incumbent'));
  symlinkSync(join(PACKAGE, 'node_modules/fastify'), join(folder, 'node_modules/fastify'));
  const file = join(folder, code.includes('require(') ? 'program.cjs' : 'program.mjs');
  const port = await freePort();
  writeFileSync(file, code.replace('nats://localhost:4222/ELECTIONS', bucket(10_000)).replace('?? 3000', `?? ${port}`));

  const program = new Process(process.execPath, file);
  await program.expect('leading with token');
  if (code.includes(`app.get('/leader'`)) {
    const url = `http://127.0.0.1:${port}/leader`;
    const asked = async (): Promise<unknown> => fetch(url).then((reply) => reply.json(), () => undefined);
    await until('the service says who leads', async () => {
      const { me, leader } = ((await asked()) ?? {}) as { me?: boolean; leader?: string };
      return me === true && typeof leader === 'string';
    });
  }
  if (code.includes('SIGTERM')) {
    program.child.kill('SIGTERM');
  }
  if (code.includes('no longer the leader')) {
    await program.expect('no longer the leader: CLOSED');
  }
  expect([await program.ended, program.errors]).toEqual([0, '']);
});
