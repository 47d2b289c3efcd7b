import { expect, test } from "vitest";
import { HASH_PIECE } from "../../../src/engine/bytes/hash.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { fromPeftName, toPeftName } from "../../../src/engine/formats/peft-names.ts";
import { openSafetensors, writeSafetensors } from "../../../src/engine/formats/safetensors.ts";
import {
  type CheckpointState,
  listCheckpoints,
  pruneCheckpoints,
  readCheckpoint,
  type TensorSet,
  type TensorSource,
  writeCheckpoint,
} from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { killAfter } from "./killed-store.ts";
import { Q, readAll, state, tensors } from "./sample-checkpoint.ts";

const bits = async (set: TensorSet | null): Promise<unknown> =>
  set === null
    ? null
    : [...(await readAll(set))].map(([name, { shape, data }]) => [
        name,
        shape,
        [...new Uint32Array(data.buffer, data.byteOffset, data.length)],
      ]);

test("a checkpoint comes back bit for bit and in order", async () => {
  const store = memoryStore();
  const before = state();
  const bytes = await writeCheckpoint(store, "run", before);
  const after = await readCheckpoint(store, "run", 100);
  for (const key of ["params", "ema"] as const) expect(await bits(after[key])).toEqual(await bits(before[key]));
  for (const key of ["m", "v"] as const)
    expect(await bits(after.moments[key])).toEqual(await bits(before.moments[key]));
  const plain = ({ params: _, ema: __, moments: ___, ...rest }: CheckpointState): unknown => rest;
  expect(plain(after)).toStrictEqual(plain(before));
  expect(Object.is((after.trainer as { minus: number }).minus, -0)).toBe(true);
  const listed = await store.list("run/checkpoints/step-000100");
  expect(listed.map((file) => file.path.split("/").at(-1))).toEqual([
    "adapter_config.json",
    "adapter_model.safetensors",
    "complete.json",
    "ema.safetensors",
    "modules.safetensors",
    "optimizer.safetensors",
    "trainer_state.json",
  ]);
  const marker = listed.find((file) => file.path.endsWith("complete.json"))?.size ?? 0;
  expect(bytes).toBe(listed.reduce((sum, file) => sum + file.size, 0) - marker);
});

test("without adapters and without an EMA their files are absent", async () => {
  const store = memoryStore();
  const own = (seed: number) => new Map([...tensors(seed)].filter(([name]) => !name.includes("lora")));
  const params = own(1);
  const moments = { m: own(3), v: own(4) };
  await writeCheckpoint(store, "run", { ...state(), params, lora: null, ema: null, moments });
  const after = await readCheckpoint(store, "run", 100);
  expect(await bits(after.params)).toEqual(await bits(params));
  expect(after.ema).toBeNull();
  expect(await store.size("run/checkpoints/step-000100/adapter_config.json")).toBeNull();
});

test("the same state gives the same bytes, whatever the order of its keys", async () => {
  const [a, b] = [memoryStore(), memoryStore()];
  await writeCheckpoint(a, "run", state());
  const other = state();
  const trainer = Object.fromEntries(Object.entries(other.trainer as object).reverse());
  await writeCheckpoint(b, "run", { ...other, trainer });
  for (const { path } of await a.list("")) expect(await b.read(path)).toEqual(await a.read(path));
});

test("other tools find PEFT names and Hugging Face fields", async () => {
  const store = memoryStore();
  await writeCheckpoint(store, "run", state());
  const folder = "run/checkpoints/step-000100";
  const adapter = await openSafetensors(await store.open(`${folder}/adapter_model.safetensors`));
  expect([...adapter.names].sort()).toEqual([
    "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight",
    "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight",
  ]);
  expect(adapter.info(adapter.names[0] as string).dtype).toBe("F32");
  const modules = await openSafetensors(await store.open(`${folder}/modules.safetensors`));
  expect([...modules.names].sort()).toEqual([
    "language_model.lm_head.weight",
    "mlp1.1.weight",
    "text_hidden_fcs.0.bias",
  ]);
  const config = JSON.parse(await store.readText(`${folder}/adapter_config.json`)) as Record<string, unknown>;
  expect(config).toMatchObject({ peft_type: "LORA", r: 2, lora_alpha: 4, target_modules: ["q_proj"] });
  const trainer = JSON.parse(await store.readText(`${folder}/trainer_state.json`)) as Record<string, unknown>;
  expect(trainer).toMatchObject({
    global_step: 100,
    max_steps: 7,
    epoch: 0.5,
    best_global_step: 50,
    log_history: [{ step: 100, epoch: 0.5, loss: "NaN" }],
  });
  expect(fromPeftName(toPeftName(`${Q}.lora_A.weight`))).toBe(`${Q}.lora_A.weight`);
  expect(fromPeftName("mlp1.1.weight")).toBeNull();
});

test("a file is written in pieces of bounded size, with the bytes and the hash of the whole", async () => {
  const held = memoryStore();
  const sizes: number[] = [];
  const seen = (bytes: Uint8Array | string): void => void sizes.push(bytes.length);
  const store = {
    ...held,
    write(path: string, content: Uint8Array | string) {
      seen(content);
      return held.write(path, content);
    },
    append(path: string, content: Uint8Array | string) {
      seen(content);
      return held.append(path, content);
    },
  };
  const large = (seed: number): TensorSource => ({
    shape: [2 ** 12, 2 ** 10 + 3],
    read: async () => new Float32Array(2 ** 12 * (2 ** 10 + 3)).fill(seed),
  });
  const params = new Map([...tensors(1), ["mlp1.1.weight", large(1)] as const]);
  const moments = { m: params, v: new Map([...tensors(2), ["mlp1.1.weight", large(2)] as const]) };
  const before = { ...state(), params, ema: params, moments };
  await writeCheckpoint(store, "run", before);
  expect(Math.max(...sizes)).toBe(HASH_PIECE);
  const path = "run/checkpoints/step-000100/optimizer.safetensors";
  const listed = [
    ...[...(await readAll(moments.m))].map(([name, tensor]) => ({ name: `exp_avg.${name}`, ...tensor })),
    ...[...(await readAll(moments.v))].map(([name, tensor]) => ({ name: `exp_avg_sq.${name}`, ...tensor })),
  ];
  expect(Buffer.compare(await store.read(path), writeSafetensors(listed, { format: "pt" }))).toBe(0);
  // Its hash is checked when it is read.
  const after = await readCheckpoint(store, "run", 100);
  expect((await after.moments.v.get("mlp1.1.weight")?.read())?.at(-1)).toBe(2);
  const written = sizes.length;
  await writeCheckpoint(store, "run", before);
  expect(sizes).toHaveLength(written);
});

test("a checkpoint without its marker does not count, a damaged file is named", async () => {
  const store = memoryStore();
  await writeCheckpoint(store, "run", state(10));
  await writeCheckpoint(store, "run", state(20));
  await store.remove("run/checkpoints/step-000020/complete.json");
  expect(await listCheckpoints(store, "run")).toEqual([10]);
  await expect(readCheckpoint(store, "run", 20)).rejects.toThrow(/no complete checkpoint of step 20; it has 10/);
  await store.write("run/checkpoints/step-000010/ema.safetensors", "short");
  await expect(readCheckpoint(store, "run", 10)).rejects.toThrow(/ema\.safetensors has 5 bytes instead of/);
});

test("a full store leaves the older checkpoint usable", async () => {
  const probe = memoryStore();
  const size = await writeCheckpoint(probe, "run", state(10));
  const store = memoryStore({ quota: Math.round(size * 1.6) });
  await writeCheckpoint(store, "run", state(10));
  const failure = await writeCheckpoint(store, "run", state(20)).catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(LabError);
  expect((failure as LabError).message).toMatch(/needs \d+ bytes and \d+ bytes are free/);
  expect(await listCheckpoints(store, "run")).toEqual([10]);
  await readCheckpoint(store, "run", 10);
  // Half of the other one would only hold the room that is left.
  expect(await store.list("run/checkpoints/step-000020")).toEqual([]);
});

test("a checkpoint that is written again is never lost, and a damaged one is replaced", async () => {
  for (let whole = 0; whole < 12; whole++) {
    const store = memoryStore();
    const bytes = await writeCheckpoint(store, "run", state(10));
    killAfter(store, whole);
    expect(await writeCheckpoint(store, "run", state(10)).catch(() => bytes)).toBe(bytes);
    expect((await readCheckpoint(store, "run", 10)).step).toBe(10);
  }
  const store = memoryStore();
  await writeCheckpoint(store, "run", state(10));
  await store.write("run/checkpoints/step-000010/ema.safetensors", "short");
  await writeCheckpoint(store, "run", state(10));
  await readCheckpoint(store, "run", 10);
  const longer = { ...state(10), config: { ...state(10).config, steps: 99 } };
  await writeCheckpoint(store, "run", longer);
  expect((await readCheckpoint(store, "run", 10)).config.steps).toBe(99);
});

test("pruning keeps the last ones and the best, and clears incomplete folders", async () => {
  const store = memoryStore();
  for (const step of [10, 20, 30, 40, 50]) await writeCheckpoint(store, "run", state(step));
  await store.remove("run/checkpoints/step-000030/complete.json");
  await store.write("run/checkpoints/step-000060/ema.safetensors", "being written");
  expect(await pruneCheckpoints(store, "run", 2, 10)).toEqual([20, 30]);
  expect(await listCheckpoints(store, "run")).toEqual([10, 40, 50]);
  expect(await store.list("run/checkpoints/step-000030")).toEqual([]);
  expect((await store.list("run/checkpoints/step-000060")).length).toBe(1);
});

test("an average or moments that lack a tensor, or hold it in another shape, are refused", async () => {
  const [name, tensor] = [...tensors(2)][0] as [string, TensorSource];
  const less = new Map([...tensors(2)].filter(([own]) => own !== name));
  const reshaped = new Map([...tensors(2), [name, { ...tensor, shape: [...tensor.shape, 1] }] as const]);
  for (const odd of [less, reshaped]) {
    for (const change of [
      { ema: odd },
      { moments: { m: odd, v: tensors(4) } },
      { moments: { m: tensors(3), v: odd } },
    ]) {
      const store = memoryStore();
      await writeCheckpoint(store, "run", { ...state(), ...change });
      await expect(readCheckpoint(store, "run", 100)).rejects.toThrow(/does not fit the trained tensors/);
    }
  }
});

test("an adapter without rank or scale is refused", async () => {
  for (const lora of [
    { r: 0, alpha: 4, targets: ["q_proj"] },
    { r: 2, alpha: 0, targets: ["q_proj"] },
  ]) {
    const store = memoryStore();
    await writeCheckpoint(store, "run", { ...state(), lora });
    await expect(readCheckpoint(store, "run", 100)).rejects.toThrow(/trainer_state\.json/);
  }
});
