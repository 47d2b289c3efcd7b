/** `files.json`: the contents of a folder that the page serves, because HTTP cannot list one. */
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

export function writeFileList(folder: string): void {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "files.json")
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .sort()
    .map((path) => ({ path, size: statSync(join(folder, path)).size }));
  writeFileSync(join(folder, "files.json"), `${JSON.stringify(files, null, 1)}\n`);
}
