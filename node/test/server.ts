/** A real nats-server for all tests of a run. */

import { spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

import { until } from '../dist/testing.js';
import { freePort } from './port.js';
import { NATS_SERVER, tool } from './tools.js';

declare module 'vitest' {
  interface ProvidedContext {
    nats: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const program = tool(NATS_SERVER);
  const folder = mkdtempSync(join(tmpdir(), 'incumbent-node-'));
  const port = await freePort();
  const log = openSync(join(folder, 'log'), 'w');
  const server = spawn(program, ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', folder], {
    stdio: ['ignore', log, log],
  });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  const stop = async (): Promise<void> => {
    server.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true });
  };
  try {
    await until('the nats-server answers', () => {
      if (server.exitCode !== null) {
        throw new Error(`the nats-server has ended: ${readFileSync(join(folder, 'log'), 'utf8')}`);
      }
      return answers(port);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  project.provide('nats', `nats://127.0.0.1:${port}`);
  return stop;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const say = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('data', (data) => say(data.toString().startsWith('INFO')));
    socket.once('error', () => say(false));
    socket.setTimeout(1000, () => say(false));
  });
}
