import { beforeAll, describe, expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { memoryFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { checkMerged, checkTensors } from "../../../src/engine/export/check-merged.ts";
import { addLowRank, mergedFiles } from "../../../src/engine/export/merged.ts";
import { writeSafetensors } from "../../../src/engine/formats/safetensors.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { readAdapter } from "../../../src/engine/model/adapter/lora.ts";
import { openCheckpoint } from "../../../src/engine/model/weights/checkpoint.ts";
import type { TrainedTensors } from "../../../src/engine/runs/checkpoint/trained.ts";
import { collectFiles } from "../../support/collected-files.ts";
import { arePluggedIn } from "../../support/plugins.ts";
import { inMemory } from "../runs/sample-checkpoint.ts";

const FOLDERS = [
  "tests/golden/sa2va-tiny-qwen2",
  "tests/golden/sa2va-tiny-variant",
  ...(arePluggedIn("sentencepiece") ? ["tests/golden/sa2va-tiny-internlm2", "tests/golden/sa2va-tiny-phi3"] : []),
] as const;

/** Where one model is enough. */
const SMALLEST = FOLDERS[1];

/** The golden adapter and a moved projector as what a run has trained. */
async function trainedOf(folder: string): Promise<TrainedTensors> {
  const source = await nodeFolder(folder);
  const { config } = await openCheckpoint(source);
  const { rank, alpha, tensors } = await readAdapter(source, config.language);
  const width = config.language.hiddenSize;
  const moved = { shape: [width], data: Float32Array.from({ length: width }, (_, at) => Math.sin(at) / 4) };
  return {
    step: 1,
    side: "policy",
    lora: { r: rank, alpha, targets: [] },
    tensors: inMemory(
      new Map([
        ...tensors.map(({ name, shape, values }) => [name, { shape, data: values }] as const),
        ["mlp1.3.bias", moved] as const,
      ]),
    ),
  };
}

describe("merged checkpoints", () => {
  beforeAll(async () => {
    await tf.setBackend("cpu");
  });

  test.each(FOLDERS)("of %s answer as base and adapter do, whole or in shards", async (path) => {
    const base = await nodeFolder(path);
    const trained = await trainedOf(path);
    const before = tf.memory().numTensors;
    // Weights are merged tensor by tensor, whatever the family: one of them in both forms.
    for (const shardBytes of path === SMALLEST ? [2 ** 31, 100_000] : [100_000]) {
      const files = await collectFiles(mergedFiles(base, trained, { dtype: null, shardBytes }));
      const shards = Object.keys(files).filter((name) => name.endsWith(".safetensors"));
      if (shardBytes < 2 ** 31) expect(shards.length).toBeGreaterThan(1);
      else expect(shards).toEqual(["model.safetensors"]);
      const merged = memoryFolder(files);
      const check = await checkMerged(base, trained, merged, null);
      expect(Math.max(check.tokens, check.masks)).toBeLessThan(1e-5);
      const [stored, again] = [await openCheckpoint(base), await openCheckpoint(merged)];
      expect([...again.tensorNames].sort()).toEqual([...stored.tensorNames].sort());
    }
    expect(tf.memory().numTensors).toBe(before);
  });

  test("hold the tensors of the files that the model is opened from", async () => {
    const merged = async (files: Record<string, Uint8Array<ArrayBuffer>>): Promise<readonly string[]> => {
      const none: TrainedTensors = { step: 1, side: "policy", lora: null, tensors: new Map() };
      const written = await collectFiles(mergedFiles(memoryFolder(files), none, { dtype: null }));
      return (await openCheckpoint(memoryFolder(written))).tensorNames;
    };
    const filesOf = async (path: string): Promise<Record<string, Uint8Array<ArrayBuffer>>> => {
      const folder = await nodeFolder(path);
      const names = folder.paths.filter((name) => /^(config\.json|model.*\.safetensors(\.index\.json)?)$/.test(name));
      const read = async (name: string) => (await folder.get(name)?.read(0, folder.get(name)?.size ?? 0)) as Uint8Array;
      return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await read(name)])));
    };
    const shards = await filesOf(SMALLEST);
    const all = [...(await openCheckpoint(memoryFolder(shards))).tensorNames].sort();
    const rename = (name: string): string => name.replace(/^model-(\d+)-of-\d+/, "part$1");
    const index = "model.safetensors.index.json";
    const named = Object.entries(shards).map(([name, bytes]) => [rename(name), bytes] as const);
    const text = new TextDecoder().decode(shards[index]).replaceAll(/model-\d+-of-\d+/g, rename);
    const renamed = { ...Object.fromEntries(named), [index]: new TextEncoder().encode(text) };
    expect([...(await merged(renamed))].sort()).toEqual(all);
    // Saving again as one file leaves old shards behind.
    const single = await filesOf(FOLDERS[0]);
    const left = writeSafetensors([{ name: "left.weight", shape: [1], data: Float32Array.of(1) }]);
    const stale = { "model-00001-of-00001.safetensors": left, [index]: new TextEncoder().encode("{}") };
    expect(await merged({ ...single, ...stale })).not.toContain("left.weight");
  });

  test("are refused when they answer otherwise", async () => {
    const base = await nodeFolder(SMALLEST);
    const trained = await trainedOf(SMALLEST);
    const files = await collectFiles(mergedFiles(base, trained, { dtype: null }));
    const config = new TextDecoder().decode(files["config.json"]);
    const other = config.replace(/("rms_norm_eps": )[^,\s]+/, "$10.5");
    expect(other).not.toBe(config);
    const merged = memoryFolder({ ...files, "config.json": new TextEncoder().encode(other) });
    await expect(checkMerged(base, trained, merged, null)).rejects.toThrow(
      /outputs differ from base \+ adapter.*allowed 0.0001.*not saved/,
    );
  });

  test("name the element type they are written in", async () => {
    const base = await nodeFolder(SMALLEST);
    const config = '{"torch_dtype": "float32", "llm_config": {"dtype" : "float32", "rope_theta": 1000000.0}}';
    const source = memorySource("config.json", new TextEncoder().encode(config));
    const folder = { paths: base.paths, get: (path: string) => (path === "config.json" ? source : base.get(path)) };
    const none: TrainedTensors = { step: 1, side: "policy", lora: null, tensors: new Map() };
    const written = async (dtype: "BF16" | null) =>
      new TextDecoder().decode((await collectFiles(mergedFiles(folder, none, { dtype })))["config.json"]);
    expect(await written("BF16")).toBe(config.replaceAll('"float32"', '"bfloat16"'));
    expect(await written(null)).toBe(config);
  });

  test.each(["F16", "BF16"] as const)("can be written as %s", async (dtype) => {
    const base = await nodeFolder(SMALLEST);
    const trained = await trainedOf(SMALLEST);
    const files = await collectFiles(mergedFiles(base, trained, { dtype }));
    const check = await checkMerged(base, trained, memoryFolder(files), dtype);
    expect(check.tokens).toBeGreaterThan(0);
  });

  test("are right in a short type, however far its rounding moves the outputs", async () => {
    const base = await nodeFolder("public/pocket/model");
    const none: TrainedTensors = { step: 1, side: "policy", lora: null, tensors: new Map() };
    const files = await collectFiles(mergedFiles(base, none, { dtype: "BF16" }));
    const check = await checkMerged(base, none, memoryFolder(files), "BF16");
    // PyTorch finds the same difference between these weights and their roundings.
    expect(check.masks).toBeGreaterThan(0.2);
  });

  test.each(["F16", "BF16"] as const)("with half of a small adapter are refused in %s", async (dtype) => {
    const base = await nodeFolder(SMALLEST);
    const trained = await trainedOf(SMALLEST);
    const { r, alpha } = trained.lora as NonNullable<typeof trained.lora>;
    const small: TrainedTensors = { ...trained, lora: { r, alpha: alpha / 20, targets: [] } };
    const half: TrainedTensors = { ...trained, lora: { r, alpha: alpha / 40, targets: [] } };
    const right = memoryFolder(await collectFiles(mergedFiles(base, small, { dtype })));
    await expect(checkTensors(base, small, right)).resolves.toBeUndefined();
    const files = await collectFiles(mergedFiles(base, half, { dtype }));
    await expect(checkMerged(base, small, memoryFolder(files), dtype)).rejects.toThrow(
      /The merged checkpoint's "language_model\.[^"]+" holds \S+ instead of \S+ at element \d+; it was not saved/,
    );
  });

  test.each(["F16", "BF16"] as const)(
    "may be rounded to single precision before they are rounded to %s",
    async (dtype) => {
      // In single precision the sum lies midway between two numbers of the type, and is rounded to the even one.
      const midway = dtype === "F16" ? 2 ** -11 : 2 ** -8;
      const layer = { name: "a.weight", shape: [1, 1], data: Float32Array.of(1) };
      const base = memoryFolder({ "model.safetensors": writeSafetensors([layer]) });
      const adapter = (name: string, value: number) => [name, { shape: [1, 1], data: Float32Array.of(value) }] as const;
      const trained: TrainedTensors = {
        step: 1,
        side: "policy",
        lora: { r: 1, alpha: 1, targets: [] },
        tensors: inMemory(new Map([adapter("a.lora_A.weight", 1), adapter("a.lora_B.weight", midway + 2 ** -25)])),
      };
      const merged = memoryFolder(await collectFiles(mergedFiles(base, trained, { dtype })));
      await expect(checkTensors(base, trained, merged)).resolves.toBeUndefined();
    },
  );

  test("name a tensor that is missing, of another shape, or does not fit the type", async () => {
    const layer = (values: readonly number[], shape: readonly number[], name = "a.weight") =>
      memoryFolder({
        "model.safetensors": writeSafetensors([{ name, shape, data: Float32Array.from(values) }]),
      });
    const none: TrainedTensors = { step: 1, side: "policy", lora: null, tensors: new Map() };
    const base = layer([1, 70_000, -0, Number.NEGATIVE_INFINITY], [2, 2]);
    await expect(checkTensors(base, none, layer([1], [1], "b.weight"))).rejects.toThrow(/"a.weight" is missing/);
    await expect(checkTensors(base, none, layer([1, 2, 3, 4], [4]))).rejects.toThrow(/is \[4\] instead of \[2, 2\]/);
    const short = async (dtype: "F16" | "BF16") => memoryFolder(await collectFiles(mergedFiles(base, none, { dtype })));
    await expect(checkTensors(base, none, await short("BF16"))).resolves.toBeUndefined();
    await expect(checkTensors(base, none, await short("F16"))).rejects.toThrow(
      /holds Infinity instead of 70000 at element 1/,
    );
    await expect(checkTensors(base, none, layer([1, 70_000, Number.NaN, 0], [2, 2]))).rejects.toThrow(/holds NaN/);
  });

  test("name the tensor that does not fit", async () => {
    const base = await nodeFolder(FOLDERS[0]);
    const trained = await trainedOf(FOLDERS[0]);
    const other = new Map(trained.tensors);
    const seven = { shape: [7], read: async () => new Float32Array(7) };
    other.set("mlp1.3.bias", seven);
    const options = { dtype: null } as const;
    await expect(collectFiles(mergedFiles(base, { ...trained, tensors: other }, options))).rejects.toThrow(
      /"mlp1.3.bias" is \[48\].*\[7\]/,
    );
    other.delete("mlp1.3.bias");
    other.set("text_hidden_fcs.9.weight", seven);
    await expect(collectFiles(mergedFiles(base, { ...trained, tensors: other }, options))).rejects.toThrow(
      /"text_hidden_fcs.9.weight" is not in it/,
    );
  });

  test("stop when they are told to", async () => {
    const stop = new AbortController();
    const base = await nodeFolder(FOLDERS[0]);
    const trained = await trainedOf(FOLDERS[0]);
    const onProgress = (done: number): void => {
      if (done === 5) stop.abort();
    };
    const files = mergedFiles(base, trained, { dtype: null, onProgress, signal: stop.signal });
    await expect(collectFiles(files)).rejects.toThrow(/stopped/);
  });

  test("add scale · B A", () => {
    const values = Float32Array.of(1, 1, 1, 1, 1, 1);
    const a = Float32Array.of(1, 2, 3, 4, 5, 6);
    const b = Float32Array.of(1, 0, 2, -1);
    addLowRank(values, a, b, { rank: 2, scale: 0.5 });
    expect(Array.from(values)).toEqual([1.5, 2, 2.5, 0, 0.5, 1]);
  });
});
