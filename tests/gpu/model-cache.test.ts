/** Stored conversions: read again, continued, refused when damaged, never left incomplete after an error. */
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { type ByteFolder, memorySource } from "../../src/engine/bytes/source.ts";
import { openSafetensors, writeSafetensors } from "../../src/engine/formats/safetensors.ts";
import { unpacked } from "../../src/engine/gpu/packed/linear.ts";
import { PackedMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { ModelCache } from "../../src/engine/loading/model-cache.ts";
import { convertedBytes, openCachedModel, openModelFolder } from "../../src/engine/loading/open-model.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { openCheckpoint } from "../../src/engine/model/weights/checkpoint.ts";
import { weightsHash } from "../../src/engine/model/weights/weights-hash.ts";
import type { RunLocks } from "../../src/engine/storage/lock.ts";
import { memoryStore } from "../../src/engine/storage/memory-store.ts";
import { useGpu } from "../support/gpu.ts";

const GOLDEN = "tests/golden/sa2va-tiny-qwen2";
const CHOICE = { language: "q8", towers: "f16" } as const;
const MATRIX = "language_model.model.layers.1.mlp.down_proj.weight";

let directory: string;
beforeAll(async () => {
  await useGpu();
  directory = await mkdtemp(join(tmpdir(), "lab-models-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

let used = 0;
/** An empty cache with parts of about ten kilobytes, and its directory. */
function emptyCache(): { cache: ModelCache; path: string } {
  const path = join(directory, String(used++));
  return { cache: new ModelCache(nodeStore(path), 20_000), path };
}

/** A folder that counts the bytes read from its weight files. */
function counting(folder: ByteFolder): { folder: ByteFolder; read: () => number } {
  let bytes = 0;
  return {
    read: () => bytes,
    folder: {
      paths: folder.paths,
      get(path) {
        const source = folder.get(path);
        if (source === undefined || !path.endsWith(".safetensors")) return source;
        return {
          ...source,
          read: (start, end) => {
            bytes += end - start;
            return source.read(start, end);
          },
        };
      },
    },
  };
}

/** Bytes read from the weight files before any weight is read. */
async function bytesToIdentify(folder: ByteFolder): Promise<number> {
  const { folder: counted, read } = counting(folder);
  await weightsHash(counted);
  await openCheckpoint(counted);
  return read();
}

async function valuesOf(model: Sa2vaModel, name: string): Promise<Float32Array> {
  const weight = model.frozen.get(name);
  expect(weight).toBeInstanceOf(PackedMatrix);
  const whole = unpacked(weight as PackedMatrix);
  const values = (await whole.data()) as Float32Array;
  whole.dispose();
  return values;
}

describe("a converted checkpoint", () => {
  it("is kept, and read instead of the folder the next time", async () => {
    const before = memorySnapshot();
    const { cache } = emptyCache();
    const golden = await nodeFolder(GOLDEN);
    const first = await openModelFolder(golden, "golden", { choice: CHOICE, cache });
    expect(first.cached).toBe("written");
    const expected = await valuesOf(first.model, MATRIX);
    const held = memorySnapshot().gpuBytes;
    first.model.dispose();

    const [entry] = await cache.list();
    expect(entry).toMatchObject({ name: "golden", choice: CHOICE, finished: true, source: first.hash });
    const weights = counting(golden);
    const second = await openModelFolder(weights.folder, "golden", { choice: CHOICE, cache });
    expect(second).toMatchObject({ cached: "read", hash: first.hash });
    expect(await valuesOf(second.model, MATRIX)).toEqual(expected);
    expect(memorySnapshot().gpuBytes).toBe(held);
    expect(weights.read()).toBe(await bytesToIdentify(golden));
    second.model.dispose();

    const third = await openCachedModel(cache, entry?.id ?? "");
    expect(third.hash).toBe(first.hash);
    expect(third.model.tokenizer.vocabSize).toBe(first.model.tokenizer.vocabSize);
    expect([...third.model.frozen.keys()].sort()).toEqual([...first.model.frozen.keys()].sort());
    expect(await valuesOf(third.model, MATRIX)).toEqual(expected);
    third.model.dispose();
    // Another precision is another conversion.
    const other = await openModelFolder(golden, "golden", { choice: { language: "q4", towers: "q4" }, cache });
    expect(other.cached).toBe("written");
    expect((await cache.list()).length).toBe(2);
    other.model.dispose();
    await cache.remove(entry?.id ?? "");
    expect((await cache.list()).map(({ choice }) => choice.language)).toEqual(["q4"]);
    expect(memorySnapshot().tensors).toBe(before.tensors);
    expect(memorySnapshot().gpuBytes).toBe(before.gpuBytes);
  });

  it("is stored by one tab at a time: another one loads without storing", async () => {
    const golden = await nodeFolder(GOLDEN);
    const held = new Set<string>();
    let refuse = (): void => undefined;
    const refused = new Promise<void>((resolve) => {
      refuse = resolve;
    });
    const locks: RunLocks = {
      async request(name, _, callback) {
        if (held.has(name)) {
          refuse();
          return callback(null);
        }
        held.add(name);
        // The other tab asks before anything is stored.
        await refused;
        await callback({ name });
        held.delete(name);
      },
    };
    const store = memoryStore();
    const tab = (): ModelCache => new ModelCache(store, 20_000, locks);
    const opened = await Promise.all(
      ["first", "second"].map((name) => openModelFolder(golden, name, { choice: CHOICE, cache: tab() })),
    );
    for (const { model } of opened) model.dispose();
    expect(opened.map(({ cached }) => cached).sort()).toEqual(["none", "written"]);
    expect(opened.find(({ cached }) => cached === "none")?.note).toMatch(/not kept: another tab is storing it/);
    const again = await openModelFolder(golden, "again", { choice: CHOICE, cache: tab() });
    again.model.dispose();
    expect(again.cached).toBe("read");
  });

  it("that was stopped continues where it stopped, with the same result", async () => {
    const golden = await nodeFolder(GOLDEN);
    const whole = await openModelFolder(golden, "golden", { choice: CHOICE });
    const expected = await valuesOf(whole.model, MATRIX);
    whole.model.dispose();
    const before = memorySnapshot();
    const { cache } = emptyCache();
    const stop = new AbortController();
    const onProgress = ({ bytes, totalBytes }: { bytes: number; totalBytes: number }): void => {
      if (bytes > 0.6 * totalBytes) stop.abort();
    };
    const stopped = openModelFolder(golden, "golden", { choice: CHOICE, cache, onProgress, signal: stop.signal });
    await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
    expect(memorySnapshot().tensors).toBe(before.tensors);
    expect(memorySnapshot().gpuBytes).toBe(before.gpuBytes);
    expect(await cache.list()).toMatchObject([{ finished: false }]);

    const weights = counting(golden);
    const all = counting(golden);
    const resumed = await openModelFolder(weights.folder, "golden", { choice: CHOICE, cache });
    const fresh = await openModelFolder(all.folder, "golden", { choice: CHOICE });
    const known = await bytesToIdentify(golden);
    expect(weights.read() - known).toBeLessThan(0.6 * (all.read() - known));
    expect(resumed.cached).toBe("written");
    expect(await valuesOf(resumed.model, MATRIX)).toEqual(expected);
    expect(await cache.list()).toMatchObject([{ finished: true }]);
    resumed.model.dispose();
    fresh.model.dispose();
  });

  it("continues behind a line that a crash cut off, in the room that its own parts leave", async () => {
    const golden = await nodeFolder(GOLDEN);
    const path = join(directory, String(used++));
    const store = nodeStore(path);
    const quota = 1.3 * convertedBytes(await openCheckpoint(golden), CHOICE);
    const usage = async () => ({ usage: (await store.list("")).reduce((sum, { size }) => sum + size, 0), quota });
    const cache = new ModelCache({ ...store, usage }, 20_000);
    const stop = new AbortController();
    const onProgress = ({ bytes, totalBytes }: { bytes: number; totalBytes: number }): void => {
      if (bytes > 0.6 * totalBytes) stop.abort();
    };
    const stopped = openModelFolder(golden, "golden", { choice: CHOICE, cache, onProgress, signal: stop.signal });
    await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
    const [entry] = await cache.list();
    await appendFile(join(path, entry?.id as string, "journal.jsonl"), '{"file":"part-000');
    const resumed = await openModelFolder(golden, "golden", { choice: CHOICE, cache });
    expect(resumed).toMatchObject({ cached: "written" });
    resumed.model.dispose();
    const again = await openModelFolder(golden, "golden", { choice: CHOICE, cache });
    expect(again.cached).toBe("read");
    again.model.dispose();
  });

  it("that is damaged is refused by name and removed", async () => {
    const { cache, path } = emptyCache();
    const golden = await nodeFolder(GOLDEN);
    (await openModelFolder(golden, "golden", { choice: CHOICE, cache })).model.dispose();
    const [id] = await readdir(path);
    const part = join(path, id as string, "part-00001.bin");
    const bytes = await readFile(part);
    bytes[100] = (bytes[100] as number) ^ 1;
    await writeFile(part, bytes);
    const before = memorySnapshot();
    await expect(openModelFolder(golden, "golden", { choice: CHOICE, cache })).rejects.toThrow(
      /stored copy of golden is damaged \(part-00001\.bin/,
    );
    expect(await cache.list()).toEqual([]);
    expect(memorySnapshot().gpuBytes).toBe(before.gpuBytes);
  });

  it.each(["manifest.json", "entry.json"])(
    "whose %s is damaged is stored again, and no longer read as whole",
    async (file) => {
      const { cache, path } = emptyCache();
      const golden = await nodeFolder(GOLDEN);
      const open = async () => {
        const { model, cached } = await openModelFolder(golden, "golden", { choice: CHOICE, cache });
        model.dispose();
        return [cached, (await cache.list()).map(({ finished }) => finished)];
      };
      await open();
      const [id] = await readdir(path);
      await writeFile(join(path, id as string, file), "{");
      expect((await cache.list()).map(({ finished }) => finished)).toEqual([false]);
      expect(await open()).toEqual(["written", [true]]);
      expect(await open()).toEqual(["read", [true]]);
    },
  );

  it("leaves nothing when a tensor of the checkpoint is not finite", async () => {
    const golden = await nodeFolder(GOLDEN);
    const source = golden.get("model.safetensors");
    const file = await openSafetensors(source as NonNullable<typeof source>);
    const tensors = await Promise.all(
      file.names.map(async (name) => ({ name, shape: file.info(name).shape, data: await file.read(name) })),
    );
    for (const name of [MATRIX, "mlp1.3.bias"]) {
      const bent = tensors.map((tensor) => {
        if (tensor.name !== name) return tensor;
        const data = tensor.data.slice();
        data[data.length - 1] = Number.NaN;
        return { ...tensor, data };
      });
      const bytes = writeSafetensors(bent);
      const folder: ByteFolder = {
        paths: golden.paths,
        get: (path) => (path === "model.safetensors" ? memorySource(path, bytes) : golden.get(path)),
      };
      const { cache } = emptyCache();
      const before = memorySnapshot();
      await expect(openModelFolder(folder, "golden", { choice: CHOICE, cache })).rejects.toThrow(
        `model.safetensors: tensor "${name}" holds NaN`,
      );
      expect(await cache.list()).toEqual([]);
      expect(memorySnapshot().gpuBytes).toBe(before.gpuBytes);
      expect(memorySnapshot().tensors).toBe(before.tensors);
    }
  });

  it("is not kept where there is no room, and the model loads anyway", async () => {
    const golden = await nodeFolder(GOLDEN);
    const store = nodeStore(join(directory, String(used++)));
    const needed = convertedBytes(await openCheckpoint(golden), CHOICE);
    const small = new ModelCache({ ...store, usage: async () => ({ usage: 0, quota: needed - 1 }) });
    const opened = await openModelFolder(golden, "golden", { choice: CHOICE, cache: small });
    expect(opened.cached).toBe("none");
    expect(opened.note).toContain(`takes ${needed} bytes and ${needed - 1} are free`);
    expect(await small.list()).toEqual([]);
    // When a store fails, the conversion is given up, not the model.
    let writes = 0;
    const breaking = new ModelCache(
      {
        ...store,
        write: async (path, content) => {
          if (++writes > 10) throw new Error("disk full");
          await store.write(path, content);
        },
      },
      20_000,
    );
    const other = await openModelFolder(golden, "golden", { choice: CHOICE, cache: breaking });
    expect(other.note).toMatch(/not kept: disk full/);
    expect(await breaking.list()).toEqual([]);
    expect(tf.memory().numTensors).toBeGreaterThan(0);
    opened.model.dispose();
    other.model.dispose();
  });

  it("takes on the GPU what the forecast says", async () => {
    const golden = await nodeFolder(GOLDEN);
    const checkpoint = await openCheckpoint(golden);
    for (const language of ["f16", "q8", "q4"] as const) {
      const choice = { language, towers: language };
      const before = memorySnapshot().gpuBytes;
      const { model } = await openModelFolder(golden, "golden", { choice });
      expect(memorySnapshot().gpuBytes - before).toBe(convertedBytes(checkpoint, choice));
      model.dispose();
    }
  });
});
