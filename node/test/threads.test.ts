/** Candidates in threads, in a cluster, in forked processes. */

import { fork, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';

import { connect } from '../dist/index.js';
import { FAST, NATS, bucket, program, won } from './support.js';

const PROGRAM = join(__dirname, 'programs/thread.mjs');

/** The reports of one candidate, in order. */
class Messages {
  readonly #messages: unknown[][] = [];
  readonly #emitter = new EventEmitter();

  constructor(source: Worker | ChildProcess) {
    source.on('message', (message: unknown[]) => {
      this.#messages.push(message);
      this.#emitter.emit('message');
    });
  }

  async next(what: string): Promise<unknown[]> {
    for (;;) {
      const message = this.#messages.shift();
      if (message?.[0] === what) {
        return message.slice(1);
      }
      if (message === undefined) {
        await once(this.#emitter, 'message');
      }
    }
  }
}

function thread(url: string, name: string, program = PROGRAM): { worker: Worker; messages: Messages } {
  const worker = new Worker(program, { workerData: { url, name } });
  onTestFinished(async () => {
    await worker.terminate();
  });
  return { worker, messages: new Messages(worker) };
}

test('threads elect one leader, and one that closes is followed at once', async () => {
  const url = bucket();
  const first = thread(url, 'a');
  const [before] = await first.messages.next('won');
  const second = thread(url, 'b');
  await second.messages.next('ready');
  const exits = [first, second].map(({ worker }) => once(worker, 'exit'));
  first.worker.postMessage('close');
  const [token, isLeader] = await second.messages.next('won');
  expect([(token as string) > (before as string), isLeader]).toEqual([true, true]);
  second.worker.postMessage('close');
  expect(await Promise.all(exits)).toEqual([[0], [0]]);
});

test('a thread that is terminated leads no more, and its lease is released', async () => {
  const url = bucket();
  const { worker, messages } = thread(url, 'a');
  const [token] = await messages.next('won');
  await worker.terminate();
  await using store = await connect(url);
  await using candidate = await store.campaign('jobs', { ...NATS, name: 'b' });
  expect((await won(candidate)).token > (token as string)).toBe(true);
});

test('a thread that is terminated while it drains releases its lease at once', async () => {
  // Longer than the time limit of a test, for the lease and the drain.
  const url = bucket(600_000);
  const { worker, messages } = thread(url, 'drains', join(__dirname, 'programs/drains.mjs'));
  const [token, isLeader] = await messages.next('draining');
  expect(isLeader).toBe(true);
  await worker.terminate();
  await using store = await connect(url);
  await using candidate = await store.campaign('jobs', { name: 'next', splay: 0 });
  expect((await won(candidate)).token > (token as string)).toBe(true);
});

test('threads that come and go leave this one as it is', async () => {
  await using store = await connect('memory:');
  await using candidate = await store.campaign('jobs', FAST);
  const term = await won(candidate);
  for (const name of ['a', 'b', 'c', 'd']) {
    const { worker, messages } = thread('memory:', name);
    await messages.next('won');
    await worker.terminate();
  }
  expect([term.isCurrent(), candidate.isLeader]).toEqual([true, true]);
});

test('a forked process campaigns for itself', async () => {
  const url = bucket();
  const child = fork(PROGRAM, { env: { ...process.env, URL_OF_STORE: url, NAME: 'child' } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const messages = new Messages(child);
  const [token] = await messages.next('won');
  await using store = await connect(url);
  await using candidate = await store.campaign('jobs', { ...NATS, name: 'parent' });
  expect(candidate.isLeader).toBe(false);
  child.send('close');
  expect((await won(candidate)).token > (token as string)).toBe(true);
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('the workers of a cluster lead one after another', async () => {
  const primary = program('cluster.mjs', bucket());
  const tokens = [await primary.expect('won'), await primary.expect('won')];
  expect(tokens).toEqual([...new Set(tokens)].sort());
  expect(await primary.ended).toBe(0);
  expect(primary.lines.filter((line) => line.startsWith('exit')).every((line) => line === 'exit 0')).toBe(true);
});
