// Refuses what may not be published. Without arguments, before `npm publish` in this folder: the package as it lies here
// names no compiled part. With a folder of archives: a set that lacks an archive which the main one names.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('this folder is not what is published: run `cargo xtask package node`, and publish its archives');
  process.exit(1);
}
const { name, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const archive = (of) => join(folder, `${of}-${version}.tgz`);
const manifest = JSON.parse(execFileSync('tar', ['-xOzf', archive(name), 'package/package.json'], { encoding: 'utf8' }));
const named = Object.keys(manifest.optionalDependencies ?? {});
const missing = [name, ...named].filter((of) => !existsSync(archive(of)));
if (named.length === 0 || missing.length > 0) {
  console.error(`the packages are incomplete: ${missing.join(', ') || 'the main one names no compiled part'}`);
  process.exit(1);
}
console.log(`complete: ${[name, ...named].join(', ')}`);
