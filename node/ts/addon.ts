/** The compiled part, and the error if it is missing. */

import { createRequire } from 'node:module';
import { join } from 'node:path';

import type * as Native from './native.js';

/** The platforms that have a package, in the words of `process.platform` and `process.arch`. */
const PLATFORMS = [
  'darwin-arm64',
  'darwin-x64',
  'linux-arm64-gnu',
  'linux-arm64-musl',
  'linux-x64-gnu',
  'linux-x64-musl',
];

export type Addon = typeof Native;

/** The name of this machine's package. */
export function platform(): string {
  const plain = `${process.platform}-${process.arch}`;
  if (process.platform === 'linux') {
    return `${plain}-${isMusl() ? 'musl' : 'gnu'}`;
  }
  return plain;
}

function isMusl(): boolean {
  const reporting = process.report as NodeJS.ProcessReport & { excludeNetwork?: boolean };
  const { excludeNetwork } = reporting;
  // Looking up the names of the process's network peers takes time.
  reporting.excludeNetwork = true;
  const report = reporting.getReport() as {
    header?: { glibcVersionRuntime?: string };
    sharedObjects?: string[];
  };
  reporting.excludeNetwork = excludeNetwork ?? false;
  if (report.header?.glibcVersionRuntime !== undefined) {
    return false;
  }
  return (report.sharedObjects ?? []).some((object) => /libc\.musl-|ld-musl-/.test(object));
}

/** Makes the error, with the remedy. */
function explain(name: string, cause: unknown): Error {
  const missing = `incumbent-${name}`;
  if (!PLATFORMS.includes(name)) {
    return new Error(
      `incumbent has no compiled part for ${name}; there is one for ${PLATFORMS.join(', ')}`,
      { cause },
    );
  }
  if (isForbidden(cause)) {
    return new Error(
      `incumbent is not permitted to load its compiled part: ${String(cause)}. Leave out \`--no-addons\`; with \`--permission\`, ` +
        'add `--allow-addons` and `--allow-fs-read` for its folder',
      { cause },
    );
  }
  if (isNotFound(cause, missing)) {
    return new Error(
      `incumbent cannot find its compiled part, the package ${missing}: install it with \`npm install ${missing}\`. ` +
        'It is an optional dependency, left out by `--omit=optional`, or by a lock file or a node_modules folder ' +
        'made on another platform: then remove both and run `npm install` again',
      { cause },
    );
  }
  return new Error(
    `incumbent cannot load its compiled part, the package ${missing}: ${String(cause)}. Reinstall it with ` +
      `\`npm install --force ${missing}\`; it needs Node 20 or newer`,
    { cause },
  );
}

/** Whether this process was started without the right to load compiled code, or to read it. */
function isForbidden(cause: unknown): boolean {
  const { code } = (cause ?? {}) as { code?: unknown };
  return code === 'ERR_DLOPEN_DISABLED' || code === 'ERR_ACCESS_DENIED';
}

function isNotFound(cause: unknown, name: string): boolean {
  const error = (cause ?? {}) as { code?: unknown; message?: unknown };
  return error.code === 'MODULE_NOT_FOUND' && String(error.message).includes(name);
}

function load(): Addon {
  const name = platform();
  // A local build comes first; a published package has none, and bundlers need not follow it.
  const built = join(__dirname, '..', `incumbent.${name}.node`);
  try {
    return createRequire(__filename)(built) as Addon;
  } catch (cause) {
    if (!isNotFound(cause, built)) {
      throw explain(name, cause);
    }
  }
  try {
    // Each name in full: bundlers and file tracers cannot follow anything else.
    switch (name) {
      case 'darwin-arm64':
        return require('incumbent-darwin-arm64') as Addon;
      case 'darwin-x64':
        return require('incumbent-darwin-x64') as Addon;
      case 'linux-arm64-gnu':
        return require('incumbent-linux-arm64-gnu') as Addon;
      case 'linux-arm64-musl':
        return require('incumbent-linux-arm64-musl') as Addon;
      case 'linux-x64-gnu':
        return require('incumbent-linux-x64-gnu') as Addon;
      case 'linux-x64-musl':
        return require('incumbent-linux-x64-musl') as Addon;
    }
  } catch (cause) {
    throw explain(name, cause);
  }
  throw explain(name, undefined);
}

let loaded: Addon | undefined;

/**
 * The compiled part. Loaded at its first use: it has a handle of its own, and a program that only loads this package, as a
 * test does, has none.
 */
export const addon: Addon = new Proxy({} as Addon, {
  get: (_, name) => Reflect.get((loaded ??= load()), name) as unknown,
});

/** Returns a list that is made at its first use. */
export function lazily(make: () => string[]): readonly string[] {
  const list: string[] = [];
  const filled = (): string[] => {
    if (!Object.isFrozen(list)) {
      Object.freeze(Object.assign(list, make()));
    }
    return list;
  };
  return new Proxy(list, {
    get: (_, name) => Reflect.get(filled(), name) as unknown,
    has: (_, name) => Reflect.has(filled(), name),
    ownKeys: () => Reflect.ownKeys(filled()),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(filled(), name),
  });
}
