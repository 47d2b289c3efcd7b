/** The part of OPFS that the store uses, in memory: enough to run its code under Node and to cut it off at any point. */
import type { Need, Tree, Watcher } from "../../kill/every-call/changes.ts";

export interface FakeOptions {
  /** Whether file handles can be renamed. */
  readonly move: boolean;
  /** Bytes there may be in all. */
  quota: number;
  /** Whether a full store says nothing, as in Chrome's private windows: sizes stay, and a write returns a bogus count. */
  readonly silent?: boolean;
  /** Called before every change with its name; throwing here is a crash at that point. */
  beforeChange?: (change: string) => void;
  /** Awaited before a file of that name is opened for reading: what another worker does meanwhile. */
  beforeFile?: (name: string) => Promise<void>;
  /** Follows all calls and changes, and refuses calls. */
  readonly watcher?: Watcher;
  /** Content at the beginning; empty if absent. */
  readonly tree?: Tree;
}

type Node = FakeFile | Map<string, Node>;
interface FakeFile {
  bytes: Uint8Array<ArrayBuffer>;
  /** Whether a handle writes to it; there is at most one. */
  open?: boolean;
}

const missing = (name: string): DOMException => new DOMException(`no entry ${name}`, "NotFoundError");

export function fakeOpfs(options: FakeOptions): {
  root: FileSystemDirectoryHandle;
  storage: { estimate(): Promise<{ usage: number; quota: number }> };
  /** All entries as they are now. */
  tree(): Tree;
} {
  const tree = new Map<string, Node>();
  const used = (node: Node): number =>
    node instanceof Map ? [...node.values()].reduce((sum, child) => sum + used(child), 0) : node.bytes.length;
  /** A handle outlives its folder, which is then gone. */
  const inTree = (map: Map<string, Node>, at = tree): boolean =>
    map === at || [...at.values()].some((child) => child instanceof Map && inTree(map, child));
  const change = (what: string): void => options.beforeChange?.(what);

  const note = (made: Parameters<Watcher["change"]>[0]): void => options.watcher?.change(made);
  const ask = (name: string, path: string, need: Need): void => options.watcher?.call(name, path, need);
  const entry = (path: string, name: string): string => (path === "" ? name : `${path}/${name}`);

  const accessHandle = (file: FakeFile, name: string, path: string) => ({
    getSize: () => {
      ask("getSize", path, "read");
      return file.bytes.length;
    },
    truncate: (size: number) => {
      ask("truncate", path, size > file.bytes.length ? "room" : "change");
      change(`truncate ${name}`);
      if (used(tree) - file.bytes.length + size > options.quota) {
        if (options.silent === true) return;
        throw new DOMException("full", "QuotaExceededError");
      }
      const sized = new Uint8Array(size);
      sized.set(file.bytes.subarray(0, size));
      if (size !== file.bytes.length) note({ do: "resize", path, size });
      file.bytes = sized;
    },
    write: (data: Uint8Array, { at }: { at: number }) => {
      const put = (part: Uint8Array): void => {
        const grown = new Uint8Array(Math.max(file.bytes.length, at + part.length));
        grown.set(file.bytes);
        grown.set(part, at);
        file.bytes = grown;
      };
      try {
        ask("write", path, "room");
      } catch (thrown) {
        // A write that fails for want of room leaves a part.
        if ((thrown as Error).name === "QuotaExceededError") put(data.subarray(0, data.length >> 1));
        throw thrown;
      }
      change(`write ${name}`);
      const size = Math.max(file.bytes.length, at + data.length);
      if (used(tree) - file.bytes.length + size > options.quota) {
        if (options.silent === true) return 2 ** 32 - 8;
        throw new DOMException("full", "QuotaExceededError");
      }
      put(data);
      note({ do: "write", path, at, bytes: data.slice() });
      return data.length;
    },
    flush: () => {
      ask("flush", path, "room");
      note({ do: "sync", path });
    },
    close: () => {
      file.open = false;
    },
  });
  const fileHandle = (parent: Map<string, Node>, name: string, file: FakeFile, folder: string) => {
    const path = entry(folder, name);
    return {
      kind: "file",
      getFile: async () => {
        ask("getFile", path, "read");
        await options.beforeFile?.(name);
        if (parent.get(name) !== file || !inTree(parent)) throw missing(name);
        return new Blob([file.bytes]);
      },
      createSyncAccessHandle: async () => {
        ask("createSyncAccessHandle", path, "change");
        // A handle of a file that is replaced or removed meanwhile stays valid.
        if (file.open === true && parent.get(name) === file) {
          throw new DOMException(`${name} is open`, "NoModificationAllowedError");
        }
        file.open = true;
        return accessHandle(file, name, path);
      },
      ...(options.move
        ? {
            move: async (to: string) => {
              ask("move", path, "room");
              change(`move ${name}`);
              parent.delete(name);
              parent.set(to, file);
              note({ do: "move", path, to: entry(folder, to) });
            },
          }
        : {}),
    };
  };
  const directory = (map: Map<string, Node>, folder: string): object => ({
    kind: "directory",
    getDirectoryHandle: async (name: string, { create }: { create?: boolean } = {}) => {
      const path = entry(folder, name);
      const fresh = !map.has(name) && create === true;
      ask("getDirectoryHandle", path, fresh ? "room" : "read");
      if (fresh) {
        map.set(name, new Map());
        note({ do: "mkdir", path });
      }
      const node = map.get(name);
      if (node === undefined) throw missing(name);
      if (!(node instanceof Map)) throw new DOMException(name, "TypeMismatchError");
      return directory(node, path);
    },
    getFileHandle: async (name: string, { create }: { create?: boolean } = {}) => {
      if (!/^[A-Za-z0-9._%-]+$/.test(name)) throw new TypeError(`a file system may refuse ${name}`);
      const path = entry(folder, name);
      const fresh = !map.has(name) && create === true;
      ask("getFileHandle", path, fresh ? "room" : "read");
      if (fresh) {
        map.set(name, { bytes: new Uint8Array() });
        note({ do: "create", path });
      }
      const node = map.get(name);
      if (node === undefined) throw missing(name);
      if (node instanceof Map) throw new DOMException(name, "TypeMismatchError");
      return fileHandle(map, name, node, folder);
    },
    removeEntry: async (name: string) => {
      const path = entry(folder, name);
      ask("removeEntry", path, map.has(name) ? "change" : "read");
      if (!map.has(name)) throw missing(name);
      change(`remove ${name}`);
      map.delete(name);
      note({ do: "remove", path });
    },
    entries: async function* () {
      ask("entries", folder, "read");
      if (!inTree(map)) throw missing("folder");
      // As they were when the listing began: what is removed meanwhile is still named.
      for (const [name, node] of [...map]) {
        yield [name, node instanceof Map ? directory(node, entry(folder, name)) : fileHandle(map, name, node, folder)];
      }
    },
  });
  const grow = (path: string, bytes: Uint8Array | null): void => {
    const parts = path.split("/");
    let map = tree;
    for (const part of parts.slice(0, -1)) {
      if (!map.has(part)) map.set(part, new Map());
      map = map.get(part) as Map<string, Node>;
    }
    map.set(parts.at(-1) as string, bytes === null ? new Map() : { bytes: new Uint8Array(bytes) });
  };
  for (const [path, bytes] of [...(options.tree ?? [])].sort(([a], [b]) => (a < b ? -1 : 1))) grow(path, bytes);
  const snapshot = (map: Map<string, Node>, folder: string, all: Map<string, Uint8Array | null>): Tree => {
    for (const [name, node] of map) {
      const path = entry(folder, name);
      all.set(path, node instanceof Map ? null : node.bytes);
      if (node instanceof Map) snapshot(node, path, all);
    }
    return all;
  };
  return {
    root: directory(tree, "") as FileSystemDirectoryHandle,
    storage: { estimate: async () => ({ usage: used(tree), quota: options.quota }) },
    tree: () => snapshot(tree, "", new Map()),
  };
}
