/** Elections among processes, on a real nats-server: fail-over, signals, and the command line. */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

import { connect, type Candidate, type Store } from '../dist/index.js';
import { until } from '../dist/testing.js';
import { NATS, Process, bucket, program, won } from './support.js';
import { CLI, tool } from './tools.js';

/** Runs `act` with a candidate of this process, behind the other candidates. */
async function second(url: string, act: (candidate: Candidate, store: Store) => Promise<void>): Promise<void> {
  await using store = await connect(url);
  await using candidate = await store.campaign('jobs', { ...NATS, name: 'second' });
  await act(candidate, store);
}

test('a worker that is terminated hands over at once, and ends by itself', async () => {
  const url = bucket();
  const first = program('worker.mjs', url, 'first');
  const token = await first.expect('won');
  const other = program('worker.mjs', url, 'other');
  await other.expect('ready');
  first.child.kill('SIGTERM');
  expect(await first.expect('draining')).toBe('null true');
  expect((await other.expect('won')) > token).toBe(true);
  await first.expect('over');
  expect(await first.ended).toBe(0);
});

test('a worker that is killed is followed when its lease is over', async () => {
  const url = bucket();
  const first = program('worker.mjs', url, 'first');
  const token = await first.expect('won');
  await second(url, async (candidate) => {
    first.child.kill('SIGKILL');
    expect((await won(candidate)).token > token).toBe(true);
  });
  expect(await first.ended).toBe('SIGKILL');
});

test('a worker that was stopped beyond its lease knows at its first line', async () => {
  const url = bucket();
  const first = program('asked.mjs', url);
  const token = await first.expect('won');
  first.child.kill('SIGSTOP');
  // Asked before it continues, so that the answer is its first action.
  first.say('?');
  await second(url, async (candidate) => {
    expect((await won(candidate)).token > token).toBe(true);
    first.child.kill('SIGCONT');
    expect(await first.expect('leads')).toBe('? false false false true');
  });
});

test('a worker that was stopped for a moment keeps leading', async () => {
  const first = program('asked.mjs', bucket());
  await first.expect('won');
  first.child.kill('SIGSTOP');
  first.say('?');
  first.child.kill('SIGCONT');
  expect(await first.expect('leads')).toBe('? true true true false');
});

test('Node follows the command line, and the command line Node', async () => {
  const url = bucket();
  const start = (): Process =>
    new Process(
      tool(CLI),
      ...['run', '--store', url, '--key', 'jobs', '--name', 'cli', '--preset', 'fast', '--once', '--'],
      ...['sh', '-c', 'echo token $INCUMBENT_TOKEN; read line'],
    );
  const supervisor = start();
  const tokens = [await supervisor.expect('token')];
  await second(url, async (candidate) => {
    // Either the child has no standard input to wait for, or it is killed with its supervisor.
    supervisor.child.kill('SIGTERM');
    tokens.push((await won(candidate)).token);
    const again = start();
    await candidate.close();
    tokens.push(await again.expect('token'));
  });
  expect(tokens).toEqual([...new Set(tokens)].sort());
});

test('the command line sees who leads in Node', async () => {
  const url = bucket();
  await second(url, async (candidate) => {
    await won(candidate);
    const status = execFileSync(tool(CLI), ['status', '--store', url, '--json', 'jobs'], { encoding: 'utf8' });
    expect(JSON.stringify(JSON.parse(status))).toContain('second');
  });
});

/** Returns a Python with the package, if `cargo xtask test` has made one; none if the test runs without Python. */
function python(): string | undefined {
  const named = process.env['INCUMBENT_PYTHON'];
  if (named === 'none') {
    return undefined;
  }
  const made = resolve(__dirname, '../../target/python');
  const all = existsSync(made) ? readdirSync(made).map((name) => join(made, name, 'bin/python')) : [];
  const found = (named ? [named] : all).find((path) => {
    try {
      execFileSync(path, ['-c', 'import incumbent.sync'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  });
  if (found === undefined) {
    throw new Error('set INCUMBENT_PYTHON to a Python with the package, or to none, or run `cargo xtask test node`');
  }
  return found;
}

const PYTHON = `
import sys, incumbent.sync
with incumbent.sync.connect(sys.argv[1]) as store:
    with store.campaign("jobs", name="python", preset="fast", splay=0) as candidate:
        print("ready", flush=True)
        for term in candidate.terms():
            print("won", term.token, flush=True)
            sys.stdin.readline()
            break
`;

test.skipIf(process.env['INCUMBENT_PYTHON'] === 'none')('Node follows Python, and Python Node', async () => {
  const url = bucket();
  const interpreter = python()!;
  const first = new Process(interpreter, '-c', PYTHON, url);
  const tokens = [await first.expect('won')];
  await second(url, async (candidate) => {
    first.say('leave');
    tokens.push((await won(candidate)).token);
    const again = new Process(interpreter, '-c', PYTHON, url);
    await again.expect('ready');
    await candidate.close();
    tokens.push(await again.expect('won'));
    again.child.kill('SIGKILL');
  });
  expect(tokens).toEqual([...new Set(tokens)].sort());
});

test('three workers that are killed one after another have one leader after another', async () => {
  const url = bucket();
  const tokens: string[] = [];
  const workers = new Map(['a', 'b', 'c'].map((name) => [name, program('worker.mjs', url, name)]));
  await Promise.all([...workers.values()].map((worker) => worker.expect('ready')));
  await using store = await connect(url);
  while (workers.size > 0) {
    let name: string | undefined;
    await until('a worker that lives leads', async () => {
      name = (await store.leader('jobs'))?.name;
      return name !== undefined && workers.has(name);
    });
    const worker = workers.get(name!)!;
    tokens.push(await worker.expect('won'));
    worker.child.kill('SIGKILL');
    workers.delete(name!);
  }
  expect(tokens).toEqual([...new Set(tokens)].sort());
});
