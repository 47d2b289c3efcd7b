import { readFileSync } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { type ByteFolder, type ByteSource, checkRange, folderOf } from "../../../src/engine/bytes/source.ts";
import { distinctNames } from "../../../src/engine/bytes/text.ts";
import { badInput, LabError } from "../../../src/engine/errors.ts";
import { fileCause } from "./file-fault.ts";

/** The text of a file that the command line names. @throws LabError("bad-input") naming it */
export function readTextFile(file: string): string {
  return readBytes(file).toString("utf8");
}

/** The bytes of a file. @throws LabError("bad-input") when it cannot be read */
export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw badInput(`${file} cannot be read: ${fileCause(cause)}`, file, cause);
  }
}

/**
 * A file on disk as a source. Every read opens the file, reads its range and closes it, so no handle stays open.
 * @param name name in messages; the path by default
 * @throws LabError("bad-input") when there is no such file
 */
export async function nodeSource(path: string, name = path): Promise<ByteSource> {
  const info = await stat(path).catch((cause: unknown) => {
    throw badInput(`${name} cannot be opened: ${fileCause(cause)}`, name, cause);
  });
  if (!info.isFile()) throw badInput(`${name} is not a file`, name);
  return {
    name,
    size: info.size,
    read: async (start, end) => {
      checkRange(name, info.size, start, end);
      const bytes = new Uint8Array(end - start);
      const handle = await open(path, "r").catch((cause: unknown) => {
        throw new LabError("storage", `${name} could not be read: ${fileCause(cause)}`, { subject: name, cause });
      });
      try {
        let done = 0;
        while (done < bytes.length) {
          const { bytesRead } = await handle.read(bytes, done, bytes.length - done, start + done);
          if (bytesRead === 0) throw badInput(`${name} became shorter while it was read`, name);
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
 * All files below a directory, with "/" separated paths relative to it; names that begin with a dot are left out. Links
 * are followed last; their targets are added unless they were found before, so that no link leads in circles.
 * @throws LabError("bad-input") when the path is no directory
 */
export async function nodeFolder(directory: string): Promise<ByteFolder> {
  const files = new Map<string, ByteSource>();
  const distinct = distinctNames();
  const met = new Set<string>();
  const links: { readonly full: string; readonly path: string }[] = [];
  const add = async (full: string, path: string): Promise<void> => {
    const name = distinct(path);
    files.set(name, await nodeSource(full, name));
  };
  /** @param full without links */
  const visit = async (full: string, path: string): Promise<void> => {
    met.add(full);
    for (const entry of await readdir(full, { withFileTypes: true })) {
      if (entry.name.startsWith(".")) continue;
      const [inner, name] = [join(full, entry.name), path === "" ? entry.name : `${path}/${entry.name}`];
      if (entry.isSymbolicLink()) links.push({ full: inner, path: name });
      else if (met.has(inner)) continue;
      else if (entry.isDirectory()) await visit(inner, name);
      else if (entry.isFile()) {
        met.add(inner);
        await add(inner, name);
      }
    }
  };
  const root = await realpath(directory).catch(() => undefined);
  if (root === undefined || !(await stat(root)).isDirectory()) {
    throw badInput(`${directory} is not a directory`, directory);
  }
  await visit(root, "");
  for (let link = links.shift(); link !== undefined; link = links.shift()) {
    const target = await realpath(link.full).catch(() => undefined);
    // Skips a link to a folder that was visited or that contains the root, so that no link leads in circles.
    if (target === undefined || met.has(target) || root.startsWith(`${target}/`)) continue;
    const info = await stat(target);
    if (info.isDirectory()) await visit(target, link.path);
    else if (info.isFile()) {
      met.add(target);
      await add(target, link.path);
    }
  }
  return folderOf(files);
}

/**
 * Several directories or files as one folder: each directory's files under its base name (made unique if two are
 * equal), a file under its own name; a single directory unchanged.
 * @throws LabError("bad-input") naming a path that does not exist
 */
export async function nodeFolders(directories: readonly string[]): Promise<ByteFolder> {
  const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isFile() === true;
  const [only] = directories;
  if (directories.length === 1 && only !== undefined && !(await isFile(only))) return nodeFolder(only);
  const files = new Map<string, ByteSource>();
  const distinct = distinctNames();
  for (const directory of directories) {
    const name = distinct(directory.replace(/\/+$/, "").split("/").at(-1) || "data");
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
