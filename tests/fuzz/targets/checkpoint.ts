/** A stored checkpoint: either complete and finite, or refused. */
import fc from "fast-check";
import { requireTrainable } from "../../../src/engine/rl/run/start/stored-state.ts";
import { readCheckpoint, writeCheckpoint } from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { MARKER } from "../../../src/engine/runs/checkpoint/checkpoint-folder.ts";
import type { CheckpointState, TensorSet } from "../../../src/engine/runs/checkpoint/trainer-state.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { SHAPES, state } from "../../unit/runs/sample-checkpoint.ts";
import { casesOf } from "../cases.ts";
import { jsonDamage } from "../json.ts";
import { type Case, check, type Files, type Target } from "../target.ts";
import { intoStore, storeFiles } from "../valid.ts";
import { SAFETENSORS_DAMAGE } from "./safetensors.ts";
import { checkConfig } from "./settings.ts";

const RUN = "brave-otter";
const STEP = 100;

const finite = (): TensorSet =>
  new Map(
    SHAPES.map(([name, shape], n) => {
      const count = shape.reduce((product, side) => product * side, 1);
      return [name, { shape, read: async () => Float32Array.from({ length: count }, (_, at) => (at + 1) / (n + 3)) }];
    }),
  );

const whole = memoryStore();
const given: CheckpointState = {
  ...state(STEP),
  params: finite(),
  ema: finite(),
  moments: { m: finite(), v: finite() },
};
await writeCheckpoint(whole, RUN, given);

/**
 * The marker with the sizes of the damaged files, and without hashes, as older versions wrote it: deliberate damage.
 */
function withList(files: Files): Files {
  const path = Object.keys(files).find((name) => name.endsWith(`/${MARKER}`));
  if (path === undefined) return files;
  try {
    const { hashes: _, ...list } = JSON.parse(new TextDecoder().decode(files[path])) as {
      readonly hashes: unknown;
      readonly files: Record<string, unknown>;
    };
    const folder = path.slice(0, path.lastIndexOf("/"));
    for (const name of Object.keys(list.files)) {
      const bytes = files[`${folder}/${name}`];
      if (bytes === undefined) continue;
      list.files[name] = bytes.length;
    }
    return { ...files, [path]: new TextEncoder().encode(JSON.stringify(list)) };
  } catch {
    // The list itself is damaged.
    return files;
  }
}

const damaged = casesOf({ checkpoint: await storeFiles(whole, RUN) }, (path) =>
  path.endsWith(".json") ? jsonDamage() : SAFETENSORS_DAMAGE,
);
const honest = fc
  .tuple(damaged.cases, fc.boolean())
  .map(
    ([{ what, files }, listed]): Case =>
      listed ? { what: `${what}; its list of files fits`, files: () => withList(files()) } : { what, files },
  );

async function checkTensors(map: TensorSet, what: string): Promise<void> {
  check(String([...map.keys()]) === String(SHAPES.map(([name]) => name)), `${what}: tensors ${[...map.keys()]}`);
  for (const [name, shape] of SHAPES) {
    const tensor = map.get(name);
    check(String(tensor?.shape) === String(shape), `${what}: ${name} is [${tensor?.shape}]`);
    const data = (await tensor?.read()) ?? [];
    check(data.length === shape.reduce((product, side) => product * side, 1), `${what}: ${name} is cut`);
    check(data.every(Number.isFinite), `${what}: ${name} is not finite`);
    check(what !== "second moment" || data.every((value) => value >= 0), "a negative square");
  }
}

export const checkpoint: Target = {
  inputs: damaged.inputs,
  cases: honest,
  async read(files) {
    const store = memoryStore();
    await intoStore(store, files);
    const read = await readCheckpoint(store, RUN, STEP);
    await requireTrainable(read);
    await checkTensors(read.params, "weights");
    if (read.ema !== null) await checkTensors(read.ema, "average");
    await checkTensors(read.moments.m, "first moment");
    await checkTensors(read.moments.v, "second moment");
    check(read.step === STEP, `a step of ${read.step}`);
    check(Number.isSafeInteger(read.optimiserStep) && read.optimiserStep >= 0, `${read.optimiserStep} updates`);
    checkConfig(read.config);
    const { lora, best } = read;
    check(lora === null || (Number.isInteger(lora.r) && lora.r >= 1 && lora.alpha > 0), "LoRA without rank or alpha");
    check(
      best === undefined || (Number.isSafeInteger(best.step) && Number.isFinite(best.metric)),
      "a best that is none",
    );
  },
};
