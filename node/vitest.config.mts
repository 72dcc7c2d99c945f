import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/server.ts'],
    // Processes, so that each file has an engine of its own.
    pool: 'forks',
    maxWorkers: 2,
    maxConcurrency: 6,
    execArgv: ['--expose-gc'],
    testTimeout: 180_000,
    hookTimeout: 120_000,
    // What is tried is the package as it is built, as Node loads it.
    server: { deps: { external: [/\/dist\//] } },
  },
});
