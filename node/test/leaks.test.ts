/** Ten thousand campaigns leave nothing behind. */

import { join } from 'node:path';
import { expect, test } from 'vitest';

import { Process } from './support.js';

interface Measured {
  heapUsed: number;
  rss: number;
  files: number;
  threads: number;
  active: number;
}

test('ten thousand campaigns that were closed leave neither memory nor handles', async () => {
  const program = new Process(process.execPath, '--expose-gc', join(__dirname, 'programs/leaks.mjs'), '10000');
  const before = JSON.parse(await program.expect('before')) as Measured;
  const after = JSON.parse(await program.expect('after')) as Measured;
  expect(await program.ended).toBe(0);
  expect([after.files, after.threads, after.active]).toEqual([before.files, before.threads, before.active]);
  // 100 bytes for each campaign would be a leak.
  expect(after.heapUsed - before.heapUsed).toBeLessThan(1_000_000);
  expect(after.rss - before.rss).toBeLessThan(30_000_000);
}, 900_000);
