// node build.mjs ENGINE.wasm FOLDER: writes the page to FOLDER, together with the engine component as
// JavaScript. The result needs no build, no package and no network: any server of static files will do.

import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { transpile } from '@bytecodealliance/jco-transpile';

const [component, folder] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));

await rm(folder, { recursive: true, force: true });
for (const part of ['index.html', 'icon.svg', 'css', 'src']) {
  await cp(path.join(here, part), path.join(folder, part), { recursive: true });
}
// So that Node also takes the scripts for modules.
await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }\n');
const { files } = await transpile(component, { name: 'engine' });
for (const [name, contents] of Object.entries(files).filter(([name]) => !name.endsWith('.d.ts'))) {
  const file = path.join(folder, 'engine', name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, contents);
}
