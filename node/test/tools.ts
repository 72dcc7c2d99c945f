/** Programs that `cargo xtask test node` names in the environment, or that an earlier build has left. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../..');

export interface Tool {
  readonly variable: string;
  readonly fallback: string;
}

export const NATS_SERVER: Tool = {
  variable: 'NATS_SERVER',
  fallback: join(ROOT, 'target/tools/nats-server/2.15.1/nats-server'),
};
export const CLI: Tool = { variable: 'INCUMBENT_CLI', fallback: join(ROOT, 'target/debug/incumbent') };
export const HARNESS: Tool = { variable: 'INCUMBENT_HARNESS', fallback: join(ROOT, 'target/debug/incumbent-harness') };

/** Returns the path of a program. */
export function tool({ variable, fallback }: Tool): string {
  const path = process.env[variable] || fallback;
  if (!existsSync(path)) {
    throw new Error(`set ${variable}, or run \`cargo xtask test node\`: there is no ${path}`);
  }
  return path;
}
