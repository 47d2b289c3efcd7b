/** The trained tensors of a checkpoint without its moments, for exports and try-outs. */
import { badInput } from "../../errors.ts";
import { ADAPTER_MODEL, isLora, MODULES_FILE, toPeftName } from "../../formats/peft-names.ts";
import type { RunStore } from "../../storage/store.ts";
import { checkFiles } from "./checkpoint.ts";
import { checkpointPath, listCheckpoints } from "./checkpoint-folder.ts";
import {
  type CheckpointState,
  openTensors,
  parseTrainerState,
  type TensorSet,
  type TensorSource,
} from "./trainer-state.ts";

/** The policy's weights, or those of the partner (their moving average). */
export type TrainedSide = "policy" | "ema";

export interface TrainedTensors {
  readonly step: number;
  readonly side: TrainedSide;
  readonly lora: CheckpointState["lora"];
  /** By full path, in the order of the trainable set; read when they are needed. */
  readonly tensors: TensorSet;
}

/**
 * @param step null for the newest complete checkpoint
 * @throws LabError("bad-input") when the run has no such checkpoint or its files are damaged
 */
export async function readTrained(
  store: RunStore,
  runId: string,
  step: number | null,
  side: TrainedSide,
): Promise<TrainedTensors> {
  const known = await listCheckpoints(store, runId);
  const chosen = step ?? known.at(-1);
  if (chosen === undefined || !known.includes(chosen)) {
    const there = known.length === 0 ? "it has none" : `it has ${known.join(", ")}`;
    const wanted = chosen === undefined ? "checkpoint" : `complete checkpoint of step ${chosen}`;
    throw badInput(`Run "${runId}" has no ${wanted}; ${there}`, runId);
  }
  await checkFiles(store, runId, chosen);
  const folder = checkpointPath(runId, chosen);
  const statePath = `${folder}/trainer_state.json`;
  const { order, lora } = parseTrainerState(await store.readText(statePath), statePath);
  const names = side === "policy" ? [MODULES_FILE, ADAPTER_MODEL] : ["ema.safetensors"];
  const held = new Map<string, TensorSource>();
  for (const name of names) {
    const path = `${folder}/${name}`;
    if ((await store.size(path)) === null) continue;
    for (const [tensor, source] of await openTensors(store, path)) held.set(tensor, source);
  }
  if (side === "ema" && held.size === 0) {
    throw badInput(`Checkpoint ${chosen} of run "${runId}" holds no moving average`, folder);
  }
  const tensors = new Map<string, TensorSource>();
  for (const name of order) {
    const tensor = held.get(side === "policy" && isLora(name) ? toPeftName(name) : name);
    if (tensor === undefined) throw badInput(`${folder} lacks "${name}", which its trainer_state.json lists`, folder);
    tensors.set(name, tensor);
  }
  return { step: chosen, side, lora, tensors };
}
