/** Checkpoints that were damaged or made up: each is refused by name, and training goes on from the one before. */
import { describe, expect, it } from "vitest";
import { usableCheckpoint } from "../../../src/engine/rl/run/start/stored-state.ts";
import {
  type CheckpointState,
  readCheckpoint,
  type TensorSet,
  type TensorSource,
  writeCheckpoint,
} from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import type { RunStore } from "../../../src/engine/storage/store.ts";
import { SHAPES, state as sample } from "../runs/sample-checkpoint.ts";

const RUN = "run";
const folder = (step: number): string => `${RUN}/checkpoints/step-${String(step).padStart(6, "0")}`;

/** Tensors that can be trained on. */
function tensors(value: number): Map<string, TensorSource> {
  return new Map(
    SHAPES.map(([name, shape]) => {
      const count = shape.reduce((product, side) => product * side, 1);
      return [name, { shape, read: async () => Float32Array.from({ length: count }, (_, at) => value + at / 8) }];
    }),
  );
}

function state(step: number): CheckpointState {
  return { ...sample(step), params: tensors(1), ema: tensors(2), moments: { m: tensors(3), v: tensors(4) } };
}

async function storeWith(...steps: readonly number[]): Promise<RunStore> {
  const store = memoryStore();
  for (const step of steps) await writeCheckpoint(store, RUN, state(step));
  return store;
}

async function edit(store: RunStore, path: string, change: (text: string) => string): Promise<void> {
  await store.write(path, change(await store.readText(path)));
}

/** A map with one tensor changed, or without it. */
function changed(map: TensorSet, name: string, data: ((values: Float32Array) => void) | null): TensorSet {
  const copy = new Map(map);
  const { shape, read } = map.get(name) as TensorSource;
  if (data === null) copy.delete(name);
  else {
    const changedValues = async (): Promise<Float32Array<ArrayBuffer>> => {
      const values = await read();
      data(values);
      return values;
    };
    copy.set(name, { shape, read: changedValues });
  }
  return copy;
}

const NAME = "mlp1.1.weight";

describe("a checkpoint", () => {
  it("is refused when one bit of any of its files is another", async () => {
    const files = (await (await storeWith(8)).list(folder(8))).map(({ path }) => path);
    expect(files).toHaveLength(7);
    for (const path of files.filter((file) => !file.endsWith("complete.json"))) {
      const store = await storeWith(8);
      const bytes = await store.read(path);
      const at = Math.floor(bytes.length * 0.9);
      bytes[at] = (bytes[at] as number) ^ 1;
      await store.write(path, bytes);
      await expect(readCheckpoint(store, RUN, 8)).rejects.toThrow(
        `${path} does not have the contents that were written`,
      );
    }
  });

  it("of a version that kept no hashes is read", async () => {
    const store = await storeWith(8);
    await edit(store, `${folder(8)}/complete.json`, (text) => {
      const { hashes: _, ...older } = JSON.parse(text) as Record<string, unknown>;
      return JSON.stringify(older);
    });
    expect((await usableCheckpoint(store, RUN))?.step).toBe(8);
  });

  it.each<[string, string, (text: string) => string, RegExp]>([
    ["another step", "complete.json", (text) => text.replace('"step": 8', '"step": 9'), /complete\.json is of step 9/],
    ["no step", "complete.json", (text) => text.replace('"step": 8', '"step": -444596224'), /"step" is -444596224/],
    ["no files", "complete.json", (text) => text.replace(/"files": \{[^}]*\}/, '"files": {}'), /does not list/],
    [
      "a file elsewhere",
      "complete.json",
      (text) => text.replace("modules.s", "../x/modules.s"),
      /complete\.json: "files/,
    ],
    ["null", "complete.json", () => "null", /complete\.json: its content is null, it must be an object/],
    ["a deep marker", "complete.json", () => "[".repeat(20_000), /complete\.json is nested deeper/],
  ])("whose marker has %s is refused", async (_, file, change, said) => {
    const store = await storeWith(8);
    await edit(store, `${folder(8)}/${file}`, change);
    await expect(readCheckpoint(store, RUN, 8)).rejects.toThrow(said);
  });

  it.each<[string, (text: string) => string, RegExp]>([
    [
      "an absurd step",
      (text) => text.replace('"global_step": 8', '"global_step": -444596224'),
      /"global_step" is -444596224/,
    ],
    [
      "another step",
      (text) => text.replace('"global_step": 8', '"global_step": 7'),
      /is the state of step 7, not of 8/,
    ],
    [
      "texts for objects",
      (text) => text.replace(/"order": \[/, '"order": [{"toString": 1}, '),
      /order\.0" is an object/,
    ],
  ])("whose state has %s is refused, also with hashes that agree", async (_, change, said) => {
    const store = await storeWith(8);
    await edit(store, `${folder(8)}/trainer_state.json`, change);
    const size = await store.size(`${folder(8)}/trainer_state.json`);
    await edit(store, `${folder(8)}/complete.json`, (text) => {
      const { hashes: _, files, ...rest } = JSON.parse(text) as { hashes: unknown; files: Record<string, unknown> };
      return JSON.stringify({ ...rest, files: { ...files, "trainer_state.json": size } });
    });
    await expect(readCheckpoint(store, RUN, 8)).rejects.toThrow(said);
  });

  it.each<[string, (whole: CheckpointState) => Partial<CheckpointState>, RegExp]>([
    [
      "a NaN in its weights",
      (s) => ({ params: changed(s.params, NAME, (v) => v.fill(Number.NaN, 1, 2)) }),
      /modules\.safetensors has values of "mlp1\.1\.weight" that are not finite/,
    ],
    [
      "an infinity in its averages",
      (s) => ({ ema: changed(s.ema as TensorSet, NAME, (v) => v.fill(Number.POSITIVE_INFINITY)) }),
      /ema\.safetensors has values of .* not finite/,
    ],
    ["no averages", () => ({ ema: null }), /has no averages of its weights/],
    [
      "averages that lack a tensor",
      (s) => ({ ema: changed(s.ema as TensorSet, NAME, null) }),
      /ema.safetensors does not fit the trained tensors \("mlp1/,
    ],
    [
      "a moment missing",
      (s) => ({ moments: { ...s.moments, m: changed(s.moments.m, NAME, null) } }),
      /optimizer.safetensors does not fit the trained tensors \("mlp1/,
    ],
    [
      "a NaN in a moment",
      (s) => ({ moments: { ...s.moments, v: changed(s.moments.v, NAME, (v) => v.fill(Number.NaN)) } }),
      /optimizer\.safetensors has values of .* not finite/,
    ],
    [
      "a negative second moment",
      (s) => ({ moments: { ...s.moments, v: changed(s.moments.v, NAME, (v) => v.fill(-1)) } }),
      /negative second moments/,
    ],
  ])("with %s is not trained on, and the one before is", async (_, damage, said) => {
    const store = await storeWith(4);
    const bad = { ...state(8), ...damage(state(8)) };
    await writeCheckpoint(store, RUN, bad);
    const found = await usableCheckpoint(store, RUN);
    expect(found?.step).toBe(4);
    expect(found?.passedOver).toMatch(
      /^The checkpoint of step 8 cannot be used \(.*\); the run continues from step 4$/,
    );
    expect(found?.passedOver?.length).toBeLessThanOrEqual(300);
    await writeCheckpoint(store, RUN, { ...bad, step: 4 });
    await expect(usableCheckpoint(store, RUN)).rejects.toThrow(said);
  });

  it("that is the newest and whole is taken without a word", async () => {
    const found = await usableCheckpoint(await storeWith(4, 8), RUN);
    expect([found?.step, found?.passedOver]).toEqual([8, null]);
    expect(await usableCheckpoint(memoryStore(), RUN)).toBeNull();
  });
});
