/** The program that controls the store and the network. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { HARNESS, tool } from '../tools.js';

/** Longer than any expectation and any answer of the harness takes. */
const LIMIT_MS = 70_000;

/** Returns the result of a promise, or throws an error that names what did not come in time. */
export async function inTime<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The place where a scenario is played. */
export interface Prepared {
  readonly url: string;
  readonly offers: string[];
  readonly connections: Record<string, string>;
}

interface Reply {
  ok: boolean;
  error?: string;
}

export class Harness {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor() {
    this.#child = spawn(tool(HARNESS), { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  static async start(): Promise<Harness> {
    const harness = new Harness();
    const hello = (await harness.#read()) as { harness: string; protocol: number };
    if (hello.harness !== 'incumbent' || hello.protocol !== 1) {
      throw new Error(`the harness speaks another protocol: ${JSON.stringify(hello)}`);
    }
    return harness;
  }

  async ask(request: Record<string, unknown>): Promise<unknown> {
    this.#child.stdin!.write(`${JSON.stringify(request)}\n`);
    const reply = (await this.#read()) as Reply;
    if (!reply.ok) {
      throw new Error(`the harness does not ${JSON.stringify(request)}: ${reply.error}`);
    }
    return reply;
  }

  async prepare(store: string, leaseMs: number, connections: string[]): Promise<Prepared> {
    return (await this.ask({ do: 'prepare', store, lease_ms: leaseMs, connections })) as Prepared;
  }

  /** Ends the program by closing its input. */
  async end(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    const ended = exitCode === null && signalCode === null ? once(this.#child, 'exit') : undefined;
    this.#child.stdin!.end();
    await (ended && inTime('the end of the harness', ended));
  }

  async #read(): Promise<unknown> {
    const { done, value } = await inTime('an answer of the harness', this.#lines.next());
    if (done === true) {
      throw new Error(`the harness has ended: ${this.#child.signalCode ?? this.#child.exitCode}`);
    }
    return JSON.parse(value);
  }
}
