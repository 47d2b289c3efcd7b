import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { checkRange, folderOf } from "../../src/engine/bytes/memory.ts";
import type { ByteFolder, ByteSource } from "../../src/engine/bytes/source.ts";
import { LabError } from "../../src/engine/errors.ts";

/**
 * A file on disk as a source. Every read opens the file, fetches its range and closes it: no handle is left behind.
 * @param name what messages call the file; the path when left out
 * @throws LabError("bad-input") when there is no such file
 */
export async function nodeSource(path: string, name = path): Promise<ByteSource> {
  const info = await stat(path).catch((cause: unknown) => {
    throw new LabError("bad-input", `${name} cannot be opened: there is no such file`, { subject: name, cause });
  });
  if (!info.isFile()) throw new LabError("bad-input", `${name} is not a file`, { subject: name });
  return {
    name,
    size: info.size,
    read: async (start, end) => {
      checkRange(name, info.size, start, end);
      const bytes = new Uint8Array(end - start);
      const handle = await open(path, "r");
      try {
        let done = 0;
        while (done < bytes.length) {
          const { bytesRead } = await handle.read(bytes, done, bytes.length - done, start + done);
          if (bytesRead === 0) {
            throw new LabError("bad-input", `${name} became shorter while it was read`, { subject: name });
          }
          done += bytesRead;
        }
      } finally {
        await handle.close();
      }
      return bytes;
    },
  };
}

/**
 * All files below a directory, with "/" separated paths relative to it; names that begin with a dot are left out.
 * @throws LabError("bad-input") when the path is no directory
 */
export async function nodeFolder(directory: string): Promise<ByteFolder> {
  const files = new Map<string, ByteSource>();
  const visit = async (relative: string): Promise<void> => {
    const entries = await readdir(join(directory, relative), { withFileTypes: true });
    for (const entry of entries) {
      if (entry.name.startsWith(".")) continue;
      const path = relative === "" ? entry.name : `${relative}/${entry.name}`;
      const full = join(directory, path);
      const info = entry.isSymbolicLink() ? await stat(full).catch(() => undefined) : entry;
      if (info?.isDirectory() === true) await visit(path);
      else if (info?.isFile() === true) files.set(path, await nodeSource(full, path));
    }
  };
  const info = await stat(directory).catch(() => undefined);
  if (info === undefined || !info.isDirectory()) {
    throw new LabError("bad-input", `${directory} is not a directory`, { subject: directory });
  }
  await visit("");
  return folderOf(files);
}

/**
 * Several directories or files as one folder: each directory's files under its base name (made unique where two are
 * alike), a file under its own name; a single directory as it is.
 * @throws LabError("bad-input") naming a path that does not exist
 */
export async function nodeFolders(directories: readonly string[]): Promise<ByteFolder> {
  const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isFile() === true;
  const [only] = directories;
  if (directories.length === 1 && only !== undefined && !(await isFile(only))) return nodeFolder(only);
  const files = new Map<string, ByteSource>();
  const used = new Set<string>();
  for (const directory of directories) {
    const base = directory.replace(/\/+$/, "").split("/").at(-1) || "data";
    let name = base;
    for (let n = 2; used.has(name); n++) name = `${base}-${n}`;
    used.add(name);
    if (await isFile(directory)) {
      files.set(name, await nodeSource(directory, name));
      continue;
    }
    const folder = await nodeFolder(directory);
    for (const path of folder.paths) {
      const source = folder.get(path);
      if (source !== undefined) files.set(`${name}/${path}`, { ...source, name: `${name}/${path}` });
    }
  }
  return folderOf(files);
}
