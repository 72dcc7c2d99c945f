/** Shared code of the tests: buckets, and processes that print a line at a time and never outlive a test. */

import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inject, onTestFinished } from 'vitest';

import type { CampaignSettings, Candidate, Event, Term } from '../dist/index.js';
import { CLI, tool } from './tools.js';

/** Settings for a store in this process, with a lease that does not end just because the machine is busy. */
export const FAST: CampaignSettings = { preset: 'fast', lease: 60_000, splay: 0 };
/** Settings for a test that waits for the end of the lease: milliseconds, which are for tests and in no type. */
export const SHORT = { preset: 'test', lease: 800, splay: 0 } as unknown as CampaignSettings;
/** Settings for the server. */
export const NATS: CampaignSettings = { preset: 'fast', splay: 0 };
/** The lease of a bucket: tests wait for its end. */
export const NATS_LEASE_MS = 8000;

/** Blocks this thread until a condition is true, as a long call does, without using the processor. */
export function block(isSo: () => boolean): void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (!isSo()) {
    Atomics.wait(never, 0, 0, 1);
  }
}

let buckets = 0;

/** Returns a bucket for one test on the server, as a store's URL. */
export function bucket(leaseMs = NATS_LEASE_MS): string {
  buckets += 1;
  const url = `${inject('nats')}/B${process.pid}-${buckets}`;
  execFileSync(tool(CLI), ['init', '--store', url, '--lease', `${leaseMs}ms`, '--new'], { stdio: 'pipe' });
  return url;
}

/** A process that prints a line at a time; killed when the test is over. */
export class Process {
  readonly child: ChildProcess;
  /** The exit code, or the signal. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly lines: string[] = [];
  #errors = '';
  #isOver = false;
  #wake: () => void = () => undefined;

  constructor(command: string, ...args: string[]) {
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.ended = once(this.child, 'close').then(([code, signal]) => {
      this.#isOver = true;
      this.#wake();
      return (code ?? signal) as number | NodeJS.Signals;
    });
    this.child.stderr?.on('data', (data: Buffer) => (this.#errors += data.toString()));
    this.child.stdin?.on('error', () => undefined);
    createInterface({ input: this.child.stdout! }).on('line', (line) => {
      this.lines.push(line);
      this.#wake();
    });
    onTestFinished(async () => {
      this.child.kill('SIGKILL');
      await this.ended;
    });
  }

  /** The standard error, without the warning that the leases of the tests' buckets are short, which they are on purpose. */
  get errors(): string {
    const warning = /^\(node:\d+\) IncumbentWarning: a leader loses its term when .*\n(\(Use `node --trace-warnings .*\n)?/m;
    return this.#errors.replace(warning, '');
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Reads up to a line that begins with these words; returns the rest of that line. */
  async expect(wanted: string): Promise<string> {
    for (;;) {
      const line = this.lines.shift();
      if (line?.startsWith(wanted) === true) {
        return line.slice(wanted.length).trim();
      }
      if (line === undefined) {
        if (this.#isOver) {
          throw new Error(`the process ended before it said ${wanted}: ${this.errors}`);
        }
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }

  say(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }
}

/** Starts one of the programs in `programs`. */
export function program(name: string, ...args: string[]): Process {
  return new Process(process.execPath, join(__dirname, 'programs', name), ...args);
}

/** Returns the next term of a candidate, not held. */
export async function won(candidate: Candidate): Promise<Term> {
  const terms = candidate.terms();
  const { value } = await terms.next();
  await terms.return();
  return value!;
}

/** Returns the next event of a type. */
export async function event<T extends Event['type']>(
  events: AsyncIterator<Event, undefined>,
  type: T,
): Promise<Extract<Event, { type: T }>> {
  for (;;) {
    const { done, value } = await events.next();
    if (done === true) {
      throw new Error(`no ${type} comes any more`);
    }
    if (value.type === type) {
      return value as Extract<Event, { type: T }>;
    }
  }
}
