/** The packages as they are published: packed, installed into an empty project, and used from both module systems. */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { platform } from '../dist/addon.js';
import { CLI, tool } from './tools.js';

const PACKAGE = resolve(__dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'incumbent-package-'));
const project = join(folder, 'project');
const older = join(folder, 'older');

function run(program: string, args: string[], cwd = project): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

beforeAll(() => {
  run(process.execPath, ['scripts/platforms.mjs'], PACKAGE);
  const packages = ['main', platform()].map((name) => join(PACKAGE, 'npm', name));
  run('npm', ['pack', ...packages, '--silent', '--pack-destination', folder], PACKAGE);
  const tarballs = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  expect(tarballs).toHaveLength(2);
  const packed = tarballs.map((name) => join(folder, name));
  const install = (home: string, others: string[]): void => {
    mkdirSync(home);
    writeFileSync(join(home, 'package.json'), '{ "name": "project", "version": "1.0.0", "private": true }\n');
    const options = ['--no-audit', '--no-fund', '--prefer-offline', '--omit=optional'];
    run('npm', ['install', ...options, ...packed, ...others], home);
  };
  install(project, []);
  // The oldest supported TypeScript, and Node types that it can read.
  install(older, ['typescript@5.4', '@types/node@20.12']);
}, 600_000);

afterAll(() => rmSync(folder, { recursive: true }));

const USE = `
const main = async () => {
  await using_(await connect('memory:'));
};
const using_ = async (store) => {
  const candidate = await store.campaign('jobs', { splay: 0 });
  const terms = candidate.terms();
  const { value } = await terms.next();
  console.log(candidate.isLeader, value.token.length, typeof value.sequence, value.signal.aborted);
  await terms.return();
  await store.close();
  const election = new ScriptedElection();
  console.log(typeof election.acquire(), election.candidate.isLeader);
};
main();
`;

test.each([
  ['use.mjs', `import { connect } from 'incumbent';\nimport { ScriptedElection } from 'incumbent/testing';\n${USE}`],
  [
    'use.cjs',
    `const { connect } = require('incumbent');\nconst { ScriptedElection } = require('incumbent/testing');\n${USE}`,
  ],
])('an empty project uses what was packed: %s', (name, code) => {
  writeFileSync(join(project, name), code);
  expect(run(process.execPath, [name])).toBe('true 33 bigint false\nstring true\n');
});

test('both module systems have the same classes', () => {
  const code = `import { createRequire } from 'node:module';
import * as mine from 'incumbent';
const theirs = createRequire(import.meta.url)('incumbent');
console.log(Object.keys(theirs).every((name) => mine[name] === theirs[name]), Object.keys(theirs).length > 20);`;
  writeFileSync(join(project, 'same.mjs'), code);
  expect(run(process.execPath, ['same.mjs'])).toBe('true true\n');
});

test('each package has the texts of both licences', () => {
  for (const name of ['incumbent', `incumbent-${platform()}`]) {
    const files = readdirSync(join(project, 'node_modules', name));
    expect(files.filter((file) => file.startsWith('LICENSE')).sort()).toEqual(['LICENSE-APACHE', 'LICENSE-MIT']);
  }
});

test('npx runs the command line on PATH with its exit code, and says how to install it if there is none', () => {
  const started = (path: string): { status: number | null; stdout: string; stderr: string } => {
    const env = { ...process.env, PATH: `${join(project, 'node_modules', '.bin')}${delimiter}${path}` };
    const command = join(project, 'node_modules', '.bin', 'incumbent');
    return spawnSync(process.execPath, [command, 'init', '--store', 'memory:'], { env, encoding: 'utf8' });
  };
  const ran = started(dirname(tool(CLI)));
  expect([ran.status, ran.stderr.includes('needs no preparation')]).toEqual([2, true]);
  const missing = started(folder);
  expect([missing.status, missing.stdout]).toEqual([127, '']);
  expect(missing.stderr).toContain('cargo install incumbent-cli');
});

const TYPED = `import { once } from 'node:events';
import { connect, IncumbentError, logTo, runAsLeader, type DrainHandler, type Event, type LogRecord, type Reason, type Term } from 'incumbent';
import { ScriptedElection, faultyStore } from 'incumbent/testing';

export async function main(): Promise<void> {
  const store = await connect('memory:', { failFast: true, timeout: 5000, signal: AbortSignal.timeout(5000) });
  const done: number | undefined = await runAsLeader(store, 'once', async (term) => term.token.length, { keepLeading: false });
  console.log(done);
  const candidate = await store.campaign('jobs', { name: 'a', lease: '10s', winDelay: 'cautious' });
  candidate.on('lost', (term: Term, reason: Reason) => term.token + reason);
  candidate.once('draining', async (term) => term.drainRemainingMs).off('won', () => 0).setMaxListeners(0);
  // @ts-expect-error There is no such event.
  candidate.on('wno', () => undefined);
  // @ts-expect-error It receives a term.
  candidate.on('won', (term: string) => term);
  const [first]: unknown[] = await once(candidate, 'won');
  const drain: DrainHandler = async (term, deadline) => [term.token, deadline - performance.now()];
  await store.campaign('others', { drain, drainTime: '30s', errorEndsTerm: true, name: String(first) });
  logTo(console, { level: 'warn' });
  logTo((record: LogRecord) => record.fields['election']);
  // @ts-expect-error There is no such setting.
  await store.campaign('jobs', { leese: 1 });
  const { leader }: { leader: { name: string } | null } = candidate.status();
  for await (const term of candidate.terms({ signal: new AbortController().signal })) {
    await candidate.handOver(leader?.name ?? (term.drainSignal.aborted ? 'a' : 'b'));
    const sequence: bigint = term.sequence;
    await fetch('http://localhost', { signal: term.signal, headers: { token: term.token, sequence: String(sequence) } });
  }
  for await (const event of candidate.events()) {
    const one: Event = event;
    if (one.type === 'lost') {
      const reason: Reason = one.reason;
      console.log(reason);
    }
  }
  try {
    await using faulty = await faultyStore();
    await using kept = candidate;
    faulty.partition();
    await kept.handOver('b');
  } catch (error) {
    if (error instanceof IncumbentError && error.code === 'NOT_LEADER') {
      console.log(error.cause);
    }
  }
  new ScriptedElection().acquire(1000);
}
`;

// Version 6 loads the types of no package by itself, so that the package has to refer to those of Node.
test.each([
  ['typed.mts', 'TypeScript 6', project, PACKAGE],
  ['typed.cts', 'TypeScript 6', project, PACKAGE],
  ['typed.mts', 'TypeScript 5.4', older, older],
])('the types are strict, and need no skipLibCheck: %s with %s', (name, version, cwd, home) => {
  writeFileSync(join(cwd, name), TYPED);
  const options = ['--strict', '--noEmit', '--skipLibCheck', 'false', '--exactOptionalPropertyTypes'];
  const system = ['--module', 'node16', '--target', 'es2022', '--lib', 'es2022,esnext.disposable'];
  const compiler = join(home, 'node_modules/.bin/tsc');
  expect(run(compiler, ['--version'])).toContain(version.replace('TypeScript', 'Version'));
  const tsc = spawnSync(compiler, [...options, ...system, name], { cwd, encoding: 'utf8' });
  expect([tsc.stdout, tsc.status]).toEqual(['', 0]);
});

test('the types are strict for a resolution that knows no exports, too', () => {
  writeFileSync(join(older, 'old.ts'), TYPED);
  const options = ['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2022,esnext.disposable'];
  const system = ['--module', 'commonjs', '--moduleResolution', 'node10', '--types', 'node'];
  const tsc = spawnSync(join(older, 'node_modules/.bin/tsc'), [...options, ...system, 'old.ts'], { cwd: older, encoding: 'utf8' });
  expect([tsc.stdout, tsc.status]).toEqual(['', 0]);
});

test('where compiled parts may not be loaded the error names the option', () => {
  const { stderr, status } = spawnSync(process.execPath, ['--no-addons', 'use.cjs'], { cwd: project, encoding: 'utf8' });
  expect(status).not.toBe(0);
  expect(stderr).toContain('is not permitted to load its compiled part');
  expect(stderr).toContain('Leave out `--no-addons`');
});

test('where the compiled part is missing the error names its package and the remedy', () => {
  const part = join(project, 'node_modules', `incumbent-${platform()}`);
  rmSync(part, { recursive: true });
  const { stderr, status } = spawnSync(process.execPath, ['use.cjs'], { cwd: project, encoding: 'utf8' });
  expect(status).not.toBe(0);
  expect(stderr).toContain(`the package incumbent-${platform()}: install it with \`npm install incumbent-${platform()}\``);
});
