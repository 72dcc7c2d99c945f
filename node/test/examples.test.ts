/** Runs every program of `examples/node` as a process, as its first lines describe. */

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { Process } from './support.js';
import { CLI, tool } from './tools.js';

const PACKAGE = resolve(__dirname, '..');
const EXAMPLES = resolve(PACKAGE, '../examples/node');

/** Returns a folder in which the package is installed, with the examples, and the URL of a new file for elections. */
function installed(): { folder: string; url: string } {
  const folder = mkdtempSync(join(tmpdir(), 'incumbent-examples-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(PACKAGE, join(folder, 'node_modules/incumbent'));
  for (const file of readdirSync(EXAMPLES).filter((name) => /\.(mjs|json)$/.test(name))) {
    copyFileSync(join(EXAMPLES, file), join(folder, file));
  }
  const url = `sqlite:${join(folder, 'elections.db')}`;
  execFileSync(tool(CLI), ['init', '--store', url, '--new'], { stdio: 'pipe' });
  return { folder, url };
}

test('the cron runner works until it is terminated, and its successor leads at once', async () => {
  const { folder, url } = installed();
  const first = new Process(process.execPath, join(folder, 'cron-runner.mjs'), url);
  await first.expect('leading with token');
  await first.expect('the job runs');
  const second = new Process(process.execPath, join(folder, 'cron-runner.mjs'), url);
  first.child.kill('SIGTERM');
  await first.expect('the last job is done');
  expect([await first.ended, first.errors]).toEqual([0, '']);
  await second.expect('leading with token');
  await second.expect('the job runs');
});

test('the fenced resource accepts each term and refuses the token of the first afterwards', async () => {
  const { folder, url } = installed();
  const writer = new Process(process.execPath, join(folder, 'fenced-resource.mjs'), url);
  const [first, accepted] = (await writer.expect('written with token')).split(' ');
  const [second, acceptedToo] = (await writer.expect('written with token')).split(' ');
  expect([accepted, acceptedToo, second! > first!]).toEqual(['204', '204', true]);
  expect(await writer.expect('written with the token of the first term')).toBe('409');
  expect([await writer.ended, writer.errors]).toEqual([0, '']);
});

test('the observer prints the leader and the vacancy after it', async () => {
  const { folder, url } = installed();
  const runner = new Process(process.execPath, join(folder, 'cron-runner.mjs'), url);
  await runner.expect('leading with token');
  const observer = new Process(process.execPath, join(folder, 'observer.mjs'), url, 'cron');
  await observer.expect('leader: ');
  runner.child.kill('SIGTERM');
  await observer.expect('no leader');
});

test('every example is run', () => {
  const programs = readdirSync(EXAMPLES).filter((name) => name.endsWith('.mjs'));
  expect(programs.sort()).toEqual(['cron-runner.mjs', 'fenced-resource.mjs', 'observer.mjs']);
});
