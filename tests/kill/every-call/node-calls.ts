/** Follows and refuses the calls to Node's file system below one folder, in this process. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { sep } from "node:path";
import type { Need, Watcher } from "./changes.ts";

let watched: { readonly folder: string; readonly watcher: Watcher } | undefined;

/** Follows calls below a folder until the next call of this function; none for null. */
export function watchFolder(folder: string | null, watcher: Watcher): void {
  patch();
  watched = folder === null ? undefined : { folder, watcher };
}

/** The path inside the watched folder; null for any other. */
function inside(path: unknown): string | null {
  if (watched === undefined) return null;
  const { folder } = watched;
  const text = String(path);
  if (text === folder) return "";
  return text.startsWith(`${folder}${sep}`) ? text.slice(folder.length + 1).replaceAll(sep, "/") : null;
}

type Call = (...args: unknown[]) => unknown;
const bytesOf = (content: unknown): Uint8Array =>
  typeof content === "string" ? new TextEncoder().encode(content) : Uint8Array.from(content as Uint8Array);

function note(change: Parameters<Watcher["change"]>[0]): void {
  watched?.watcher.change(change);
}

function ask(name: string, path: string, need: Need): void {
  watched?.watcher.call(name, path, need);
}

/** Missing folders on the way to a path, outermost first. */
function missing(path: string): string[] {
  const names = path.split("/");
  const all = names.map((_, at) => names.slice(0, at + 1).join("/"));
  return all.filter((one) => !fs.existsSync(`${watched?.folder}${sep}${one}`));
}

/** A write of which a refusal for want of room leaves half. */
function half(path: string, name: string, bytes: Uint8Array, write: (bytes: Uint8Array) => void): void {
  try {
    ask(name, path, "room");
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOSPC") write(bytes.subarray(0, bytes.length >> 1));
    throw thrown;
  }
}

/** What a call needs and changes, given its path; `real` is called in between. */
const CALLS: Readonly<Record<string, (path: string, real: () => unknown, args: readonly unknown[]) => unknown>> = {
  mkdir: (path, real) => {
    const fresh = missing(path);
    ask("mkdir", path, fresh.length === 0 ? "read" : "room");
    return after(real(), () => {
      for (const one of fresh) note({ do: "mkdir", path: one });
    });
  },
  rm: (path, real) => {
    const there = fs.existsSync(`${watched?.folder}${sep}${path}`);
    ask("rm", path, there ? "change" : "read");
    return after(real(), () => {
      if (there) note({ do: "remove", path });
    });
  },
  rmdir: (path, real) => {
    ask("rmdir", path, "change");
    return after(real(), () => note({ do: "remove", path }));
  },
  rename: (path, real, [, to]) => {
    ask("rename", path, "room");
    return after(real(), () => note({ do: "move", path, to: inside(to) as string }));
  },
  link: (path, real, [, to]) => {
    ask("link", path, "room");
    return after(real(), () => note({ do: "link", path, to: inside(to) as string }));
  },
  truncate: (path, real, [, size]) => {
    ask("truncate", path, "change");
    return after(real(), () => note({ do: "resize", path, size: Number(size) }));
  },
};
for (const name of ["stat", "readdir", "readFile"]) {
  Object.assign(CALLS, {
    [name]: (path: string, real: () => unknown) => {
      ask(name, path, "read");
      return real();
    },
  });
}

/** Calls back when a call has succeeded, whether it waits or not. */
function after(result: unknown, done: () => void): unknown {
  if (!(result instanceof Promise)) {
    done();
    return result;
  }
  return result.then((value) => {
    done();
    return value;
  });
}

const flushes = (options: unknown): boolean => (options as { readonly flush?: boolean } | undefined)?.flush === true;

let patched = false;

/** Puts the watched calls in place of Node's, once. */
function patch(): void {
  if (patched) return;
  patched = true;
  const promises = fs.promises as unknown as Record<string, Call>;
  const sync = fs as unknown as Record<string, Call>;
  const { writeFileSync, statSync } = fs;
  for (const [name, call] of Object.entries(CALLS)) {
    for (const [home, own] of [
      [promises, name],
      [sync, `${name}Sync`],
    ] as const) {
      const real = home[own];
      if (real === undefined) continue;
      home[own] = (...args) => {
        const path = inside(args[0]);
        if (path === null) return real(...args);
        if (home === sync) return call(path, () => real(...args), args);
        return (async () => call(path, () => real(...args), args))();
      };
    }
  }
  sync.writeFileSync = (place, content, ...rest) => {
    const path = inside(place);
    const real = writeFileSync as Call;
    if (path === null) return real(place, content, ...rest);
    const bytes = bytesOf(content);
    half(path, "write", bytes, (part) => real(place, part));
    real(place, content, ...rest);
    note({ do: "create", path });
    note({ do: "write", path, at: 0, bytes });
    if (flushes(rest[0])) note({ do: "sync", path });
    return undefined;
  };
  const { appendFile, open } = promises as Record<"appendFile" | "open", Call>;
  promises.appendFile = async (place, content, options) => {
    const path = inside(place);
    if (path === null) return appendFile(place, content, options);
    const [size, bytes] = [fs.existsSync(String(place)) ? statSync(String(place)).size : null, bytesOf(content)];
    half(path, "append", bytes, (part) => {
      const file = fs.openSync(String(place), "a");
      fs.writeSync(file, part);
      fs.closeSync(file);
    });
    await appendFile(place, content, options);
    if (size === null) note({ do: "create", path });
    note({ do: "write", path, at: size ?? 0, bytes });
    if (flushes(options)) note({ do: "sync", path });
    return undefined;
  };
  promises.open = async (place, flags, ...rest) => {
    const path = inside(place);
    const writes = flags === "w";
    if (path !== null) ask("open", path, writes ? "room" : "read");
    const handle = (await open(place, flags, ...rest)) as fs.promises.FileHandle;
    if (path === null || !writes) return handle;
    note({ do: "create", path });
    return watchedHandle(path, handle);
  };
  syncBuiltinESMExports();
}

/** A file that is open for writing. */
function watchedHandle(path: string, handle: fs.promises.FileHandle): fs.promises.FileHandle {
  const [write, sync] = [handle.writeFile.bind(handle), handle.sync.bind(handle)];
  let end = 0;
  return Object.assign(handle, {
    writeFile: async (content: Uint8Array) => {
      half(path, "write", content, (part) => fs.writeSync(handle.fd, part));
      await write(content);
      note({ do: "write", path, at: end, bytes: bytesOf(content) });
      end += content.length;
    },
    sync: async () => {
      ask("sync", path, "room");
      await sync();
      note({ do: "sync", path });
    },
  });
}
