import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { escapeName, keepFilesInUse, openOpfsStore, opfsStore } from "../../../src/engine/storage/opfs-store.ts";
import { freeRoom, type RunStore } from "../../../src/engine/storage/store.ts";
import { type FakeOptions, fakeOpfs } from "./fake-opfs.ts";

const directories: string[] = [];
afterAll(async () => {
  for (const directory of directories) await rm(directory, { recursive: true, force: true });
});

async function onDisk(): Promise<RunStore> {
  const directory = await mkdtemp(join(tmpdir(), "run-store-"));
  directories.push(directory);
  return nodeStore(join(directory, "runs"));
}

function inOpfs(options: FakeOptions): RunStore {
  const { root, storage } = fakeOpfs(options);
  return opfsStore(root, storage);
}

const STORES: readonly (readonly [string, () => Promise<RunStore>])[] = [
  ["memory", async () => memoryStore()],
  ["directory", onDisk],
  ["private file system", async () => inOpfs({ move: true, quota: 1e9 })],
  ["private file system without move", async () => inOpfs({ move: false, quota: 1e9 })],
];

describe("a private window, which forgets all files of a file system that is not used for ten minutes,", () => {
  const MINUTE = 60_000;
  afterEach(() => vi.useRealTimers());

  /** Minutes pass after a file is written. @returns whether it is still there */
  async function isThereAfter(minutes: number, kept: boolean): Promise<boolean> {
    vi.useFakeTimers();
    let used = Date.now();
    const use = (): void => {
      const forgets = Date.now() - used > 10 * MINUTE;
      used = Date.now();
      if (forgets) void root.removeEntry("runs");
    };
    const { root, storage } = fakeOpfs({ move: true, quota: 1e9, watcher: { call: use, change: () => undefined } });
    const origin = { ...storage, getDirectory: async () => root } as unknown as StorageManager;
    if (kept) keepFilesInUse(origin);
    const store = await openOpfsStore("runs", origin);
    await store.write("run/run.json", "{}");
    await vi.advanceTimersByTimeAsync(minutes * MINUTE);
    return (await store.size("run/run.json")) !== null;
  }

  test("keeps them during a long step", async () => {
    expect(await isThereAfter(9, false)).toBe(true);
    expect(await isThereAfter(11, false)).toBe(false);
    expect(await isThereAfter(65, true)).toBe(true);
  });
});

test("without move, a replacement that cannot be completed is a sentence in every way of reading", async () => {
  const tree = new Map([
    ["a", new Uint8Array(3)],
    ["a.%new", new Uint8Array(5)],
    ["a.%ready", Uint8Array.of(1)],
  ]);
  const refuse = (_name: string, _path: string, need: string): void => {
    if (need !== "read") throw new DOMException("read-only file system", "NoModificationAllowedError");
  };
  const store = inOpfs({ move: false, quota: 1e9, tree, watcher: { call: refuse, change: () => undefined } });
  const readers = [store.size("a"), store.open("a"), store.read("a"), store.readText("a"), store.list("a")];
  for (const one of await Promise.allSettled(readers)) {
    expect(one).toMatchObject({
      reason: { code: "storage", message: "a could not be read (read-only file system)" },
    });
  }
});

test("without move, a replacement that ends before any change leaves no second file once the file is read", async () => {
  for (let n = 0; ; n++) {
    let left = n;
    const crash = fakeOpfs({
      move: false,
      quota: 1e9,
      beforeChange: (change) => {
        if (change.startsWith("remove") && left-- <= 0) throw new Error("killed");
      },
    });
    const store = opfsStore(crash.root, crash.storage);
    const ended = await store.write("file", "content").then(
      () => false,
      () => true,
    );
    const { root: again, tree, storage } = fakeOpfs({ move: false, quota: 1e9, tree: crash.tree() });
    expect(await opfsStore(again, storage).readText("file")).toBe("content");
    expect([...tree().keys()]).toEqual(["file"]);
    if (!ended) return;
  }
});

describe.each(STORES)("%s", (_, make) => {
  test("writes, replaces, appends and reads back", async () => {
    const store = await make();
    await store.write("a/b/c.bin", Uint8Array.of(1, 2, 3, 4));
    await store.write("a/b/c.bin", Uint8Array.of(9, 8));
    expect([...(await store.read("a/b/c.bin"))]).toEqual([9, 8]);
    await store.append("a/log.txt", "ä\n");
    await store.append("a/log.txt", Uint8Array.of(66));
    expect(await store.readText("a/log.txt")).toBe("ä\nB");
    expect(await store.size("a/log.txt")).toBe(4);
    expect(await store.size("a")).toBeNull();
    expect(await store.size("a/none")).toBeNull();
    const source = await store.open("a/log.txt");
    expect(source.size).toBe(4);
    expect([...(await source.read(2, 4))]).toEqual([10, 66]);
  });

  test("lists below a folder, not beside it, and removes with all it holds", async () => {
    const store = await make();
    for (const path of ["run/x", "run/é b/y~", "run-2/x", "run.json", "run/a"]) await store.write(path, path);
    expect((await store.list("run")).map((file) => file.path)).toEqual(["run/a", "run/x", "run/é b/y~"]);
    expect(await store.list("run/x")).toEqual([{ path: "run/x", size: 5 }]);
    expect(await store.list("nothing")).toEqual([]);
    expect(await store.names("")).toEqual(["run", "run-2", "run.json"]);
    expect(await store.names("run")).toEqual(["a", "x", "é b"]);
    expect(await store.names("nothing")).toEqual([]);
    await store.remove("run");
    await store.remove("run");
    await store.remove("nothing/there");
    expect((await store.list("")).map((file) => file.path)).toEqual(["run-2/x", "run.json"]);
    expect((await store.usage()).usage).toBe(15);
  });

  test("names the missing file and refuses paths that lead outside", async () => {
    const store = await make();
    // One after another: a promise that is refused before anybody waits for it fails the whole run.
    for (const read of [() => store.read("no/file"), () => store.readText("no/file"), () => store.open("no/file")]) {
      await expect(read()).rejects.toMatchObject({ code: "storage", subject: "no/file" });
    }
    for (const path of ["../x", "/x", "a//b", "a/./b", ""]) {
      await expect(store.write(path, "x"), path).rejects.toMatchObject({ code: "storage" });
      await expect(store.remove(path), path).rejects.toMatchObject({ code: "storage" });
    }
    expect(await store.list("")).toEqual([]);
  });
});

test.each([true, false])("a crash while replacing leaves the old or the new content (move: %s)", async (move) => {
  for (let survive = 0; ; survive++) {
    let changes = 0;
    let armed = false;
    const options: FakeOptions = {
      move,
      quota: 1e9,
      beforeChange: (change) => {
        if (armed && changes++ >= survive) throw new Error(`crash before ${change}`);
      },
    };
    const store = inOpfs(options);
    await store.write("run/file", "the old content");
    armed = true;
    const crashed = await store.write("run/file", "new").then(
      () => false,
      () => true,
    );
    armed = false;
    const content = await store.readText("run/file");
    expect(["the old content", "new"], `after ${survive} changes`).toContain(content);
    expect((await store.list("run")).map((file) => file.path)).toEqual(["run/file"]);
    await store.write("run/file", "later");
    expect(await store.readText("run/file")).toBe("later");
    if (!crashed) {
      expect(content).toBe("new");
      expect(survive).toBeGreaterThan(move ? 1 : 3);
      break;
    }
  }
});

test("what another worker removes while it is listed is absent, and the rest is listed", async () => {
  const options: FakeOptions = { move: true, quota: 1e9 };
  const store = inOpfs(options);
  const paths = ["a/run.json", "b/checkpoints/step-1/ema", "b/checkpoints/step-1/model", "b/last.json"];
  for (const path of paths) await store.write(path, path);
  /** Removes `gone` when the file of that name is about to be read. */
  const removing = (gone: string, at: string): void => {
    options.beforeFile = async (name) => {
      if (name !== at) return;
      delete options.beforeFile;
      await store.remove(gone);
    };
  };
  const listed = async (prefix: string) => (await store.list(prefix)).map(({ path }) => path);

  removing("b/checkpoints/step-1/model", "model");
  expect(await listed("")).toEqual(paths.filter((path) => !path.endsWith("model")));
  // Folders that the listing is inside of.
  removing("b/checkpoints", "ema");
  expect(await listed("b")).toEqual(["b/last.json"]);
  removing("b", "last.json");
  expect(await listed("")).toEqual(["a/run.json"]);
  removing("a/run.json", "run.json");
  expect(await store.list("a/run.json")).toEqual([]);
  await store.write("a/run.json", "again");
  removing("a/run.json", "run.json");
  expect(await store.size("a/run.json")).toBeNull();
});

test("a full store says how much was needed and how much is free, and keeps the old file", async () => {
  const inside = inOpfs({ move: true, quota: 100 });
  const silent = inOpfs({ move: true, quota: 100, silent: true });
  const inMemory = memoryStore({ quota: 100 });
  for (const store of [inside, silent, inMemory]) {
    await store.write("run/a", new Uint8Array(60));
    const failed = store.write("run/b", new Uint8Array(70));
    await expect(failed).rejects.toThrow(/^run\/b needs 70 bytes and 40 bytes are free; it was not written/);
    await expect(store.append("run/a", new Uint8Array(70))).rejects.toMatchObject({ code: "storage" });
    expect((await store.list("")).map((file) => file.path)).toEqual(["run/a"]);
  }
});

test("a full store does not repeat a quota that the browser tells but does not grant", async () => {
  const { root } = fakeOpfs({ move: true, quota: 100 });
  const store = opfsStore(root, { estimate: async () => ({ usage: 0, quota: 10 * 2 ** 30 }) });
  await expect(store.write("run/a", new Uint8Array(170))).rejects.toThrow(
    /^run\/a needs 170 bytes and the storage is full; it was not written/,
  );
});

test("a store that cannot be opened says whether the storage is full or refused", async () => {
  const refusing = (name: string): StorageManager => {
    const getDirectory = async (): Promise<never> => {
      throw new DOMException("no", name);
    };
    return { getDirectory } as unknown as StorageManager;
  };
  await expect(openOpfsStore("tables", refusing("QuotaExceededError"))).rejects.toThrow(
    "The browser's storage is full; tables cannot be stored",
  );
  await expect(openOpfsStore("tables", refusing("SecurityError"))).rejects.toThrow(
    "This browser offers no file storage (no); tables cannot be stored",
  );
});

test.each([false, true])(
  "the private file system tries room out whatever quota the browser tells, and leaves nothing of it (silent: %s)",
  async (silent) => {
    const { root } = fakeOpfs({ move: true, quota: 1000, silent });
    const store = opfsStore(root, { estimate: async () => ({ usage: 0, quota: 10 * 2 ** 30 }) });
    await store.write("run/a", new Uint8Array(300));
    expect(await store.fits?.(700)).toBe(true);
    expect(await store.fits?.(701)).toBe(false);
    expect((await store.list("")).map((file) => file.path)).toEqual(["run/a"]);
    await store.write("run/b", new Uint8Array(700));
  },
);

test("what is free is tried where that can be done, and told by the place elsewhere", async () => {
  const { root } = fakeOpfs({ move: true, quota: 1000 });
  const tried = opfsStore(root, { estimate: async () => ({ usage: 0, quota: 10 * 2 ** 30 }) });
  await tried.write("run/a", new Uint8Array(300));
  expect(await freeRoom(tried, 700)).toBe(700);
  const free = await freeRoom(tried, 2000);
  expect(free).toBeLessThanOrEqual(700);
  expect(free).toBeGreaterThan(700 - 2000 / 256);
  const told = memoryStore({ quota: 1000 });
  await told.write("run/a", new Uint8Array(300));
  expect(await freeRoom(told, 2000)).toBe(700);
  expect(await freeRoom(memoryStore(), 2000)).toBe(Number.POSITIVE_INFINITY);
});

test("a finished write leaves no second file on disk", async () => {
  const store = await onDisk();
  await store.write("run/a", "x");
  expect(await readdir(join(directories.at(-1) as string, "runs", "run"))).toEqual(["a"]);
});

test("two processes write one file at once, and both are done", async () => {
  const store = await onDisk();
  const folder = join(directories.at(-1) as string, "runs");
  const script = join(directories.at(-1) as string, "writer.mts");
  const module = JSON.stringify(join(root, "scripts/lib/node/node-store.ts"));
  await writeFile(
    script,
    `import { root } from "../../../scripts/lib/ensure.mjs";
import { nodeStore } from ${module};
    const store = nodeStore(${JSON.stringify(folder)});
    for (let n = 0; n < 200; n++) await store.write("run/a", new Uint8Array(1e5).fill(7));`,
  );
  const other = spawn(process.execPath, ["--import", "tsx", script], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => other.once("exit", resolve));
  let running = true;
  void ended.then(() => {
    running = false;
  });
  while (running) await store.write("run/a", new Uint8Array(1e5).fill(7));
  expect(await ended).toBe(0);
  expect(new Set(await store.read("run/a"))).toEqual(new Set([7]));
});

test("names are escaped without two becoming one", () => {
  expect(escapeName("step-000001.arrow")).toBe("step-000001.arrow");
  expect(escapeName(".hidden")).toBe("%2Ehidden");
  expect(escapeName("a%new b*")).toBe("a%25new%20b%2A");
  expect(decodeURIComponent(escapeName("50 % „é“ ~'()!"))).toBe("50 % „é“ ~'()!");
});

test("a folder that another worker has open names what could not be removed", async () => {
  const { root, storage } = fakeOpfs({ move: true, quota: 100 });
  const store = opfsStore(root, storage);
  await store.write("run/a", "1");
  root.removeEntry = async () => {
    throw new DOMException("The entry is in use", "NoModificationAllowedError");
  };
  await expect(store.remove("run")).rejects.toMatchObject({
    code: "storage",
    message: "run could not be removed (The entry is in use); what is left of it can be removed later",
  });
  expect(await store.readText("run/a")).toBe("1");
});

test("a folder that the user withdrew is named as the cause, with what to do", async () => {
  const refuse = () => Promise.reject(new DOMException("The request is not allowed", "NotAllowedError"));
  const folder = { getDirectoryHandle: refuse, getFileHandle: refuse, entries: () => ({ next: refuse }) };
  const open = (root: object) => opfsStore(root as FileSystemDirectoryHandle, { estimate: async () => ({}) });
  const store = open(folder);
  // Withdrawn after the file was found.
  const missing = () => Promise.reject(new DOMException("No such file", "NotFoundError"));
  const late = open({
    ...folder,
    getFileHandle: (name: string) => (name === "run.json" ? Promise.resolve({ getFile: refuse }) : missing()),
  });
  const reads = [store.readText("run/run.json"), store.size("run.json"), store.names("run"), store.names("")];
  for (const read of [...reads, store.list(""), late.readText("run.json"), late.open("run.json")]) {
    await expect(read).rejects.toThrow("The browser no longer allows access to this folder; choose it again");
  }
});
