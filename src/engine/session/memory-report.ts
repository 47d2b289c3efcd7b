/**
 * Memory by owner. Every tensor that outlives a step belongs to one owner of this list; all others belong to the
 * current step, so there are none between steps.
 */

import { PackedMatrix } from "../gpu/packed/matrix.ts";
import { type MemorySnapshot, memorySnapshot } from "../gpu/runtime/memory-snapshot.ts";
import type { Throughput } from "../gpu/runtime/throughput.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { Matrix, ParameterSet } from "../model/weights/weights.ts";
import { partOf, type WeightPart } from "../plan/weights.ts";
import { decodeBytes } from "../policy/decode/decode-gpu.ts";
import type { FeatureCache } from "../policy/features.ts";
import type { Trainer } from "../rl/run/trainer.ts";

export type Owner =
  /** Frozen weights, by part of the model. */
  | `frozen ${WeightPart}`
  /** Published tensors of the trained parts, the start of runs. */
  | "published"
  /** The run's θ, its moving average φ, θ of the start, and Adam's two moments. */
  | "trained"
  | "partner"
  | "start"
  /** The other checkpoint that computes likelihoods. */
  | "captioner"
  /** The synchronised reference. */
  | "reference"
  | "first moments"
  | "second moments"
  /** Offsets of trained tensors in the moments' arenas. */
  | "moment tables"
  /** Buffers of generation, kept between batches. */
  | "decoding"
  /** Free buffers that the backend keeps for the next operation. */
  | "pool"
  /** Features of pictures, in host memory. */
  | "features"
  | "try-out features"
  /** Everything else: work of the current step. */
  | "work";

export interface MemoryEntry {
  readonly owner: Owner;
  readonly tensors: number;
  /** Bytes of tensors and custom GPU buffers. */
  readonly bytes: number;
  /** Bytes in host memory. */
  readonly hostBytes: number;
}

/** `gpuBytesAllocated` includes generation buffers. */
export interface MemoryReport extends MemorySnapshot {
  /** Owners with memory, the model's first. */
  readonly owners: readonly MemoryEntry[];
}

export interface SystemReport {
  readonly memory: MemoryReport;
  /** Null until it is measured. */
  readonly rate: Throughput | null;
}

const F32 = 4;

/** @param tries features cached by try-outs */
export function memoryReport(
  model: Sa2vaModel | undefined,
  trainer: Trainer | undefined,
  tries: FeatureCache | undefined,
): MemoryReport {
  const memory = memorySnapshot();
  const found = new Map<Owner, MemoryEntry>();
  const add = (owner: Owner, tensors: number, bytes: number, hostBytes = 0): void => {
    const before = found.get(owner) ?? { owner, tensors: 0, bytes: 0, hostBytes: 0 };
    found.set(owner, {
      owner,
      tensors: before.tensors + tensors,
      bytes: before.bytes + bytes,
      hostBytes: before.hostBytes + hostBytes,
    });
  };
  const addWeight = (owner: Owner, weight: Matrix): void =>
    weight instanceof PackedMatrix ? add(owner, 0, weight.bytes) : add(owner, 1, F32 * weight.size);
  const addSet = (owner: Owner, set: ParameterSet): void => {
    for (const tensor of Object.values(set)) addWeight(owner, tensor);
  };
  for (const [name, weight] of model?.frozen ?? []) addWeight(`frozen ${partOf(name)}`, weight);
  for (const weight of model?.base.values() ?? []) addWeight("published", weight);
  if (trainer !== undefined) {
    const { params, ema, start, reference, adam } = trainer.current.state;
    addSet("trained", params);
    addSet("partner", ema);
    addSet("start", start);
    if (reference !== null) addSet("reference", reference);
    const { first, second, tables } = adam.held();
    for (const tensor of first) addWeight("first moments", tensor);
    for (const tensor of second) addWeight("second moments", tensor);
    for (const tensor of tables) addWeight("moment tables", tensor);
  }
  addSet("captioner", trainer?.captioner?.tensors ?? {});
  const owned = [...found.values()].reduce((sum, { tensors }) => sum + tensors, 0);
  const generation = decodeBytes();
  add("decoding", 0, generation);
  add("pool", 0, memory.gpuBytesAllocated - memory.gpuBytes);
  add("features", 0, 0, trainer?.features.bytes ?? 0);
  add("try-out features", 0, 0, tries?.bytes ?? 0);
  // Views share bytes with their tensors, so only tensors are counted here.
  add("work", memory.tensors - owned, 0);
  return {
    owners: [...found.values()].filter(({ tensors, bytes, hostBytes }) => tensors !== 0 || bytes + hostBytes > 0),
    ...memory,
    gpuBytes: memory.gpuBytes + generation,
    gpuBytesAllocated: memory.gpuBytesAllocated + generation,
  };
}
