/** Runs every program of `examples/node` as a process, as its first lines describe. */

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { connect } from '../dist/index.js';
import { until } from '../dist/testing.js';
import { freePort } from './port.js';
import { Process, won } from './support.js';
import { CLI, tool } from './tools.js';

const PACKAGE = resolve(__dirname, '..');
const EXAMPLES = resolve(PACKAGE, '../examples/node');

/** Returns a folder in which the package is installed, with the examples, and the URL of a new file for elections. */
function installed(): { folder: string; url: string } {
  const folder = mkdtempSync(join(tmpdir(), 'incumbent-examples-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(PACKAGE, join(folder, 'node_modules/incumbent'));
  for (const name of ['@nestjs', '@opentelemetry', 'reflect-metadata', 'rxjs']) {
    symlinkSync(join(PACKAGE, 'node_modules', name), join(folder, 'node_modules', name));
  }
  for (const file of readdirSync(EXAMPLES).filter((name) => /\.(mjs|ts|json)$/.test(name))) {
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

test('the application of NestJS leads while it runs, and leaves as it is shut down', async () => {
  const { folder, url } = installed();
  const compiler = join(PACKAGE, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', folder], { stdio: 'inherit' });
  const first = new Process(process.execPath, join(folder, 'nest-provider.js'), url);
  const token = await first.expect('leading with token');
  expect(await first.expect('sent with token')).toBe(token);
  first.child.kill('SIGTERM');
  await first.expect('the last newsletter is sent');
  // Nest ends the process with the signal that it got, once the hooks are done.
  expect([await first.ended, first.errors]).toEqual(['SIGTERM', '']);
  await using store = await connect(url);
  expect(await store.leader('newsletter')).toBeNull();
});

test('the metrics of OpenTelemetry count the terms of a candidate', async () => {
  const { folder, url } = installed();
  const port = await freePort();
  const program = new Process(process.execPath, join(folder, 'opentelemetry-metrics.mjs'), url, String(port));
  const page = (await program.expect('http')).replace(/^/, 'http');
  const metrics = async (): Promise<[string, number][]> => {
    const text = await fetch(page).then((answer) => answer.text());
    const samples = [...text.matchAll(/^(incumbent_\w+)\{(.*)\} (\S+)( \d+)?$/gm)];
    // The exporter adds the name of the meter.
    const labels = (text: string): string => text.split(',').filter((label) => !label.startsWith('otel_scope')).join(',');
    return samples.map(([, name, about, value]) => [`${name}{${labels(about!)}}`, Number(value)]);
  };
  const about = 'election="report",candidate="worker-7"';
  const terms = async (): Promise<number | undefined> =>
    (await metrics()).find(([name]) => name === `incumbent_terms_total{${about}}`)?.[1];
  await until('the first term is counted', async () => (await terms()) === 1);
  {
    await using store = await connect(url);
    await using other = await store.campaign('report', { name: 'worker-8', splay: 0 });
    await until('it is a candidate', async () => (await store.candidates('report'))?.length === 2);
    const command = ['hand-over', '--store', url, 'report', '--to', 'worker-8', '--yes'];
    const handing = new Process(tool(CLI), ...command);
    await won(other);
    expect(await handing.ended).toBe(0);
  }
  await until('the second term is counted', async () => (await terms()) === 2);
  const seen = await metrics();
  const left = seen.find(([name]) => name === `incumbent_lease_remaining{${about}}`)![1];
  expect([left > 0, left < 60]).toEqual([true, true]);
  expect(seen.filter(([name]) => !name.startsWith('incumbent_lease'))).toEqual([
    [`incumbent_leader{${about}}`, 1],
    [`incumbent_terms_total{${about}}`, 2],
    [`incumbent_terms_ended_total{${about},reason="handed_over"}`, 1],
  ]);
  program.child.kill('SIGTERM');
  expect([await program.ended, program.errors]).toEqual([0, '']);
});

test('every example is run', () => {
  const programs = readdirSync(EXAMPLES).filter((name) => /\.(mjs|ts)$/.test(name));
  expect(programs.sort()).toEqual([
    'cron-runner.mjs',
    'fenced-resource.mjs',
    'nest-provider.ts',
    'observer.mjs',
    'opentelemetry-metrics.mjs',
  ]);
});
