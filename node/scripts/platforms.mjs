// Lays out the packages as they are published, in `npm/`: one for each platform whose compiled part is here, and the
// main one, which names them all as optional dependencies.

import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

const here = fileURLToPath(new URL('..', import.meta.url));
const out = join(here, 'npm');
const main = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));

/** What npm has to know of a platform, by its triple. */
const PLATFORMS = {
  'x86_64-unknown-linux-gnu': { name: 'linux-x64-gnu', os: 'linux', cpu: 'x64', libc: 'glibc' },
  'aarch64-unknown-linux-gnu': { name: 'linux-arm64-gnu', os: 'linux', cpu: 'arm64', libc: 'glibc' },
  'x86_64-unknown-linux-musl': { name: 'linux-x64-musl', os: 'linux', cpu: 'x64', libc: 'musl' },
  'aarch64-unknown-linux-musl': { name: 'linux-arm64-musl', os: 'linux', cpu: 'arm64', libc: 'musl' },
  'x86_64-apple-darwin': { name: 'darwin-x64', os: 'darwin', cpu: 'x64' },
  'aarch64-apple-darwin': { name: 'darwin-arm64', os: 'darwin', cpu: 'arm64' },
};
const platforms = main.napi.targets.map((triple) => PLATFORMS[triple]);

function write(folder, manifest) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Adds the texts of both licences, which ask for it. */
function license(folder) {
  for (const name of ['LICENSE-APACHE', 'LICENSE-MIT']) {
    copyFileSync(join(here, '..', name), join(folder, name));
  }
}

rmSync(out, { recursive: true, force: true });
const { version, license: licenses, homepage, bugs, repository, engines, description, publishConfig } = main;
for (const { name, os, cpu, libc } of platforms) {
  const addon = `incumbent.${name}.node`;
  if (existsSync(join(here, addon))) {
    const manifest = {
      name: `${main.name}-${name}`,
      version,
      description: `${description}: the compiled part for ${name}`,
      license: licenses,
      homepage,
      bugs,
      repository,
      engines,
      os: [os],
      cpu: [cpu],
      ...(libc && { libc: [libc] }),
      type: 'commonjs',
      main: addon,
      files: ['LICENSE-*', 'THIRD-PARTY-NOTICES', addon],
      publishConfig,
    };
    write(join(out, name), manifest);
    copyFileSync(join(here, addon), join(out, name, addon));
    license(join(out, name));
  }
}

const { devDependencies: _dev, overrides: _overrides, scripts: _scripts, napi: _napi, ...published } = main;
const optionalDependencies = Object.fromEntries(platforms.map(({ name }) => [`${main.name}-${name}`, version]));
write(join(out, 'main'), { ...published, optionalDependencies });
for (const folder of ['bin', 'dist']) {
  cpSync(join(here, folder), join(out, 'main', folder), { recursive: true });
}
license(join(out, 'main'));
copyFileSync(join(here, 'README.md'), join(out, 'main/README.md'));
