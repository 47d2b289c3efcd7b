import { joinBytes, memorySource } from "../bytes/source.ts";
import {
  comparePaths,
  contentBytes,
  isBelow,
  missingFile,
  namesIn,
  pathParts,
  quotaError,
  type RunStore,
  type StoredFile,
} from "./store.ts";

/** A store for one run that is not kept; no other tab or process sees the run. */
export function scratchStore(): RunStore {
  return { ...memoryStore(), scratch: true, hold: async () => () => undefined };
}

/** A store in memory, for tests and for pages whose browser offers no private file system. */
export function memoryStore(options: { readonly quota?: number } = {}): RunStore {
  const quota = options.quota ?? Number.POSITIVE_INFINITY;
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const used = (): number => [...files.values()].reduce((sum, bytes) => sum + bytes.length, 0);

  const put = (path: string, bytes: Uint8Array<ArrayBuffer>): void => {
    pathParts(path);
    const others = used() - (files.get(path)?.length ?? 0);
    if (others + bytes.length > quota) throw quotaError(path, bytes.length, quota - others);
    files.set(path, bytes);
  };
  const get = (path: string): Uint8Array<ArrayBuffer> => {
    const bytes = files.get(path);
    if (bytes === undefined) throw missingFile(path);
    return bytes;
  };

  return {
    write: async (path, content) => put(path, contentBytes(content).slice() as Uint8Array<ArrayBuffer>),
    append: async (path, content) => {
      const before = files.get(path) ?? new Uint8Array();
      put(path, joinBytes([before, contentBytes(content)]));
    },
    read: async (path) => get(path).slice(),
    readText: async (path) => new TextDecoder().decode(get(path)),
    open: async (path) => memorySource(path, get(path)),
    size: async (path) => files.get(path)?.length ?? null,
    list: async (prefix) => {
      const found: StoredFile[] = [];
      for (const [path, bytes] of files) if (isBelow(path, prefix)) found.push({ path, size: bytes.length });
      return found.sort(comparePaths);
    },
    names: async (folder) => namesIn(files.keys(), folder),
    remove: async (prefix) => {
      pathParts(prefix);
      for (const path of [...files.keys()]) if (isBelow(path, prefix)) files.delete(path);
    },
    usage: async () => ({ usage: used(), quota }),
  };
}
