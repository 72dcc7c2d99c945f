/** The lifetime of a process, and its end. */

import { expect, test } from 'vitest';

import { connect } from '../dist/index.js';
import { NATS, bucket, program, won } from './support.js';

test.each(['store', 'closed', 'storeClosed', 'observing'])('a process ends by itself: %s', async (what) => {
  const process = program('lifetime.mjs', what, bucket());
  await process.expect('done');
  expect([await process.ended, process.errors]).toEqual([0, '']);
});

test('a campaign keeps its process alive until it is closed', async () => {
  const process = program('lifetime.mjs', 'campaigning', bucket());
  // The candidate may win before or after the program reaches its end.
  await process.expect('won');
  process.child.kill('SIGTERM');
  expect([await process.ended, process.errors]).toEqual([0, '']);
});

test('a campaign continues though no variable holds it', async () => {
  const url = bucket();
  const process = program('lifetime.mjs', 'forgotten', url);
  await process.expect('done');
  await using store = await connect(url);
  for await (const { leader } of store.observe('jobs')) {
    if (leader !== null) {
      break;
    }
  }
  expect(process.child.exitCode).toBeNull();
});

test.each([
  ['exit', 3],
  ['throws', 1],
])('a process that ends while it leads releases its lease: %s', async (what, code) => {
  const url = bucket();
  const process = program('lifetime.mjs', what, url);
  const token = await process.expect('won');
  expect(await process.ended).toBe(code);
  await using store = await connect(url);
  // The key was released, so no candidate has to wait for the lease.
  expect(await store.leader('jobs')).toBeNull();
  await using candidate = await store.campaign('jobs', NATS);
  expect((await won(candidate)).token > token).toBe(true);
});

test.each(['listens', 'reads'])('the last event is delivered before the process ends: %s', async (what) => {
  const process = program('lifetime.mjs', what, bucket());
  await process.expect('won');
  process.child.kill('SIGTERM');
  await process.expect('lost CLOSED');
  expect([await process.ended, process.errors]).toEqual([0, '']);
});

test('a program that only loads the package has no handle of it', async () => {
  const process = program('loads.mjs');
  expect(await process.expect('open')).toBe('[]');
  expect(await process.expect('stores')).toBe('true true true true');
  expect([await process.ended, process.errors]).toEqual([0, '']);
});
