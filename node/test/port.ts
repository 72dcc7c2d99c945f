/**
 * A port on which no process listens: below the system's range for outgoing connections, and outside the ranges of
 * the tests in other languages.
 */

import { createServer } from 'node:net';

export async function freePort(): Promise<number> {
  for (;;) {
    const port = 28_000 + Math.floor(Math.random() * 4000);
    if (await isFree(port)) {
      return port;
    }
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
