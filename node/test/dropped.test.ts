/** Handles that a program drops without closing them. */

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { Process } from './support.js';

function dropping(): Process {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'incumbent-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return new Process(process.execPath, '--expose-gc', join(__dirname, 'programs/dropped.mjs'), join(folder, 'elections.db'));
}

// The test reads the open files of the process from /proc.
const onLinux = test.runIf(process.platform === 'linux');

onLinux('a candidate that is dropped campaigns until it is closed', async () => {
  expect(await dropping().expect('campaigns')).toBe('true');
});

onLinux('a store that is dropped is closed once it is collected', async () => {
  const program = dropping();
  expect(await program.expect('opened')).toBe('true');
  await program.expect('closed');
  expect([await program.ended, program.errors]).toEqual([0, '']);
});
