/** The program that controls the store and the network. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { STAGE, tool } from '../tools.js';

/** Longer than any expectation and any answer of the stage takes. */
const LIMIT_MS = 70_000;

/** The result of a promise; an error that names what did not come where it takes too long. */
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
export interface Scene {
  readonly url: string;
  readonly offers: string[];
  readonly connections: Record<string, string>;
}

interface Reply {
  ok: boolean;
  error?: string;
}

export class Stage {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor() {
    this.#child = spawn(tool(STAGE), { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  static async start(): Promise<Stage> {
    const stage = new Stage();
    const hello = (await stage.#read()) as { stage: string; protocol: number };
    if (hello.stage !== 'incumbent' || hello.protocol !== 1) {
      throw new Error(`the stage speaks another protocol: ${JSON.stringify(hello)}`);
    }
    return stage;
  }

  async ask(request: Record<string, unknown>): Promise<unknown> {
    this.#child.stdin!.write(`${JSON.stringify(request)}\n`);
    const reply = (await this.#read()) as Reply;
    if (!reply.ok) {
      throw new Error(`the stage does not ${JSON.stringify(request)}: ${reply.error}`);
    }
    return reply;
  }

  async set(store: string, leaseMs: number, connections: string[]): Promise<Scene> {
    return (await this.ask({ do: 'set', store, lease_ms: leaseMs, connections })) as Scene;
  }

  /** Ends the program by closing its input. */
  async end(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    const ended = exitCode === null && signalCode === null ? once(this.#child, 'exit') : undefined;
    this.#child.stdin!.end();
    await (ended && inTime('the end of the stage', ended));
  }

  async #read(): Promise<unknown> {
    const { done, value } = await inTime('an answer of the stage', this.#lines.next());
    if (done === true) {
      throw new Error(`the stage has ended: ${this.#child.signalCode ?? this.#child.exitCode}`);
    }
    return JSON.parse(value);
  }
}
