/** A small life of a store in a private file system that ends before one of its changes, in the browser or in the model of it. */
import { opfsStore } from "../../src/engine/storage/opfs-store.ts";

/** What the life does: new and replaced files, appends, folders, removals of both. */
const LIFE: readonly ((store: ReturnType<typeof opfsStore>) => Promise<void>)[] = [
  (store) => store.write("run/run.json", '{"state":"running"}\n'),
  (store) => store.append("run/metrics.jsonl", '{"step":1}\n'),
  (store) => store.write("run/checkpoints/step-000001/weights", new Uint8Array(70_000).fill(7)),
  (store) => store.append("run/metrics.jsonl", '{"step":2}\n'),
  (store) => store.write("run/run.json", '{"state":"finished","more":1}\n'),
  (store) => store.write("run/run.json", "{}\n"),
  (store) => store.remove("run/metrics.jsonl"),
  (store) => store.remove("run/checkpoints"),
  (store) => store.write("other/é 1", "é"),
];

class Ended extends Error {}

type Handle = Record<string, unknown>;
type Method = (...args: unknown[]) => unknown;

/** Calls that change something; handles without `move` for a browser that has none. */
const CHANGES = ["truncate", "write", "flush", "move", "removeEntry"];

/** The handle, whose calls end the life at the change with this number, and with it all later ones. */
function cut(handle: Handle, left: { changes: number }, move: boolean): Handle {
  return new Proxy(handle, {
    get: (target, name) => {
      if (name === "move" && !move) return undefined;
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const creates = (args[1] as { readonly create?: boolean } | undefined)?.create === true;
        // A process that has ended closes its handles.
        if (left.changes < 0 && name !== "close") throw new Ended();
        if ((creates || CHANGES.includes(String(name))) && left.changes-- === 0) throw new Ended();
        const result = (value as Method).apply(target, args);
        const wrap = /Handle$/.test(String(name));
        return wrap ? (result as Promise<Handle>).then((inner) => cut(inner, left, move)) : result;
      };
    },
  });
}

/** All entries below a folder by path: text of files, null for folders. */
async function entries(folder: FileSystemDirectoryHandle, prefix = ""): Promise<[string, string | null][]> {
  const found: [string, string | null][] = [];
  for await (const [name, handle] of folder.entries()) {
    const path = `${prefix}${name}`;
    if (handle.kind === "file") found.push([path, await (await (handle as FileSystemFileHandle).getFile()).text()]);
    else found.push([path, null], ...(await entries(handle as FileSystemDirectoryHandle, `${path}/`)));
  }
  return found.sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * What a life that ends before its n-th change leaves, and what the next one reads.
 * @param root an empty folder
 * @returns null when the life has fewer changes
 */
export async function cutLife(root: FileSystemDirectoryHandle, n: number, move: boolean) {
  const left = { changes: n };
  const storage = { estimate: async () => ({}) };
  const store = opfsStore(cut(root as unknown as Handle, left, move) as unknown as FileSystemDirectoryHandle, storage);
  let ended = false;
  for (const act of LIFE) {
    await act(store).catch(() => {
      ended = true;
    });
    if (ended) break;
  }
  if (!ended) return null;
  const found = await entries(root);
  const next = opfsStore(root, storage);
  const read = [];
  for (const { path, size } of await next.list("")) read.push([path, size, await next.readText(path)]);
  return { left: found, read };
}
