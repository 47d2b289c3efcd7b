/** The part of OPFS that the store uses, in memory: enough to run its code under Node and to cut it off at any point. */

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
}

type Node = FakeFile | Map<string, Node>;
interface FakeFile {
  bytes: Uint8Array<ArrayBuffer>;
}

const missing = (name: string): DOMException => new DOMException(`no entry ${name}`, "NotFoundError");

export function fakeOpfs(options: FakeOptions): {
  root: FileSystemDirectoryHandle;
  storage: { estimate(): Promise<{ usage: number; quota: number }> };
} {
  const tree = new Map<string, Node>();
  const used = (node: Node): number =>
    node instanceof Map ? [...node.values()].reduce((sum, child) => sum + used(child), 0) : node.bytes.length;
  /** A handle outlives its folder, which is then gone. */
  const inTree = (map: Map<string, Node>, at = tree): boolean =>
    map === at || [...at.values()].some((child) => child instanceof Map && inTree(map, child));
  const change = (what: string): void => options.beforeChange?.(what);

  const accessHandle = (file: FakeFile, name: string) => ({
    getSize: () => file.bytes.length,
    truncate: (size: number) => {
      change(`truncate ${name}`);
      if (used(tree) - file.bytes.length + size > options.quota) {
        if (options.silent === true) return;
        throw new DOMException("full", "QuotaExceededError");
      }
      const sized = new Uint8Array(size);
      sized.set(file.bytes.subarray(0, size));
      file.bytes = sized;
    },
    write: (data: Uint8Array, { at }: { at: number }) => {
      change(`write ${name}`);
      const size = Math.max(file.bytes.length, at + data.length);
      if (used(tree) - file.bytes.length + size > options.quota) {
        if (options.silent === true) return 2 ** 32 - 8;
        throw new DOMException("full", "QuotaExceededError");
      }
      const grown = new Uint8Array(size);
      grown.set(file.bytes);
      grown.set(data, at);
      file.bytes = grown;
      return data.length;
    },
    flush: () => {},
    close: () => {},
  });
  const fileHandle = (parent: Map<string, Node>, name: string, file: FakeFile) => ({
    kind: "file",
    getFile: async () => {
      await options.beforeFile?.(name);
      if (parent.get(name) !== file || !inTree(parent)) throw missing(name);
      return new Blob([file.bytes]);
    },
    createSyncAccessHandle: async () => accessHandle(file, name),
    ...(options.move
      ? {
          move: async (to: string) => {
            change(`move ${name}`);
            parent.delete(name);
            parent.set(to, file);
          },
        }
      : {}),
  });
  const directory = (map: Map<string, Node>): object => ({
    kind: "directory",
    getDirectoryHandle: async (name: string, { create }: { create?: boolean } = {}) => {
      if (!map.has(name) && create === true) map.set(name, new Map());
      const node = map.get(name);
      if (node === undefined) throw missing(name);
      if (!(node instanceof Map)) throw new DOMException(name, "TypeMismatchError");
      return directory(node);
    },
    getFileHandle: async (name: string, { create }: { create?: boolean } = {}) => {
      if (!/^[A-Za-z0-9._%-]+$/.test(name)) throw new TypeError(`a file system may refuse ${name}`);
      if (!map.has(name) && create === true) map.set(name, { bytes: new Uint8Array() });
      const node = map.get(name);
      if (node === undefined) throw missing(name);
      if (node instanceof Map) throw new DOMException(name, "TypeMismatchError");
      return fileHandle(map, name, node);
    },
    removeEntry: async (name: string) => {
      if (!map.has(name)) throw missing(name);
      change(`remove ${name}`);
      map.delete(name);
    },
    entries: async function* () {
      if (!inTree(map)) throw missing("folder");
      // As they were when the listing began: what is removed meanwhile is still named.
      for (const [name, node] of [...map]) {
        yield [name, node instanceof Map ? directory(node) : fileHandle(map, name, node)];
      }
    },
  });
  return {
    root: directory(tree) as FileSystemDirectoryHandle,
    storage: { estimate: async () => ({ usage: used(tree), quota: options.quota }) },
  };
}
