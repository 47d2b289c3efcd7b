/**
 * Checkpoints: a standard PEFT adapter, the other trained tensors under their published names, the EMA, the optimiser's
 * moments, and the trainer's state. A resumed run continues bit for bit. The same state gives the same bytes.
 */
import * as z from "zod/mini";
import { HASH_PIECE, PiecewiseHash, piecewiseHash } from "../../bytes/hash.ts";
import { parseJsonAs } from "../../bytes/json.ts";
import { badInput, LabError, quote } from "../../errors.ts";
import {
  ADAPTER_CONFIG,
  ADAPTER_MODEL,
  adapterConfigText,
  isLora,
  MODULES_FILE,
  toPeftName,
} from "../../formats/peft-names.ts";
import { streamedFloats, streamSafetensors } from "../../formats/safetensors.ts";
import type { RunStore } from "../../storage/store.ts";
import { exactJson, type Json } from "../numbers-json.ts";
import { checkpointPath, listCheckpoints, MARKER, removeCheckpoint } from "./checkpoint-folder.ts";
import {
  type CheckpointState,
  formatTrainerState,
  openTensors,
  parseTrainerState,
  type TensorSet,
  type TensorSource,
} from "./trainer-state.ts";

export { listCheckpoints, pruneCheckpoints } from "./checkpoint-folder.ts";
export type { CheckpointState, TensorSet, TensorSource } from "./trainer-state.ts";

const FORMAT = "sa2va-lab-checkpoint/1";
const OPTIMIZER_FILE = "optimizer.safetensors";
const STATE_FILE = "trainer_state.json";
const EMA_FILE = "ema.safetensors";
const REFERENCE_FILE = "reference.safetensors";
const FIRST_MOMENT = "exp_avg.";
const SECOND_MOMENT = "exp_avg_sq.";

/**
 * Writes all files, then the marker that makes the checkpoint valid. A checkpoint of the same step is kept if its
 * content is the same, and removed first otherwise.
 * @returns bytes of its files
 * @throws LabError("storage") when there is no space; older checkpoints are kept
 */
export async function writeCheckpoint(store: RunStore, runId: string, state: CheckpointState): Promise<number> {
  try {
    return await writeFiles(store, runId, state);
  } catch (thrown) {
    // A partial checkpoint is useless and may use the last free bytes. The first error is reported.
    await removeCheckpoint(store, runId, state.step).catch(() => undefined);
    throw thrown;
  }
}

async function writeFiles(store: RunStore, runId: string, state: CheckpointState): Promise<number> {
  const folder = checkpointPath(runId, state.step);
  // Do not rewrite the same content: a kill meanwhile would leave no checkpoint of the step.
  if ((await store.size(`${folder}/${MARKER}`)) !== null) {
    const same = await describe(state, async () => undefined);
    if ((await store.readText(`${folder}/${MARKER}`)) === same.marker && (await isIntact(store, runId, state.step))) {
      return same.bytes;
    }
  }
  await removeCheckpoint(store, runId, state.step);
  const { marker, bytes } = await describe(state, (name, piece, first) =>
    first ? store.write(`${folder}/${name}`, piece) : store.append(`${folder}/${name}`, piece),
  );
  await store.write(`${folder}/${MARKER}`, marker);
  return bytes;
}

async function isIntact(store: RunStore, runId: string, step: number): Promise<boolean> {
  try {
    await checkFiles(store, runId, step);
    return true;
  } catch (thrown) {
    if (thrown instanceof LabError) return false;
    throw thrown;
  }
}

/**
 * Gives each file of a checkpoint to `take`, piece by piece in order: a file of a large model would not fit one array. Each
 * tensor is read when its turn comes.
 * @returns the marker's text and the bytes of all files
 */
async function describe(
  state: CheckpointState,
  take: (name: string, piece: Uint8Array, first: boolean) => Promise<void>,
): Promise<{ readonly marker: string; readonly bytes: number }> {
  const sizes: Record<string, number> = {};
  const hashes: Record<string, string> = {};
  const write = async (
    name: string,
    pieces: Iterable<Uint8Array<ArrayBuffer>> | AsyncIterable<Uint8Array<ArrayBuffer>>,
  ): Promise<void> => {
    const hash = new PiecewiseHash();
    let size = 0;
    for await (const piece of pieces) {
      await take(name, piece, size === 0);
      await hash.add(piece);
      size += piece.length;
    }
    sizes[name] = size;
    hashes[name] = await hash.end();
  };
  const text = (content: string): Uint8Array<ArrayBuffer>[] => [new TextEncoder().encode(content)];

  const lora = [...state.params].filter(([name]) => isLora(name));
  const modules = [...state.params].filter(([name]) => !isLora(name));
  if (lora.length > 0) {
    if (state.lora === null) throw new LabError("internal", "There are LoRA tensors but no LoRA settings to store");
    await write(ADAPTER_CONFIG, text(adapterConfigText(state.lora, state.baseModel?.name ?? null)));
    await write(ADAPTER_MODEL, tensorFile(lora.map(([name, tensor]) => [toPeftName(name), tensor])));
  }
  await write(MODULES_FILE, tensorFile(modules));
  if (state.ema !== null) await write(EMA_FILE, tensorFile(state.ema));
  if (state.reference) await write(REFERENCE_FILE, tensorFile(state.reference));
  await write(OPTIMIZER_FILE, tensorFile(joinMoments(state.moments)));
  await write(STATE_FILE, text(formatTrainerState(state)));
  const marker: Json = { format: FORMAT, step: state.step, files: sizes, hashes };
  const bytes = Object.values(sizes).reduce((sum, size) => sum + size, 0);
  return { marker: `${exactJson(marker, 2)}\n`, bytes };
}

/**
 * The state that was passed to writeCheckpoint, with equal bits and order of the tensors. All are checked, one at a time,
 * and read again when they are needed.
 * @throws LabError("storage") when the step has no complete checkpoint, "bad-input" naming a file that is damaged,
 * lacks a trained tensor or holds values that are not finite
 */
export async function readCheckpoint(store: RunStore, runId: string, step: number): Promise<CheckpointState> {
  const folder = checkpointPath(runId, step);
  await checkFiles(store, runId, step);
  const has = async (name: string): Promise<boolean> => (await store.size(`${folder}/${name}`)) !== null;
  const tensors = async (name: string): Promise<TensorSet> => {
    const set = await openTensors(store, `${folder}/${name}`);
    for (const tensor of set.values()) await tensor.read();
    return set;
  };

  const path = `${folder}/${STATE_FILE}`;
  const { order, ...rest } = parseTrainerState(await store.readText(path), path);
  if (rest.step !== step) {
    throw badInput(`${path} is the state of step ${rest.step}, not of ${step}; nothing was changed`, path);
  }
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
    const difference =
      missing === undefined
        ? `holds ${params.size} tensors, but its trainer_state.json lists ${order.length}`
        : `lacks "${missing}", which its trainer_state.json lists`;
    throw badInput(`${folder} ${difference}`, folder);
  }
  const moments = splitMoments(await tensors(OPTIMIZER_FILE));
  const ema = (await has(EMA_FILE)) ? await tensors(EMA_FILE) : null;
  if (ema !== null) checkSame(ema, params, `${folder}/${EMA_FILE}`);
  for (const moment of [moments.m, moments.v]) {
    // An optimiser has none before its first update.
    if (moment.size > 0 || rest.optimiserStep > 0) checkSame(moment, params, `${folder}/${OPTIMIZER_FILE}`);
  }
  const reference = (await has(REFERENCE_FILE)) ? await tensors(REFERENCE_FILE) : null;
  if (reference !== null) checkSame(reference, params, `${folder}/${REFERENCE_FILE}`);
  return {
    ...rest,
    params: inOrder(params, order),
    ema: ema === null ? null : inOrder(ema, order),
    ...(reference === null ? {} : { reference: inOrder(reference, order) }),
    moments: { m: inOrder(moments.m, order), v: inOrder(moments.v, order) },
  };
}

/** Files that every checkpoint has. */
const NEEDED = [MODULES_FILE, OPTIMIZER_FILE, STATE_FILE];

const count = z.number().check(z.int(), z.gte(0));
/** The marker: bytes and hash of every file. Without hashes, only the sizes are checked. */
const MARKER_SHAPE = z.object({
  format: z.literal(FORMAT),
  step: count,
  files: z.record(z.string().check(z.regex(/^[a-z_]+\.[a-z]+$/)), count),
  hashes: z.optional(z.record(z.string(), z.string())),
});

/**
 * Checks size and content of every file in the marker.
 * @throws LabError("storage") when the step has no complete checkpoint, "bad-input" naming a file that is damaged
 */
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
    badInput(`${file} ${why}; resume from another checkpoint; nothing was changed`, file);
  const marker = parseJsonAs(await store.readText(path), MARKER_SHAPE, path);
  if (marker.step !== step) throw bad(path, `is of step ${marker.step}`);
  const unlisted = NEEDED.find((name) => marker.files[name] === undefined);
  if (unlisted !== undefined) throw bad(path, `does not list ${unlisted}`);
  for (const [name, size] of Object.entries(marker.files)) {
    const file = `${checkpointPath(runId, step)}/${name}`;
    const found = await store.size(file);
    if (found !== size) throw bad(file, found === null ? "is missing" : `has ${found} bytes instead of ${size}`);
    if (marker.hashes === undefined) continue;
    const source = await store.open(file);
    const hash = await piecewiseHash(size, (start, end) => source.read(start, end));
    if (hash !== marker.hashes[name]) throw bad(file, "does not have the contents that were written");
  }
}

function tensorFile(entries: Iterable<readonly [string, TensorSource]>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const list = [...entries].map(([name, { shape, read }]) => streamedFloats(name, shape, read));
  return streamSafetensors(list, HASH_PIECE);
}

function joinMoments({ m, v }: CheckpointState["moments"]): [string, TensorSource][] {
  return [
    ...[...m].map(([name, tensor]): [string, TensorSource] => [FIRST_MOMENT + name, tensor]),
    ...[...v].map(([name, tensor]): [string, TensorSource] => [SECOND_MOMENT + name, tensor]),
  ];
}

function splitMoments(file: TensorSet): CheckpointState["moments"] {
  const part = (prefix: string): TensorSet =>
    new Map(
      [...file].flatMap(([name, tensor]) => (name.startsWith(prefix) ? [[name.slice(prefix.length), tensor]] : [])),
    );
  return { m: part(FIRST_MOMENT), v: part(SECOND_MOMENT) };
}

/** @throws LabError("bad-input") unless the file holds exactly the trained tensors with their shapes */
function checkSame(found: TensorSet, params: TensorSet, file: string): void {
  const odd =
    [...params].find(([name, { shape }]) => String(found.get(name)?.shape) !== String(shape))?.[0] ??
    [...found.keys()].find((name) => !params.has(name));
  if (odd === undefined) return;
  throw badInput(`${file} does not fit the trained tensors (${quote(odd)}); resume from another checkpoint`, file);
}

/** The tensors in the order of the trainable set, so that sums over them, such as the gradient norm, repeat exactly. */
function inOrder(tensors: TensorSet, order: readonly string[]): TensorSet {
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
