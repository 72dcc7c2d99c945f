/** The program that controls the store and the network. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { STAGE, tool } from '../tools.js';

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
    const ended = this.#child.exitCode === null ? once(this.#child, 'exit') : undefined;
    this.#child.stdin!.end();
    await ended;
  }

  async #read(): Promise<unknown> {
    const { done, value } = await this.#lines.next();
    if (done === true) {
      throw new Error('the stage has ended');
    }
    return JSON.parse(value);
  }
}
