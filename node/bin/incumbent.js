#!/usr/bin/env node
// Runs the command line `incumbent`, if it is installed. The package does not contain it: it would add a second program
// of the addon's size to every installation, and most programs that import the package never run it.
'use strict';

const { spawn } = require('node:child_process');
const { realpathSync, statSync } = require('node:fs');
const { constants } = require('node:os');
const { delimiter, join, sep } = require('node:path');

const MISSING = `\
npx incumbent runs the command line \`incumbent\`, a separate program, which is not on PATH. Install it with

    cargo install incumbent-cli

To create a bucket or a file for elections this package is enough: await init(url).
`;

/** The program on PATH, other than this script: npx puts packages' scripts in front. */
function program() {
  const name = process.platform === 'win32' ? 'incumbent.exe' : 'incumbent';
  for (const folder of (process.env.PATH ?? '').split(delimiter).filter(Boolean)) {
    try {
      const found = realpathSync(join(folder, name));
      if (statSync(found).isFile() && !found.includes(`${sep}node_modules${sep}`) && found !== realpathSync(__filename)) {
        return found;
      }
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

const found = program();
if (found === undefined) {
  process.stderr.write(MISSING);
  process.exitCode = 127;
} else {
  const child = spawn(found, process.argv.slice(2), { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  // A terminal sends it to the command line too.
  process.on('SIGINT', () => undefined);
  child.on('error', (error) => {
    process.stderr.write(`${found} cannot be run: ${error.message}\n`);
    process.exitCode = 126;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
}
