/**
 * A checkpoint fetched from a server: kept for the next visit, continued after an interruption, never kept when wrong.
 */
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { unpacked } from "../../src/engine/gpu/packed/linear.ts";
import { PackedMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import type { Tensor } from "../../src/engine/gpu/tf.ts";
import { ModelCache } from "../../src/engine/loading/model-cache.ts";
import {
  type OpenedModel,
  type OpenModelOptions,
  openCachedModel,
  openModelFolder,
} from "../../src/engine/loading/open-model.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import type { StorageChoice } from "../../src/engine/model/weights/storage-choice.ts";
import { weightsHash } from "../../src/engine/model/weights/weights-hash.ts";
import { remoteAddress } from "../../src/plugins/hub/address.ts";
import { openRemote } from "../../src/plugins/hub/folder.ts";
import { askRemote } from "../../src/plugins/hub/listing.ts";
import { type CheckpointServer, checkpointServer } from "../support/checkpoint-server.ts";
import { useGpu } from "../support/gpu.ts";

const GOLDEN = "tests/golden/sa2va-tiny-qwen2";
const WEIGHTS = "model.safetensors";
const Q8: StorageChoice = { language: "q8", towers: "f16" };
const F32: StorageChoice = { language: "f32", towers: "f32" };

let server: CheckpointServer;
let directory: string;
beforeAll(async () => {
  await useGpu();
  server = await checkpointServer(GOLDEN);
  directory = await mkdtemp(join(tmpdir(), "lab-remote-"));
});
beforeEach(() => server.reset());
afterAll(async () => {
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

let used = 0;
const emptyCache = (): ModelCache => new ModelCache(nodeStore(join(directory, String(used++))), 20_000);

/** Requests sizes, fetches and loads as the page does after the second press. */
async function load(
  cache: ModelCache,
  choice: StorageChoice,
  { signal, onProgress }: Partial<Pick<OpenModelOptions, "signal" | "onProgress">> = {},
): Promise<OpenedModel> {
  const deps = { pauses: [0, 0], ahead: 20_000, signal };
  const { listing } = await askRemote(remoteAddress(server.url, ""), deps);
  const { folder, known, close } = await openRemote(listing, deps);
  const keep = known ? "all" : "none";
  return openModelFolder(folder, listing.name, { choice, cache, keep, signal, onProgress }).finally(close);
}

/** The bytes of every weight of a model, hashed, by name. */
async function weightsOf(model: Sa2vaModel): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const [name, weight] of [...model.frozen, ...model.base]) {
    const whole = weight instanceof PackedMatrix ? unpacked(weight) : (weight as Tensor);
    found.set(
      name,
      createHash("sha256")
        .update((await whole.data()) as Float32Array)
        .digest("hex"),
    );
    if (weight instanceof PackedMatrix) whole.dispose();
  }
  return found;
}

/** The weights as they come from the folder on disk. */
async function readExpected(choice: StorageChoice): Promise<ReadonlyMap<string, string>> {
  const { model } = await openModelFolder(await nodeFolder(GOLDEN), "golden", { choice });
  const weights = await weightsOf(model);
  model.dispose();
  return weights;
}

const known = new Map<StorageChoice, Promise<ReadonlyMap<string, string>>>();
function expected(choice: StorageChoice): Promise<ReadonlyMap<string, string>> {
  const weights = known.get(choice) ?? readExpected(choice);
  known.set(choice, weights);
  return weights;
}

describe("a checkpoint on a server", () => {
  it.each([
    ["packed", Q8],
    ["in f32", F32],
  ] as const)("loads %s as from disk, and the second time no weight is fetched", async (_, choice) => {
    const cache = emptyCache();
    const wanted = await expected(choice);
    const before = memorySnapshot();
    const first = await load(cache, choice);
    // Its fingerprint is that of the checkpoint on disk.
    const folder = await nodeFolder(GOLDEN);
    const own = folder.paths.filter((path) => !/golden_|adapter/.test(path));
    expect(first.hash).toBe(await weightsHash({ get: (path) => folder.get(path), paths: own }));
    expect(first.cached).toBe("written");
    expect(await weightsOf(first.model)).toEqual(wanted);
    first.model.dispose();
    server.reset();
    const second = await load(cache, choice);
    expect(second).toMatchObject({ cached: "read", hash: first.hash });
    expect(await weightsOf(second.model)).toEqual(wanted);
    second.model.dispose();
    // The header and what comes with it, of nearly two megabytes.
    expect(server.weightBytes()).toBeLessThan(120_000);
    server.reset();
    const [entry] = await cache.list();
    const third = await openCachedModel(cache, entry?.id ?? "");
    expect(await weightsOf(third.model)).toEqual(wanted);
    third.model.dispose();
    expect(server.seen).toEqual([]);
    expect(memorySnapshot().gpuBytes).toBe(before.gpuBytes);
    expect(memorySnapshot().tensors).toBe(before.tensors);
  });

  it("that is cut off for good keeps what arrived whole, and continues there", async () => {
    const cache = emptyCache();
    const before = memorySnapshot();
    const size = (await readFile(join(GOLDEN, WEIGHTS))).length;
    server.fault = (path, _, { range }) =>
      path === WEIGHTS && (range?.[1] ?? 0) > 0.6 * size ? { cutAfter: 0 } : null;
    await expect(load(cache, Q8)).rejects.toMatchObject({ code: "network", subject: WEIGHTS });
    expect(await cache.list()).toMatchObject([{ finished: false }]);
    expect(memorySnapshot().gpuBytes).toBe(before.gpuBytes);
    expect(memorySnapshot().tensors).toBe(before.tensors);
    server.reset();
    const resumed = await load(cache, Q8);
    expect(resumed.cached).toBe("written");
    expect(server.weightBytes()).toBeLessThan(0.6 * size);
    expect(await weightsOf(resumed.model)).toEqual(await expected(Q8));
    expect(await cache.list()).toMatchObject([{ finished: true }]);
    resumed.model.dispose();
  });

  it("that is stopped continues the next time, also when whole files only are sent", async () => {
    const cache = emptyCache();
    server.manner = { ...server.manner, ranges: false };
    const stop = new AbortController();
    // It cannot come farther than the middle.
    server.fault = (path, _, { range }) => (path === WEIGHTS && range === null ? { stallAfter: 1_000_000 } : null);
    const onProgress = ({ bytes }: { bytes: number }): void => {
      if (bytes > 400_000) setTimeout(() => stop.abort(), 20);
    };
    await expect(load(cache, Q8, { signal: stop.signal, onProgress })).rejects.toMatchObject({ code: "cancelled" });
    const [entry] = await cache.list();
    expect(entry).toMatchObject({ finished: false });
    expect(entry?.bytes).toBeGreaterThan(20_000);
    server.fault = () => null;
    const resumed = await load(cache, Q8);
    expect(await weightsOf(resumed.model)).toEqual(await expected(Q8));
    resumed.model.dispose();
  });

  it("that holds other bytes than its header says leaves nothing behind", async () => {
    const bytes = await readFile(join(GOLDEN, WEIGHTS));
    const header = Number(bytes.readBigUInt64LE(0));
    const nan = Buffer.from(bytes);
    // The last element of the file, with any bits in its upper part.
    nan.fill(0xff, bytes.length - 4);
    const lie = Buffer.from(bytes);
    lie.writeBigUInt64LE(BigInt(header + 7), 0);
    const zip = Buffer.from(bytes);
    zip.write("PK\x03\x04", 0, "latin1");
    for (const [body, sentence] of [
      [nan, /model\.safetensors: tensor ".+" holds NaN/],
      [lie, /model\.safetensors is not a usable safetensors file/],
      [zip, /it is a zip archive; unpack it first/],
      [bytes.subarray(0, bytes.length - 1000), /model\.safetensors is not a usable .*cut off while it was copied/],
    ] as const) {
      server.reset();
      server.fault = (path) => (path === WEIGHTS ? { body } : null);
      const cache = emptyCache();
      const before = memorySnapshot();
      await expect(load(cache, Q8)).rejects.toMatchObject({
        code: "bad-input",
        message: expect.stringMatching(sentence),
      });
      expect(await cache.list()).toEqual([]);
      expect(memorySnapshot().gpuBytes).toBe(before.gpuBytes);
      expect(memorySnapshot().tensors).toBe(before.tensors);
    }
  });

  it("without a version is loaded and not kept", async () => {
    server.manner = { ...server.manner, ranges: false, tag: "none" };
    const cache = emptyCache();
    const opened = await load(cache, Q8);
    expect(opened.cached).toBe("none");
    expect(await cache.list()).toEqual([]);
    opened.model.dispose();
  });
});
