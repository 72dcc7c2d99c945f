// node transpile.mjs ENGINE.wasm FOLDER: translates the engine component to JavaScript.

import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { transpile } from "@bytecodealliance/jco-transpile";

const [component, folder] = process.argv.slice(2);
const { files } = await transpile(component, { name: "engine" });
for (const [name, contents] of Object.entries(files)) {
  const file = path.join(folder, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, contents);
}
