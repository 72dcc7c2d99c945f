/** Stores are prepared from JavaScript, as by `incumbent init`; and a wait that a person cannot see is reported by default. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, inject, test } from 'vitest';

import { InvalidSettingError, NotFoundError, StoreUnavailableError, UnsafeStoreError, connect, init } from '../dist/index.js';
import { freePort } from './port.js';
import { Process, event, won } from './support.js';

const folder = mkdtempSync(join(tmpdir(), 'incumbent-init-'));

afterAll(() => rmSync(folder, { recursive: true }));

test('a file that is stated to be new has a leader at once', async () => {
  const url = `sqlite:${join(folder, 'new.db')}`;
  const made = { created: true, updated: false, neverUsed: true, leaseMs: null, topic: null, differences: [] };
  expect(await init(url, { new: true })).toEqual(made);
  expect(await init(url)).toEqual({ ...made, created: false });
  const begun = performance.now();
  await using store = await connect(url);
  await using candidate = await store.campaign('jobs', { splay: 0 });
  await won(candidate);
  expect(performance.now() - begun).toBeLessThan(10_000);
});

test('a bucket is made, and one that differs is an error and changed only when asked to', async () => {
  const url = `${inject('nats')}/init-${process.pid}`;
  await expect(connect(url)).rejects.toThrow(NotFoundError);
  expect(await init(url, { lease: 5000 })).toMatchObject({ created: true, neverUsed: false, leaseMs: 5000 });
  const refused = init(url, { lease: '10s' });
  await expect(refused).rejects.toThrow(UnsafeStoreError);
  await expect(refused).rejects.toThrow('max_age (lease) is 5s, and should be 10s; to change it, prepare it again with the same settings and `update`');
  const changed = { created: false, updated: true, leaseMs: 10_000, differences: [{ setting: 'max_age', was: '5s', is: '10s' }] };
  expect(await init(url, { lease: '10s', update: true })).toMatchObject(changed);
});

test.each([
  ['memory:', {}, 'a store of this kind needs no preparation'],
  ['sqlite:FILE', { ownLeases: true }, '`ownLeases` is only for NATS buckets, and this is a file: leave it out'],
  ['sqlite:FILE', { fresh: true }, 'the preparation of a sqlite: store has no setting "fresh": choose one of new, lease, replicas, maxBytes, markers, ownLeases'],
  ['nats://127.0.0.1:1/B', { new: 1 }, 'new is 1, and must be true or false'],
])('what does not fit is refused by the name of the setting: %s %j', async (url, settings, message) => {
  const inside = mkdtempSync(join(folder, 'refused-'));
  const refused = init(url.replace('FILE', join(inside, 'e.db')), settings as never);
  await expect(refused).rejects.toThrow(InvalidSettingError);
  await expect(refused).rejects.toThrow(message);
  expect(readdirSync(inside)).toEqual([]);
});

test('a missing file is reported with the call that creates it', async () => {
  const missing = connect(`sqlite:${join(folder, 'no.db')}?create=false`);
  await expect(missing).rejects.toThrow(NotFoundError);
  await expect(missing).rejects.toThrow('; `init(url)` creates it');
});

test('a server that is not there is an error and no wait', async () => {
  const url = `nats://127.0.0.1:${await freePort()}/B`;
  await expect(init(url, { lease: 5000, replicas: 1 })).rejects.toThrow(StoreUnavailableError);
});

test('a candidate in a new store reports how long it waits and what would shorten that', async () => {
  await using store = await connect(`sqlite:${join(folder, 'young.db')}`);
  await using candidate = await store.campaign('jobs', { lease: 60_000, splay: 0 });
  const { warning } = await event(candidate.events(), 'warning');
  expect(warning.code).toBe('YOUNG_STORE');
  expect(warning.message).toMatch(/^the store is new: waiting (5\d|60)s before leading; .*`init\(url, \{ new: true \}\)` skips the wait$/);
});

test('a program that asks for no log has the reason for its wait as a warning of the process', async () => {
  const url = `nats://127.0.0.1:${await freePort()}/B`;
  const code = `const { connect } = require(${JSON.stringify(join(__dirname, '..', 'dist', 'index.js'))});
connect('${url}', { timeout: 5000 }).catch((error) => console.log(error.code));`;
  const waiting = new Process(process.execPath, '-e', code);
  await waiting.expect('TIMED_OUT');
  expect(await waiting.ended).toBe(0);
  expect(waiting.errors).toMatch(/IncumbentWarning: the store cannot be reached, trying again: /);
  expect(waiting.errors).toMatch(/IncumbentWarning: waiting for the store, which does not answer yet/);
});
