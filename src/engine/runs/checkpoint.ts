/**
 * Checkpoints: a PEFT adapter anyone can load, the other trained tensors under their published names, the EMA, the
 * optimiser's moments, and the trainer's state, complete enough to go on bit for bit. The same state gives the same bytes.
 */
import { LabError } from "../errors.ts";
import {
  ADAPTER_CONFIG,
  ADAPTER_MODEL,
  adapterConfigText,
  isLora,
  MODULES_FILE,
  toPeftName,
} from "../model/peft-names.ts";
import { openSafetensors } from "../model/safetensors.ts";
import { writeSafetensors } from "../model/safetensors-write.ts";
import { checkpointPath, listCheckpoints, MARKER, removeCheckpoint } from "./checkpoint-folder.ts";
import type { CheckpointState, TensorMap } from "./checkpoint-state.ts";
import { exactJson, type Json } from "./numbers-json.ts";
import type { RunStore } from "./store.ts";
import { formatTrainerState, parseTrainerState } from "./trainer-state.ts";

export { listCheckpoints, pruneCheckpoints } from "./checkpoint-folder.ts";
export type { CheckpointState, TensorData, TensorMap } from "./checkpoint-state.ts";

const FORMAT = "sa2va-lab-checkpoint/1";
const FIRST_MOMENT = "exp_avg.";
const SECOND_MOMENT = "exp_avg_sq.";

/**
 * Writes all files, then the marker that makes the checkpoint count. One of the same step is removed first.
 * @returns bytes written
 * @throws LabError("storage") when it does not fit; older checkpoints are kept
 */
export async function writeCheckpoint(store: RunStore, runId: string, state: CheckpointState): Promise<number> {
  try {
    return await writeFiles(store, runId, state);
  } catch (thrown) {
    // Half a checkpoint is of no use and may hold the last free bytes. What went wrong first is what is told.
    await removeCheckpoint(store, runId, state.step).catch(() => undefined);
    throw thrown;
  }
}

async function writeFiles(store: RunStore, runId: string, state: CheckpointState): Promise<number> {
  const folder = checkpointPath(runId, state.step);
  await removeCheckpoint(store, runId, state.step);
  const sizes: Record<string, number> = {};
  const write = async (name: string, content: Uint8Array | string): Promise<void> => {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await store.write(`${folder}/${name}`, bytes);
    sizes[name] = bytes.length;
  };

  const lora = [...state.params].filter(([name]) => isLora(name));
  const modules = [...state.params].filter(([name]) => !isLora(name));
  if (lora.length > 0) {
    if (state.lora === null) throw new LabError("internal", "There are LoRA tensors and no LoRA settings to store");
    await write(ADAPTER_CONFIG, adapterConfigText(state.lora, state.baseModel?.name ?? null));
    await write(ADAPTER_MODEL, tensorFile(lora.map(([name, tensor]) => [toPeftName(name), tensor])));
  }
  await write(MODULES_FILE, tensorFile(modules));
  if (state.ema !== null) await write("ema.safetensors", tensorFile(state.ema));
  await write("optimizer.safetensors", tensorFile(joinMoments(state.moments)));
  await write("trainer_state.json", formatTrainerState(state));
  const marker: Json = { format: FORMAT, step: state.step, files: sizes };
  await store.write(`${folder}/${MARKER}`, `${exactJson(marker, 2)}\n`);
  return Object.values(sizes).reduce((sum, size) => sum + size, 0);
}

/**
 * The state as it was given to writeCheckpoint, tensors bit for bit and in their order.
 * @throws LabError("storage") when the step has no complete checkpoint, "bad-input" naming a file that is damaged
 */
export async function readCheckpoint(store: RunStore, runId: string, step: number): Promise<CheckpointState> {
  const folder = checkpointPath(runId, step);
  await checkFiles(store, runId, step);
  const has = async (name: string): Promise<boolean> => (await store.size(`${folder}/${name}`)) !== null;
  const tensors = async (name: string): Promise<TensorMap> => {
    const file = await openSafetensors(await store.open(`${folder}/${name}`));
    const map = new Map<string, { shape: readonly number[]; data: Float32Array }>();
    for (const tensor of file.names) {
      map.set(tensor, { shape: file.info(tensor).shape, data: await file.read(tensor) });
    }
    return map;
  };

  const path = `${folder}/trainer_state.json`;
  const { order, ...rest } = parseTrainerState(await store.readText(path), path);
  const params = new Map(await tensors(MODULES_FILE));
  if (await has(ADAPTER_MODEL)) {
    const adapter = await tensors(ADAPTER_MODEL);
    for (const name of order.filter(isLora)) {
      const tensor = adapter.get(toPeftName(name));
      if (tensor !== undefined) params.set(name, tensor);
    }
  }
  const missing = order.find((name) => !params.has(name));
  if (missing !== undefined || params.size !== order.length) {
    const difference = missing === undefined ? `${params.size} tensors, not ${order.length}` : `no "${missing}"`;
    throw new LabError("bad-input", `${folder} holds ${difference}, other than its trainer_state.json lists`, {
      subject: folder,
    });
  }
  const moments = splitMoments(await tensors("optimizer.safetensors"));
  return {
    ...rest,
    params: inOrder(params, order),
    ema: (await has("ema.safetensors")) ? inOrder(await tensors("ema.safetensors"), order) : null,
    moments: { m: inOrder(moments.m, order), v: inOrder(moments.v, order) },
  };
}

/** Every file the marker lists is there with its size. */
export async function checkFiles(store: RunStore, runId: string, step: number): Promise<void> {
  const path = `${checkpointPath(runId, step)}/${MARKER}`;
  if ((await store.size(path)) === null) {
    const known = await listCheckpoints(store, runId);
    const there = known.length === 0 ? "it has none" : `it has ${known.join(", ")}`;
    throw new LabError("storage", `Run "${runId}" has no complete checkpoint of step ${step}; ${there}`, {
      subject: path,
    });
  }
  const bad = (file: string, why: string): LabError =>
    new LabError("bad-input", `${file} ${why}; resume from another checkpoint, nothing was changed`, { subject: file });
  let files: Record<string, number>;
  try {
    files = (JSON.parse(await store.readText(path)) as { files: Record<string, number> }).files;
  } catch {
    throw bad(path, "is not valid JSON");
  }
  for (const [name, size] of Object.entries(files)) {
    const file = `${checkpointPath(runId, step)}/${name}`;
    const found = await store.size(file);
    if (found !== size) throw bad(file, found === null ? "is missing" : `has ${found} bytes instead of ${size}`);
  }
}

function tensorFile(
  entries: Iterable<readonly [string, { shape: readonly number[]; data: Float32Array }]>,
): Uint8Array {
  const list = [...entries].map(([name, { shape, data }]) => ({ name, shape, data }));
  return writeSafetensors(list, { format: "pt" });
}

function joinMoments({
  m,
  v,
}: CheckpointState["moments"]): [string, { shape: readonly number[]; data: Float32Array }][] {
  return [
    ...[...m].map(([name, tensor]) => [FIRST_MOMENT + name, tensor] as [string, typeof tensor]),
    ...[...v].map(([name, tensor]) => [SECOND_MOMENT + name, tensor] as [string, typeof tensor]),
  ];
}

function splitMoments(file: TensorMap): CheckpointState["moments"] {
  const part = (prefix: string): TensorMap =>
    new Map(
      [...file].flatMap(([name, tensor]) => (name.startsWith(prefix) ? [[name.slice(prefix.length), tensor]] : [])),
    );
  return { m: part(FIRST_MOMENT), v: part(SECOND_MOMENT) };
}

/** The tensors in the order of the trainable set: sums over them, such as the gradient norm, then repeat exactly. */
function inOrder(tensors: TensorMap, order: readonly string[]): TensorMap {
  const listed = order.filter((name) => tensors.has(name));
  const known = new Set(listed);
  const rest = [...tensors.keys()].filter((name) => !known.has(name)).sort();
  return new Map(
    [...listed, ...rest].flatMap((name) => {
      const tensor = tensors.get(name);
      return tensor === undefined ? [] : [[name, tensor]];
    }),
  );
}
