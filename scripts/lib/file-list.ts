/** `files.json`: the contents of a folder that the page serves, since HTTP cannot list one. */
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export function writeFileList(folder: string): void {
  const files = readdirSync(folder)
    .filter((name) => name !== "files.json" && statSync(join(folder, name)).isFile())
    .sort()
    .map((path) => ({ path, size: statSync(join(folder, path)).size }));
  writeFileSync(join(folder, "files.json"), `${JSON.stringify(files, null, 1)}\n`);
}
