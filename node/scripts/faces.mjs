// The face for `import`: the same module as for `require`, so that there is one of each class.

import { copyFileSync, writeFileSync } from 'node:fs';

for (const name of ['index', 'nest', 'testing']) {
  for (const end of ['mjs', 'd.mts']) {
    writeFileSync(new URL(`../dist/${name}.${end}`, import.meta.url), `export * from './${name}.js';\n`);
  }
}
copyFileSync(new URL('../ts/native.d.ts', import.meta.url), new URL('../dist/native.d.ts', import.meta.url));
